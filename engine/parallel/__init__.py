"""Many devices: collectives, what data, tensor and pipeline parallelism send, and the time of a whole job."""

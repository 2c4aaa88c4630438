"""What a run runs on: accelerators, the links between them, storage, nodes joined to a cluster."""

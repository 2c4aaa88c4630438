"""Suite 7: how fast text becomes tokens, how batches reach the device, and what the step waits for."""

"""What a worker does: build the model, train it, time it, count its memory."""

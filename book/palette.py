"""What a color means in the figures of several chapters, beyond the site's own names of colors."""

from explorable.figures.sketch import Look

FORMATS = {"fp32": "compute", "fp16": "data", "bf16": "optimizer"}
"""Number format -> its ink. What is done about a format's limits has an ink of its own, in `GUARDS`."""
GUARDS = {"clipped": "fg", "scaled": "memory", "fixed scale": "control", "FP32 copy": "memory"}
"""What keeps a training in few bits alive -> its ink."""
FORWARD: Look = {"fill": "surface", "line": "compute"}
"""How a sheet shows a forward pass: outlined in the color of arithmetic."""
BACKWARD: Look = {"fill": "compute"}
"""And a backward pass: filled with it."""

"""What published runs take beside what physics says: an expected value, a 90 % band, and the runs behind them.

The physics of this engine is a floor: it counts what must be done. Runs that people published take a factor more. This
package holds that experience as a small statistical model with a few numbers, apart from the physics: it receives a
finished prediction and a handful of words about the run, and multiplies. `tools.accuracy.calibrate` fits the numbers.
"""

from ironlaw.calibration.coefficients import (
    KINDS,
    Calibrated,
    Features,
    Model,
    calibrate,
    coefficients,
    doublings,
    gpu_family,
    number_group,
)

__all__ = [
    "KINDS",
    "Calibrated",
    "Features",
    "Model",
    "calibrate",
    "coefficients",
    "doublings",
    "gpu_family",
    "number_group",
]

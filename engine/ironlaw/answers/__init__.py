"""The questions people ask of a setup: estimate it, make it fit, explain its numbers."""

from __future__ import annotations

from ironlaw.answers.estimate import estimate, prepare
from ironlaw.answers.explanation import explain
from ironlaw.answers.fitting import fit, fits

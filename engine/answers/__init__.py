"""The questions people ask of a setup: estimate it, make it fit, explain its numbers."""

from __future__ import annotations

from engine.answers.estimate import estimate, prepare
from engine.answers.explanation import explain
from engine.answers.fitting import fit, fits

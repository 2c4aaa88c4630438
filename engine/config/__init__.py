"""How somebody trains: optimizer, layout of devices, and the one `Setup` that says all of it."""

from __future__ import annotations

from engine.config.layout import Layout, stages
from engine.config.optimizers import list_optimizers, optimizer
from engine.config.setup import Setup, setup

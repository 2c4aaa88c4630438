"""How somebody trains: optimizer, layout of devices, and the one `Setup` that says all of it."""

from __future__ import annotations

from ironlaw.config.layout import Layout, stages
from ironlaw.config.optimizers import list_optimizers, optimizer
from ironlaw.config.resolved import Setup
from ironlaw.config.setup import setup

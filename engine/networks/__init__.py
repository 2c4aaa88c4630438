"""Models that are no transformers: convolutions, recommenders."""

from __future__ import annotations

from engine.networks.convnets import resnet50
from engine.networks.recommenders import DLRM

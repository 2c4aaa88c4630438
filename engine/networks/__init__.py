"""Models that are no transformers: convolutions, recurrent nets, recommenders."""

from __future__ import annotations

from engine.networks.convnets import mobilenet_v2, resnet50
from engine.networks.recommenders import DLRM
from engine.networks.recurrent import rnnoise

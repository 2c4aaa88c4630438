"""Models that are no language models: convolutions, vision transformers, recurrent nets, recommenders."""

from __future__ import annotations

from engine.networks.convnets import mobilenet_v2, resnet50
from engine.networks.recommenders import DLRM
from engine.networks.recurrent import rnnoise
from engine.networks.vision_transformers import vit_base

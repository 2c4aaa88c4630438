"""Models that are no language models: convolutions, vision transformers, recurrent nets, recommenders."""

from __future__ import annotations

from ironlaw.networks.convnets import mobilenet_v2, resnet50
from ironlaw.networks.recommenders import DLRM
from ironlaw.networks.recurrent import rnnoise
from ironlaw.networks.vision_transformers import vit_base

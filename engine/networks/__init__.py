"""Models that are no transformers: convolutions, recurrent nets, recommenders."""

from __future__ import annotations

from engine.networks.convnets import ConvNet, mobilenet_v2, resnet50
from engine.networks.recommenders import DLRM, Recommender
from engine.networks.recurrent import RecurrentNet, rnnoise

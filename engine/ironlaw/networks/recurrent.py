"""Recurrent networks: exact parameters and operations per step; RNNoise, small enough for a hearable.

Source: Valin 2018, "A Hybrid DSP/Deep Learning Approach to Real-Time Full-Band Speech Enhancement", arXiv 1709.08243,
figure 3 and section V: 87,503 weights, 17.5 million operations a second for 100 frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ironlaw.core.errors import require_positive
from ironlaw.core.units import Bytes, Count, Flops

GATES = 3
"""Of a gated recurrent unit: update, reset, candidate."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A dense layer, or a gated recurrent unit with one bias per gate.

    Attributes:
        name: For messages.
        inputs: Numbers that come in, without the layer's own state.
        units: Numbers that come out; of a recurrent layer, also those that it keeps from step to step.
        recurrent: Is it a gated recurrent unit?
    """

    name: str
    inputs: Count
    units: Count
    recurrent: bool = False

    def __post_init__(self) -> None:
        for what in ("inputs", "units"):
            require_positive(what, getattr(self, what))

    @property
    def weights(self) -> Count:
        """Weights without biases."""
        return GATES * (self.inputs + self.units) * self.units if self.recurrent else self.inputs * self.units

    @property
    def parameters(self) -> Count:
        """Weights and biases."""
        return self.weights + (GATES if self.recurrent else 1) * self.units


@dataclass(frozen=True)
class RecurrentNet:
    """Layers that see one frame after another.

    Attributes:
        name: For messages.
        layers: In forward order.
    """

    name: str
    layers: tuple[Layer, ...]

    @cached_property
    def parameters(self) -> Count:
        """All parameters."""
        return sum(layer.parameters for layer in self.layers)

    @cached_property
    def forward_flops(self) -> Flops:
        """Matrix-product FLOPs of the forward pass, per frame: each weight is used once."""
        return 2 * sum(layer.weights for layer in self.layers)

    @property
    def training_flops(self) -> Flops:
        """FLOPs of forward and backward, per frame: three forward passes."""
        return 3 * self.forward_flops

    @property
    def state_bytes(self) -> Bytes:
        """Bytes kept from frame to frame, per sequence, in FP32."""
        return 4 * sum(layer.units for layer in self.layers if layer.recurrent)


def rnnoise() -> RecurrentNet:
    """RNNoise, which isolates speech from noise: 42 features of a 10 ms frame in, the gains of 22 bands out."""
    features, dense, voice, noise, denoise, bands = 42, 24, 24, 48, 96, 22
    return RecurrentNet(
        "rnnoise",
        (
            Layer("input", features, dense),
            Layer("voice", dense, voice, recurrent=True),
            Layer("voice_activity", voice, 1),
            Layer("noise", dense + voice + features, noise, recurrent=True),
            Layer("denoise", voice + noise + features, denoise, recurrent=True),
            Layer("gains", denoise, bands),
        ),
    )

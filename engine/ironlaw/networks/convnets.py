"""Convolutional networks: exact parameters, operations and activations, layer by layer; two of them as published.

Sources: He et al. 2015, "Deep Residual Learning for Image Recognition", arXiv 1512.03385, table 1, in the variant that
everyone trains (stride in the 3 x 3 convolution, torchvision's `resnet50`); Sandler et al. 2018, "MobileNetV2: Inverted
Residuals and Linear Bottlenecks", arXiv 1801.04381, table 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ironlaw.core.arrays import require_at_least
from ironlaw.core.errors import EngineError, require_positive
from ironlaw.core.units import Bytes, Count, Flops

NETWORKS = ("resnet50",)
"""Convolutional networks that have a name on the command line."""


@dataclass(frozen=True, slots=True)
class Convolution:
    """A square convolution without bias, followed by batch normalization.

    Attributes:
        name: Dotted name.
        inputs: Input channels.
        outputs: Output channels.
        kernel: Height and width of the filter.
        stride: Step of the filter.
        image: Height and width of the input.
        groups: Channel groups that do not see each other; as many as inputs for a depthwise convolution.
    """

    name: str
    inputs: Count
    outputs: Count
    kernel: Count
    stride: Count
    image: Count
    groups: Count = 1

    def __post_init__(self) -> None:
        for what in ("inputs", "outputs", "kernel", "stride", "image", "groups"):
            require_positive(what, getattr(self, what))
        if self.inputs % self.groups or self.outputs % self.groups:
            raise EngineError("groups", self.groups, f"a divisor of {self.inputs} and {self.outputs}")

    @property
    def output_image(self) -> Count:
        """Height and width of the output, padded by half a filter."""
        return (self.image - 1) // self.stride + 1

    @property
    def parameters(self) -> Count:
        """Weights and the two batch-norm vectors."""
        return self.inputs // self.groups * self.outputs * self.kernel**2 + 2 * self.outputs

    @property
    def output_elements(self) -> Count:
        """Elements of the result, per image."""
        return self.outputs * self.output_image**2

    @property
    def flops(self) -> Flops:
        """Multiplications and additions of the forward pass per image: `2 C_in/g k^2` for every output."""
        return 2 * self.inputs // self.groups * self.kernel**2 * self.output_elements


@dataclass(frozen=True)
class ConvNet:
    """Convolutions, a global average, one linear classifier.

    Attributes:
        name: For messages.
        convolutions: In forward order.
        features: Inputs of the classifier.
        classes: Its outputs.
    """

    name: str
    convolutions: tuple[Convolution, ...]
    features: Count
    classes: Count

    @cached_property
    def parameters(self) -> Count:
        """All parameters, biases and batch-norm vectors included."""
        return sum(c.parameters for c in self.convolutions) + (self.features + 1) * self.classes

    @cached_property
    def forward_flops(self) -> Flops:
        """Matrix-product FLOPs of the forward pass, per image."""
        return sum(c.flops for c in self.convolutions) + 2 * self.features * self.classes

    @property
    def training_flops(self) -> Flops:
        """FLOPs of forward and backward, per image: three forward passes."""
        return 3 * self.forward_flops

    @cached_property
    def convolution_outputs(self) -> Count:
        """Elements of all convolutions' results, per image."""
        return sum(c.output_elements for c in self.convolutions)

    def activation_bytes(self, batch: Count, element_bytes: Bytes = 4) -> Bytes:
        """Bytes kept for backward when every convolution's input and every normalization's input is saved.

        The result of a convolution is kept by its normalization, the normalized and rectified result by the next
        convolution: two tensors per convolution. Gradients of parameters do not depend on the batch.
        """
        require_at_least("batch", batch, 1)
        return 2 * self.convolution_outputs * batch * element_bytes


@lru_cache(maxsize=16)
def resnet50(image: Count = 224, classes: Count = 1000) -> ConvNet:
    """ResNet-50: 25,557,032 parameters, 4.09e9 multiply-adds for one 224 x 224 image.

    Raises:
        EngineError: An image smaller than 32, which five halvings would leave nothing of.
    """
    require_at_least("image", image, 32)
    return ConvNet("resnet50", tuple(_resnet50(image)), 2048, classes)


def _resnet50(image: Count) -> Iterator[Convolution]:
    stem = Convolution("conv1", 3, 64, 7, 2, image)
    yield stem
    size = (stem.output_image - 1) // 2 + 1  # max pooling, stride 2
    channels = 64
    for stage, (width, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), start=1):
        for block in range(blocks):
            stride = 2 if block == 0 and stage > 1 else 1
            name = f"layer{stage}.{block}"
            yield Convolution(f"{name}.conv1", channels, width, 1, 1, size)
            middle = Convolution(f"{name}.conv2", width, width, 3, stride, size)
            yield middle
            yield Convolution(f"{name}.conv3", width, 4 * width, 1, 1, middle.output_image)
            if block == 0:
                yield Convolution(f"{name}.downsample", channels, 4 * width, 1, stride, size)
            channels, size = 4 * width, middle.output_image


@lru_cache(maxsize=16)
def mobilenet_v2(image: Count = 224, classes: Count = 1000) -> ConvNet:
    """MobileNetV2, made for phones and wearables: 3,504,872 parameters, 3.0e8 multiply-adds for a 224 x 224 image.

    Raises:
        EngineError: An image smaller than 32, which five halvings would leave nothing of.
    """
    require_at_least("image", image, 32)
    return ConvNet("mobilenet_v2", tuple(_mobilenet_v2(image)), 1280, classes)


def _mobilenet_v2(image: Count) -> Iterator[Convolution]:
    stem = Convolution("features.0", 3, 32, 3, 2, image)
    yield stem
    channels, size, index = 32, stem.output_image, 1
    # Rows of the paper's table 2: expansion factor, output channels, repetitions, stride of the first block.
    for factor, outputs, repetitions, stride in (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
    ):  # fmt: skip
        for repetition in range(repetitions):
            name, wide = f"features.{index}", factor * channels
            if factor > 1:
                yield Convolution(f"{name}.expand", channels, wide, 1, 1, size)
            depthwise = Convolution(f"{name}.depthwise", wide, wide, 3, 1 if repetition else stride, size, wide)
            yield depthwise
            channels, size, index = outputs, depthwise.output_image, index + 1
            yield Convolution(f"{name}.project", wide, channels, 1, 1, size)
    yield Convolution(f"features.{index}", channels, 1280, 1, 1, size)

"""Vision transformers: exact parameters, operations and activations; ViT-B/16 as published.

Source: Dosovitskiy et al. 2020, "An Image is Worth 16x16 Words", arXiv 2010.11929, table 1; torchvision's `vit_b_16`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.core.errors import require_positive
from ironlaw.core.units import Count, Flops


@dataclass(frozen=True, slots=True)
class VisionTransformer:
    """Patches, a class token, transformer blocks, a linear classifier.

    Attributes:
        name: For messages.
        blocks: Transformer blocks.
        hidden: Width of a token.
        patch: Height and width of a patch.
        image: Height and width of the image.
        classes: Outputs of the classifier.
    """

    name: str
    blocks: Count
    hidden: Count
    patch: Count
    image: Count
    classes: Count

    def __post_init__(self) -> None:
        for what in ("blocks", "hidden", "patch", "image", "classes"):
            require_positive(what, getattr(self, what))

    @property
    def tokens(self) -> Count:
        """Patches of an image and the class token."""
        return (self.image // self.patch) ** 2 + 1

    @property
    def block_parameters(self) -> Count:
        """Of one block: four attention matrices, two of the feed-forward part, biases, two norms."""
        h = self.hidden
        return 12 * h * h + 13 * h

    @property
    def head_parameters(self) -> Count:
        """Of the classifier."""
        return (self.hidden + 1) * self.classes

    @property
    def parameters(self) -> Count:
        """All: patches, class token, positions, blocks, the last norm, the classifier."""
        embedding = (3 * self.patch**2 + 1) * self.hidden + (1 + self.tokens) * self.hidden
        return embedding + self.blocks * self.block_parameters + 2 * self.hidden + self.head_parameters

    @property
    def forward_flops(self) -> Flops:
        """Matrix-product FLOPs of the forward pass, per image, attention included."""
        patches = 2 * (self.tokens - 1) * 3 * self.patch**2 * self.hidden
        return patches + self.blocks * self.block_flops + 2 * self.hidden * self.classes

    @property
    def block_flops(self) -> Flops:
        """Of one block."""
        t, h = self.tokens, self.hidden
        return 24 * t * h * h + 4 * t * t * h

    @property
    def block_kept(self) -> Count:
        """Elements one block keeps for backward, per image, with fused attention: 16 per token and unit of width.

        Inputs of two norms, of the three products that share one, of the output projection; queries, keys, values;
        input of the feed-forward part, and four-fold before and after its activation function.
        """
        return 16 * self.tokens * self.hidden


def vit_base() -> VisionTransformer:
    """ViT-B/16 for 224 x 224 images and 1,000 classes: 86,567,656 parameters."""
    return VisionTransformer("vit_b_16", 12, 768, 16, 224, 1000)

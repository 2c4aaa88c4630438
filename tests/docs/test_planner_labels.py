"""The planner's refusals: in the labels of its controls, every one of which a word of a setup has."""

from __future__ import annotations

from typing import Any

import pytest

from docs.acts.plan.act import ACT
from docs.acts.plan.choices import CONTROLS, words_of
from docs.acts.plan.labels import spell
from explorable.live import Note
from tests.docs.planner import at


@pytest.mark.parametrize(
    ("controls", "said"),
    [
        ({"method": "lora", "compiled": True}, "“torch.compile: on” is not allowed with “Trains: LoRA”; allowed: off"),
        (
            {"method": "lora", "tp": 8, "gpus": 8},
            "“Cards that share every matrix (tensor parallel): 8” cannot be counted yet with “Trains: LoRA”",
        ),
        (
            {"method": "full", "precision": "fp8", "gpu": "rtx-3090"},
            "“Formats: FP8 products” is not allowed with “Card: NVIDIA GeForce RTX 3090”, which has no fp8; "
            "allowed: FP32, “FP32 trained weights, FP16 autocast”",
        ),
        (
            {"chunked": True, "more": '{"keep_logits":true}'},
            "“Loss in pieces (Liger, cut cross-entropy): on”; allowed: False, or “Loss in pieces (Liger, cut "
            "cross-entropy)” off",
        ),
    ],
)
def test_what_is_not_possible_is_said_in_the_labels_of_the_controls(controls: dict[str, Any], said: str) -> None:
    view = ACT.compute(at(**controls))
    assert said in view.summary
    assert view.failure
    assert said in view.failure.what


def test_every_word_that_a_control_sets_is_said_by_its_label() -> None:
    labels = [control.label for control in CONTROLS if not isinstance(control, Note)]
    words = words_of(at(method="lora", pp=2)) | words_of(at(method="lora"))
    without = {word for word in words if not any(spell(word) == f"“{label}”" for label in labels)}
    # Replicas follow from three controls.
    assert without == {"dp"}

"""A change is called by all that it changes."""

from __future__ import annotations

import pytest

from ironlaw import setup
from ironlaw.answers.changes import quicker


@pytest.mark.parametrize(
    ("offload", "kept"),
    [
        ("optimizer", "optimizer states"),
        ("gradients", "optimizer states, gradients"),
        ("parameters", "optimizer states, gradients, parameters"),
    ],
)
def test_what_comes_back_from_the_host_is_named(offload: str, kept: str) -> None:
    c = setup("Qwen/Qwen2.5-7B", "h100-sxm", precision="deepspeed", dp=8, zero=3, offload=offload)
    assert f"Keep {kept} on the device" in [change.title for change in quicker(c)]

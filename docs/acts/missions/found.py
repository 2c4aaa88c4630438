"""What the search over every setting found. Written by `python -m tools.missions`; do not edit."""

from __future__ import annotations

from .facts import Found

FOUND: dict[str, dict[str, Found]] = {
    "cloud": {
        "audit": Found(
            962.026641,
            {"optimizer": "adam", "precision": "mixed", "zero": 3, "gpus": 512, "checkpointing": True},
            12,
            96,
        ),
    },
    "edge": {
        "audit": Found(
            117.93847,
            {"optimizer": "momentum", "precision": "mixed", "batch": 8, "checkpointing": False},
            34,
            90,
        ),
    },
    "mobile": {
        "audit": Found(
            5.73800021,
            {
                "optimizer": "adam",
                "precision": "fp32",
                "scope": "last",
                "batch": 1,
                "checkpointing": False,
                "in_backward": True,
            },
            229,
            512,
        ),
    },
    "tiny": {
        "audit": Found(
            7.01939107,
            {"optimizer": "adam", "precision": "fp32", "scope": "gains", "frames": 50, "batch": 1},
            45,
            288,
        ),
    },
}

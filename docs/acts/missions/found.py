"""What the search over every setting found. Written by `python -m tools.missions`; do not edit."""

from __future__ import annotations

from .facts import Found

FOUND: dict[str, dict[str, Found]] = {
    "cloud": {
        "audit": Found(
            962.301155,
            {"optimizer": "adam", "precision": "mixed", "zero": 3, "gpus": 512, "checkpointing": True},
            12,
            96,
        ),
        "race": Found(
            65.4243989,
            {"devices": 2048, "workers": 1, "augmentation": "classifier", "every": 800},
            208,
            1440,
        ),
        "wall": Found(
            45.9810602,
            {
                "layout": "tensor",
                "devices": 512,
                "batch": 1,
                "accumulate": 32,
                "precision": "fp16",
                "checkpointing": False,
                "scaling": "static",
                "clip": True,
                "rate": "root",
            },
            40,
            2304,
        ),
    },
    "edge": {
        "audit": Found(
            117.93847,
            {"optimizer": "momentum", "precision": "mixed", "batch": 16, "checkpointing": False},
            7,
            90,
        ),
        "race": Found(
            1.57251293,
            {"workers": 3, "devices": 1, "augmentation": "weather", "format": "small"},
            28,
            216,
        ),
        "wall": Found(
            44.0978149,
            {
                "devices": 4,
                "batch": 64,
                "accumulate": 128,
                "precision": "fp16",
                "payload": "fp16",
                "checkpointing": False,
                "scaling": "dynamic",
                "clip": True,
                "rate": "linear",
            },
            2,
            7200,
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
            49,
            512,
        ),
        "race": Found(
            3.01754123,
            {"workers": 1, "devices": 3, "augmentation": "light", "numbers": "fp16", "batch": 2},
            10,
            288,
        ),
        "wall": Found(
            55.0237136,
            {
                "devices": 2,
                "scope": "adapters",
                "batch": 16,
                "accumulate": 4,
                "precision": "fp16",
                "link": "wifi",
                "checkpointing": True,
                "scaling": "static",
                "clip": True,
                "rate": "linear",
            },
            14,
            7680,
        ),
    },
    "tiny": {
        "audit": Found(
            7.01939107,
            {"optimizer": "adam", "precision": "fp32", "scope": "gains", "frames": 50, "batch": 1},
            36,
            288,
        ),
        "race": Found(
            0.196700644,
            {"workers": 2, "devices": 1, "augmentation": "noise", "windows": 8},
            12,
            144,
        ),
        "wall": Found(
            75.2418272,
            {
                "scope": "gains",
                "batch": 1,
                "accumulate": 32,
                "precision": "fp32",
                "payload": "int8",
                "clip": False,
                "rate": "linear",
            },
            8,
            576,
        ),
    },
}

"""Suite 2: what an optimizer keeps, and how long its step takes."""

from __future__ import annotations

from typing import Any

from gpu_bench.cases.base import SIZE_NAMES, on_gpu
from gpu_bench.cases.case import ModelName, OptimizerName

_RATES: dict[OptimizerName, float] = {"sgd": 0.1, "momentum": 0.02}
_PLAIN: tuple[OptimizerName, ...] = ("sgd", "momentum", "rmsprop", "adam", "adamw", "adamw-8bit")
_IN_BACKWARD: dict[str, Any] = {"optimizer_in_backward": True, "clip_norm": None}
_UPDATES = ("for-loop", "foreach", "fused")


def _case(
    model: ModelName, batch: int, optimizer: OptimizerName, suffix: str, value: int, reason: str, **more: Any
) -> Any:
    return on_gpu(
        f"optimizer-{SIZE_NAMES[model]}-{optimizer}{suffix}",
        model,
        value,
        reason,
        batch=batch,
        optimizer=optimizer,
        **{"learning_rate": _RATES.get(optimizer, 1e-4), **more},
    )


_STATE = "state of none, one, two vectors, and two of 8 bit"
_GRADIENTS = "no two gradients of different layers alive at once; no clipping, so also without it below"

OPTIMIZERS = (
    *(_case("gpt2-medium", 8, name, "", 88, _STATE) for name in _PLAIN),
    *(_case("gpt2-xl", 4, name, "", 84, _STATE) for name in ("sgd", "adamw", "adamw-8bit")),
    *(
        _case("gpt2-medium", 8, name, "-in-backward", 82, _GRADIENTS, **_IN_BACKWARD)
        for name in ("adamw", "adamw-8bit")
    ),
    _case("gpt2-xl", 4, "adamw-8bit", "-in-backward", 80, _GRADIENTS, **_IN_BACKWARD),
    _case("gpt2-medium", 8, "adamw", "-unclipped", 60, "the other side of optimizer in backward", clip_norm=None),
    *(
        _case(
            "gpt2-medium",
            8,
            "adamw",
            f"-{update}",
            70,
            "the same mathematics in many kernels and in one",
            update=update,
        )
        for update in _UPDATES
    ),
)

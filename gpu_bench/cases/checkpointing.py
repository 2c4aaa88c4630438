"""Suite 4: memory against time: activation checkpointing, gradient accumulation, a loss in pieces."""

from __future__ import annotations

from gpu_bench.cases.base import SIZE_NAMES, on_gpu

_POLICIES = ("none", "selective-ops", "sqrt", "full")
_WHY = "from everything kept to everything computed again"
_TOKENS_BATCH = 16


def _name(policy: str) -> str:
    return policy.replace(":", "-")


CHECKPOINTING = (
    *(
        on_gpu(
            f"checkpointing-{SIZE_NAMES['gpt2-large']}-{_name(policy)}",
            "gpt2-large",
            84,
            _WHY,
            batch=8,
            checkpointing=policy,
        )
        for policy in _POLICIES
    ),
    *(
        on_gpu(
            f"checkpointing-{SIZE_NAMES['gpt2-medium']}-standard-{_name(policy)}",
            "gpt2-medium",
            72,
            "with scores in memory, which is what selective checkpointing was made for",
            batch=8,
            attention="standard",
            checkpointing=policy,
        )
        for policy in ("none", "selective")
    ),
    *(
        on_gpu(
            f"accumulation-{SIZE_NAMES['gpt2-medium']}-{passes}",
            "gpt2-medium",
            78,
            "the same batch in more and smaller pieces: what memory it saves and what time it costs",
            batch=_TOKENS_BATCH // passes,
            accumulate=passes,
        )
        for passes in (1, 4, 16)
    ),
    *(
        on_gpu(
            f"loss-{SIZE_NAMES['gpt2']}-chunked-{pieces}",
            "gpt2",
            68,
            "logits are most of a small model's memory",
            batch=16,
            loss=f"chunked:{pieces}" if pieces > 1 else "full",
        )
        for pieces in (1, 16)
    ),
)

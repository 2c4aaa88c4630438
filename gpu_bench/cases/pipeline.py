"""Suite 7: the input pipeline: tokens per second of real text, and the step under one loader after another."""

from __future__ import annotations

from gpu_bench.input_pipeline.case import LoaderCase, TokenizeCase


def _loaders(name: str, value: int, reason: str, *loaders: str) -> LoaderCase:
    return LoaderCase(
        name=f"pipeline-{name}",
        value=value,
        reason=reason,
        model="gpt2",
        precision="amp-bf16",
        batch=16,
        sequence=1024,
        loaders=loaders,
        device="cuda",
        minimum_memory=22 * 10**9,
    )


PIPELINE = (
    TokenizeCase(
        name="pipeline-tokenize",
        value=70,
        reason="tokens per second and core: from it follows how many workers feed a GPU",
    ),
    _loaders(
        "before-after",
        75,
        "what the chapter promises of a better input pipeline, measured end to end",
        "text, 0 workers",
        "tokens, 0 workers",
        "tokens, 4 workers, prefetch 2",
        "tokens, 4 workers, prefetch 2, pinned",
    ),
    _loaders(
        "workers",
        65,
        "how many workers it takes until the step no longer waits",
        *(f"text, {workers} workers, pinned" for workers in (0, 1, 2, 4, 8)),
    ),
    _loaders(
        "prefetch",
        50,
        "what batches in reserve gain",
        *(f"text, 2 workers, prefetch {prefetch}, pinned" for prefetch in (1, 2, 4, 8)),
    ),
    _loaders(
        "pinned",
        50,
        "what pinned memory gains, alone",
        "tokens, 2 workers",
        "tokens, 2 workers, pinned",
    ),
)

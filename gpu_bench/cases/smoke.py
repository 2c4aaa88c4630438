"""First looks: the optimizer tax on any machine, and GPT-2 at its smallest and largest on a GPU."""

from __future__ import annotations

from gpu_bench.cases.case import ModelName, OptimizerName, Precision, TrainingCase


def _nano(precision: Precision, optimizer: OptimizerName, learning_rate: float, value: int) -> TrainingCase:
    return TrainingCase(
        name=f"gpt2-nano-{precision}-{optimizer}",
        value=value,
        reason="runs on every machine, so it shows that measuring works; Adam and SGD differ most",
        model="nano",
        precision=precision,
        optimizer=optimizer,
        learning_rate=learning_rate,
        batch=8,
        sequence=128,
    )


def _gpt2(model: ModelName, precision: Precision, batch: int, gigabytes: int, value: int) -> TrainingCase:
    return TrainingCase(
        name=f"{model}-{precision}-adamw-b{batch}",
        value=value,
        reason="the chapter's own model as everyone first trains it: the reference that all techniques improve",
        model=model,
        precision=precision,
        optimizer="adamw",
        learning_rate=3e-4 if model == "gpt2" else 1e-4,
        batch=batch,
        sequence=1024,
        steps=30,
        device="cuda",
        minimum_memory=gigabytes * 10**9,
        time_limit_s=300.0,
    )


# The same model and data with no, one and two more copies of the weights as optimizer state.
SMOKE = (
    _nano("fp32", "adam", 1e-3, 60),
    _nano("fp32", "sgd", 0.1, 60),
    _nano("fp32", "momentum", 0.02, 50),
    _nano("amp-bf16", "adam", 1e-3, 50),
    _nano("amp-bf16", "sgd", 0.1, 50),
    _nano("amp-bf16", "momentum", 0.02, 40),
)

# The memory bounds leave room on 24 and 80 GB cards.
GPT2 = (
    _gpt2("gpt2-xl", "amp-bf16", 8, 78, 95),
    _gpt2("gpt2", "amp-bf16", 16, 22, 90),
    _gpt2("gpt2-xl", "fp32", 4, 78, 80),
    _gpt2("gpt2", "fp32", 16, 32, 75),
)

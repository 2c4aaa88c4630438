"""Cloud Titan: Llama 3 70B on a cluster of H100. The facts."""

from __future__ import annotations

from functools import lru_cache

from explorable import live
from ironlaw import GB, Setup, accelerator, estimate, model, setup, training_memory
from ironlaw.memory import MemoryLedger
from ironlaw.memory.fully_sharded import fully_sharded

from .facts import Account, Ask, Audit, Lever, Setting, switch

GPU = accelerator("h100-sxm")
MODEL = model("llama3-70b")
SEQUENCE = 8192
UPDATE = "fused"
"""The kind of update, as in Act 1: it makes no temporary tensors, which the engine's default, `foreach`, does."""
GPUS = 2048
"""As the mission begins."""
COST = GPUS * (GPU.rent.dollars if GPU.rent else 0.0)
"""Dollars an hour that they are rented for."""


def account(setting: Setting) -> Account:
    """The engine's own estimate: named tensors of the busiest GPU, and what the step waits for."""
    return _account(*(setting[name] for name in ("optimizer", "precision", "zero", "checkpointing", "gpus")))


@lru_cache(maxsize=512)
def _account(
    optimizer: live.Value, precision: live.Value, zero: live.Value, checkpointing: live.Value, gpus: live.Value
) -> Account:
    asked = setup(
        MODEL,
        GPU,
        batch=1,
        sequence=SEQUENCE,
        optimizer="adamw" if optimizer == "adam" else str(optimizer),
        precision=str(precision),
        dp=int(gpus),
        zero=int(zero),
        checkpointing="full" if checkpointing else "none",
        update=UPDATE,
    )
    answer, ledger = estimate(asked), training_memory(asked)
    memory = answer.memory_bytes
    parts = {
        "weights": float(memory.parameters),
        "gradients": float(memory.gradients),
        "master": float(memory.master),
        "optimizer": float(memory.optimizer),
        "activations": float(memory.activations + memory.logits),
        "gathered": float(memory.gathered + memory.buckets),
        "temporary": float(temporary(asked, ledger)),
        "driver": float(memory.device_total - memory.allocated_peak),
    }
    held = {name: size for name, size in parts.items() if size}
    rate = answer.time.tokens_per_s / int(gpus)
    return Account(held, memory.device_total, memory.capacity, 2.0 * MODEL.parameters, rate)


def temporary(asked: Setup, ledger: MemoryLedger) -> int:
    """Bytes at the peak of what lives for a moment only: all that is allocated then, less the parts that are there."""
    kept = sum(ledger.component(name) for name in ("parameters", "master", "optimizer"))
    gradients = ledger.component("gradients")
    copies = ledger.component("buckets") + ledger.component("gathered")
    moment = ledger.peak.name
    ended = moment.startswith(("backward, first", "backward, embedding", "optimizer"))
    # After the loss its logits are gone. At the end of the backward pass activations are, and gradients are there.
    there = 0 if ended else ledger.saved_bytes if moment.endswith("loss") else ledger.component("activations")
    if asked.layout.zero == 3:
        there += min(copies, fully_sharded(asked, asked.stages[-1]).at(moment))
    else:
        # ZeRO-2's shard of gradients is never freed.
        there += copies + (gradients if ended or asked.layout.zero == 2 else 0)
    return ledger.allocated_peak - kept - there


def command(setting: Setting) -> str:
    """The same on the engine's command line."""
    again = " --checkpointing full" if setting["checkpointing"] else ""
    rule = "adamw" if setting["optimizer"] == "adam" else setting["optimizer"]
    return (
        f"python -m ironlaw estimate --model {MODEL.name} --gpu {GPU.name} --seq {SEQUENCE} "
        f"--precision {setting['precision']} --optimizer {rule} --update {UPDATE} "
        f"--dp {setting['gpus']} --zero {setting['zero']}{again}"
    )


AUDIT = Audit(
    situation=f"You train Llama 3 70B on {GPUS:,} H100 GPUs for ${COST:,.0f} an hour. "
    '"We have thousands of cards with 80 GB", says finance; the first run ends out of memory.',
    ask=Ask(
        f"Weights, gradients and Adam's state of {MODEL.parameters / 1e9:.1f} billion parameters in FP32: how many GB?",
        {"optimizer": "adam", "precision": "fp32", "zero": 0, "gpus": 512, "checkpointing": True},
        ("weights", "gradients", "optimizer"),
        2000,
        10,
        mistakes=(("weights",), ("weights", "gradients")),
    ),
    levers=(
        Lever("optimizer", "Optimizer", {"sgd": "SGD", "momentum": "Momentum", "adam": "Adam"}, "adam"),
        Lever("precision", "Precision", {"fp32": "FP32", "mixed": "Mixed"}, "fp32", "Mixed keeps an FP32 master copy."),
        Lever(
            "zero",
            "ZeRO",
            {0: "0", 1: "1", 2: "2", 3: "3"},
            0,
            "What the GPUs divide among them: 1 the optimizer's state, 2 gradients too, 3 weights too.",
        ),
        Lever("gpus", "GPUs", {512: "512", 2048: "2,048"}, GPUS, f"Each sees one text of {SEQUENCE:,} tokens."),
        switch("checkpointing", "Gradient checkpointing", "Keeps the input of each block."),
    ),
    account=account,
    unit=("GB", GB),
    tops=(100, 200, 400, 800, 1600, 3200),
    limit_name="one H100",
    sample="tokens per second and GPU",
    lesson="ZeRO divides weights, gradients and states, so more GPUs make these bars shrink. Activations and the "
    "gathered blocks stay whole on every card: 80 GB times the number of cards is no pool.",
    sources="Memory and time are the engine's, for PyTorch's fully sharded training over NVLink 4 and InfiniBand NDR.",
    command=command,
)

"""Cloud Titan, part 3: the same GPUs over a slower network. The facts."""

from __future__ import annotations

from functools import lru_cache

from explorable import live
from ironlaw import estimate, link, setup
from ironlaw.parallel import job_time
from ironlaw.training.noisy_quadratic import Outlier

from .cloud import GPU, MODEL, SEQUENCE, UPDATE
from .facts import Guess, Lever, Plan, Setting, Wall, switch
from .wall_levers import CLIP, RATE, SCALING, guard

NETWORK, BEFORE = "ethernet-100", "infiniband-ndr"
"""For each GPU: what this cluster has, and what the engine takes for granted in parts 1 and 2."""
LAYOUTS = {"zero": (1, 1, 3), "tensor": (8, 1, 1), "both": (8, 4, 1), "deep": (4, 8, 1)}
"""Tensor, pipeline, ZeRO."""
PRECISIONS = {"fp16": "mixed", "bf16": "megatron"}


def plan(setting: Setting) -> Plan:
    """The engine's job, and the share of it in which nodes exchange gradients, parameters or hidden states."""
    names = ("layout", "precision", "checkpointing", "devices", "batch", "accumulate")
    mfu, network, need, limit, step = _job(*(setting[name] for name in names))
    tensor, pipeline, _ = LAYOUTS[str(setting["layout"])]
    replicas = int(setting["devices"]) // (tensor * pipeline)
    batch = int(setting["batch"]) * int(setting["accumulate"]) * replicas
    half = setting["precision"] == "fp16"
    times = dict(step)

    def lost() -> dict[str, float]:
        total = sum(times.values())
        kept = sum(dict(_job(*({**setting, "checkpointing": False}[name] for name in names))[-1]).values())
        return {
            "waiting for other nodes": times["network"] / total,
            "exchanges inside a node": times["inside a node"] / total,
            "stages of the pipeline that wait for each other": times["bubble"] / total,
            "computing activations again": 1 - kept / total,
        }

    return Plan(mfu, network, need, limit, batch, guard(setting, half=half), times, lost)


@lru_cache(maxsize=4096)
def _job(
    layout: live.Value,
    precision: live.Value,
    checkpointing: live.Value,
    devices: live.Value,
    batch: live.Value,
    accumulate: live.Value,
) -> tuple[float, float, float, float, tuple[tuple[str, float], ...]]:
    tensor, pipeline, zero = LAYOUTS[str(layout)]
    asked = setup(
        MODEL,
        GPU,
        batch=int(batch),
        sequence=SEQUENCE,
        precision=PRECISIONS[str(precision)],
        optimizer="adamw",
        update=UPDATE,
        checkpointing="full" if checkpointing else "none",
        dp=int(devices) // tensor // pipeline,
        tp=tensor,
        pp=pipeline,
        zero=zero,
        sequence_parallel=tensor > 1,
        micro_batches=int(accumulate),
        framework="torch" if zero == 3 else "megatron",
        network=NETWORK,
    )
    job = job_time(asked)
    memory = estimate(asked).memory_bytes
    between = min(1.0, (job.data + job.hidden + job.pipeline) / job.total)
    useful = job.convention_flops / (job.total * int(devices) * GPU.peak("bf16"))
    parts = (
        ("compute", job.compute + job.update),
        ("bubble", job.bubble),
        ("inside a node", job.tensor),
        ("network", job.data + job.pipeline),
    )
    return useful, between, float(memory.device_total), float(memory.capacity), parts


def command(setting: Setting) -> str:
    """The same on the engine's command line."""
    tensor, pipeline, zero = LAYOUTS[str(setting["layout"])]
    return (
        f"python -m ironlaw estimate --model {MODEL.name} --gpu {GPU.name} --network {NETWORK} --seq {SEQUENCE} "
        f"--batch {setting['batch']} --micro-batches {setting['accumulate']} "
        f"--precision {PRECISIONS[str(setting['precision'])]} --optimizer adamw --update {UPDATE} "
        f"--dp {int(setting['devices']) // tensor // pipeline} --tp {tensor} --pp {pipeline} --zero {zero}"
        + (" --sequence-parallel" if tensor > 1 else "")
        + (" --checkpointing full" if setting["checkpointing"] else "")
        + f" --framework {'torch' if zero == 3 else 'megatron'}"
    )


WALL = Wall(
    situation="Every GPU gathers all weights in every micro-batch, over "
    f"{8 * link(NETWORK).bandwidth / 1e9:g} Gb/s Ethernet.",
    message='"The network is saturated {busy:.0f} % of the time. About half, with 40 % MFU, and no explosion."',
    levers=(
        Lever(
            "layout",
            "Parallelism",
            {"zero": "ZeRO-3", "tensor": "Tensor 8", "both": "Tensor 8, pipeline 4", "deep": "Tensor 4, pipeline 8"},
            "zero",
            "Tensor parallelism stays inside a node of eight. What is left of the GPUs are replicas.",
        ),
        Lever("devices", "GPUs", {512: "512", 2048: "2,048"}, 2048),
        Lever("batch", "Micro-batch", {1: "1", 2: "2"}, 1, "Texts of 8,192 tokens."),
        Lever("accumulate", "Micro-batches for an update", {8: "8", 16: "16", 32: "32"}, 8),
        Lever("precision", "Precision", {"fp16": "FP16", "bf16": "BF16"}, "bf16", "BF16 adds gradients up in FP32."),
        switch("checkpointing", "Gradient checkpointing", start=True),
        SCALING,
        CLIP,
        RATE,
    ),
    ask=Guess(
        "Each GPU takes twice the micro-batches for an update. What becomes of communication over computation?",
        {"accumulate": 16},
        lambda plan: plan.network * sum(plan.step.values()) / plan.step["compute"],
        (
            live.Option(2.0, "It doubles, or nearly.", "More samples are more arithmetic too."),
            live.Option(
                1.0,
                "It stays about the same.",
                "Every micro-batch gathers all weights again: twice the micro-batches are twice the arithmetic and "
                "twice the traffic.",
            ),
            live.Option(0.5, "It falls to about a half.", "It does where one exchange serves the whole update."),
        ),
    ),
    plan=plan,
    target=0.4,
    ceiling=0.475,
    base=512,
    rate=0.6,
    noise=1.0,
    updates=64,
    loss=0.005,
    outliers=(Outlier(50_000.0, 0.1),),
    lesson="Tensor parallelism keeps its traffic inside the node, and accumulation divides what crosses between nodes. "
    "Accumulation makes a larger batch per update, for which a rate in proportion is beyond what the loss can follow; "
    "by the square root it is not. Half the batch bears either rule, at a lower MFU. Four times the GPUs would leave "
    "too few updates, or too few micro-batches to share an exchange. "
    "Clipping survives the strange batch. FP16 needs a loss scale too: without one its small gradients become zero.",
    sources=f"Parts 1 and 2 have InfiniBand, {8 * link(BEFORE).bandwidth / 1e9:g} Gb/s for each GPU. "
    "Time, memory and traffic are the engine's. The loss is a toy, the noisy quadratic model.",
    command=command,
)

"""The scaling explorer: what communication takes from data parallelism as GPUs are added. An instrument."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from explorable import live
from ironlaw import GB, Setup, accelerator, fits, job_time, link, setup, training_memory
from ironlaw.parallel import JobTime

MODELS = {"gpt2": "GPT-2", "gpt2-large": "GPT-2 L", "gpt2-xl": "GPT-2 XL"}
GPUS = {"a100-80": "A100", "h100-sxm": "H100"}
NETWORKS = {
    "ethernet-10": "10 GbE",
    "ethernet-100": "100 GbE",
    "infiniband-hdr": "HDR 200",
    "infiniband-ndr": "NDR 400",
}
BATCHES, STEPS = (1, 4, 16, 32), (1, 4, 16)
DEVICES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
CHOICES = (8, 16, 64, 256, 1024)


@dataclass(frozen=True)
class Setting:
    """What is trained, on what, over which network, and how often gradients are exchanged."""

    model: str
    gpu: str
    network: str
    batch: int
    accumulate: int


def training(setting: Setting, devices: int) -> Setup:
    """Training on so many GPUs, each with its own full batch: nodes of eight, autocast, fused kernels."""
    return setup(
        setting.model,
        setting.gpu,
        setting.batch,
        execution="compiled",
        dp=devices,
        accumulate=setting.accumulate,
        network=setting.network,
    )


@cache
def step(setting: Setting, devices: int) -> JobTime:
    """One optimizer step."""
    return job_time(training(setting, devices))


def need(setting: Setting, devices: int) -> int:
    """Bytes a GPU must have."""
    return training_memory(training(setting, devices)).device_total


def setting_of(state: live.State) -> Setting:
    """What a state's controls say."""
    at = state.controls
    return Setting(str(at["model"]), str(at["gpu"]), str(at["network"]), int(at["batch"]), int(at["accumulate"]))


def compute(state: live.State) -> live.View:
    """What the instrument shows."""
    setting, devices = setting_of(state), int(state.controls["devices"])
    now = step(setting, devices)
    worth = devices * now.scaling_efficiency
    return live.View(
        data={
            "bars": tuple(bars(setting)),
            "curve": tuple(
                {
                    "devices": str(count),
                    "efficiency": 100 * step(setting, count).scaling_efficiency,
                    "current": count == devices,
                }
                for count in DEVICES
            ),
        },
        headline=live.Figure(f"{devices:,} GPUs do the work of", f"{worth:,.1f}", "GPUs"),
        summary=f"{MODELS[setting.model]} on {devices:,} {GPUS[setting.gpu]} over {link(setting.network).title}: "
        f"{100 * now.scaling_efficiency:.0f} % efficiency, {now.tokens_per_second:,.0f} tokens per second. "
        f"A step takes {1e3 * now.total:,.0f} ms, of which communication adds {1e3 * now.communication:,.0f} ms; "
        f"another {1e3 * now.hidden:,.0f} ms of it run unseen.",
        tables={"efficiency": table(setting), "step": step_table(setting, devices)},
        failure=out_of_memory(setting, devices),
    )


def bars(setting: Setting) -> Iterator[live.Row]:
    """Communication of each step in ms: what runs beside the backward pass, and what the step waits for."""
    for count in DEVICES:
        at = step(setting, count)
        hidden, whole = 1e3 * at.hidden, 1e3 * (at.hidden + at.communication)
        yield {"devices": str(count), "part": "hidden", "from": 0, "to": hidden}
        yield {"devices": str(count), "part": "transfer", "from": hidden, "to": whole}


def table(setting: Setting) -> live.Table:
    """The curve's numbers."""
    rows = []
    for count in DEVICES:
        at = step(setting, count)
        rows.append(
            {
                "a": f"{count:,}",
                "b": f"{1e3 * at.total:,.0f}",
                "c": f"{1e3 * at.communication:,.0f}",
                "d": f"{1e3 * at.hidden:,.0f}",
                "e": f"{100 * at.scaling_efficiency:.1f}",
                "f": f"{at.tokens_per_second / 1e3:,.0f}",
            }
        )
    return live.Table(
        f"{MODELS[setting.model]} on {GPUS[setting.gpu]}s at {setting.batch} sequences each; batches per exchange: "
        f"{setting.accumulate}",
        (
            live.Column("a", "GPUs", numeric=True),
            live.Column("b", "Step", "ms", numeric=True),
            live.Column("c", "Added", "ms", numeric=True),
            live.Column("d", "Hidden", "ms", numeric=True),
            live.Column("e", "Efficiency", "%", numeric=True),
            live.Column("f", "Throughput", "10³ tokens/s", numeric=True),
        ),
        rows,
    )


def step_table(setting: Setting, devices: int) -> live.Table:
    """Where the chosen step's time goes."""
    at = step(setting, devices)
    sizes = {"Compute": at.compute, "Optimizer": at.update, "Communication that nothing hides": at.communication}
    rows = [
        {"a": name, "b": f"{1e3 * value:,.1f}", "c": f"{100 * value / at.total:.1f}"} for name, value in sizes.items()
    ]
    return live.Table(
        f"One step on {devices:,} GPUs",
        (
            live.Column("a", "Part"),
            live.Column("b", "Time", "ms", numeric=True),
            live.Column("c", "Share", "%", numeric=True),
        ),
        [*rows, {"a": "Step", "b": f"{1e3 * at.total:,.1f}", "c": "100.0"}],
    )


def out_of_memory(setting: Setting, devices: int) -> live.Failure | None:
    """Data parallelism copies everything: when one GPU is too small, more of them do not help."""
    capacity, needed = accelerator(setting.gpu).usable_bytes, need(setting, devices)
    if fits(training(setting, devices)):
        return None
    smaller = [size for size in BATCHES if fits(training(replace(setting, batch=size), devices))]
    remedy = f"Batch {max(smaller)} fits." if smaller else "No batch size here fits."
    return live.Failure(
        "Out of memory",
        f"Every GPU holds a full copy and needs {needed / GB:.1f} GB.",
        f"It can give {capacity / GB:.2f} GB: {(needed - capacity) / GB:.1f} GB too much.",
        remedy,
    )


ACT = live.Act(
    name="scaling-explorer",
    title="Scaling explorer",
    minutes=5,
    situation="Data parallelism gives every GPU its own batch and adds up the gradients. Add GPUs, and watch what the "
    "adding up costs.",
    contexts=(live.Context("data", "Data parallelism", "Nodes of eight GPUs; sequences of 1,024 tokens."),),
    question=None,
    controls=(
        live.Choice("model", "Model", tuple(live.ControlOption(*one) for one in MODELS.items()), "gpt2-xl"),
        live.Choice("gpu", "GPU", tuple(live.ControlOption(*one) for one in GPUS.items()), "a100-80"),
        live.Choice(
            "network",
            "Network between nodes",
            tuple(live.ControlOption(*one) for one in NETWORKS.items()),
            "ethernet-100",
            "Gb/s, one port per GPU.",
        ),
        live.Choice("batch", "Batch per GPU", tuple(live.ControlOption(size, str(size)) for size in BATCHES), 4),
        live.Choice(
            "accumulate",
            "Exchange gradients",
            tuple(live.ControlOption(count, f"every {count}" if count > 1 else "every batch") for count in STEPS),
            1,
            "Batches added up on each GPU before the exchange.",
        ),
        live.Choice("devices", "GPUs", tuple(live.ControlOption(count, f"{count:,}") for count in CHOICES), 64),
    ),
    compute=compute,
    reveal=None,
    charts={
        "efficiency": "Efficiency over the number of GPUs",
        "step": "Communication: hidden (below), added (blue, above)",
    },
    can_fail=True,
)

"""Where the memory of a training step is: what each component holds, and what is alive at the peak.

Two views, because they answer two questions. `held` counts every component at its own fullest: this is what formulas
predict. `at_peak` counts what is alive at the one moment the step needs most, by PyTorch's own `MemTracker`, and sums
to the allocator's peak with a named remainder: kernel workspaces, which no tensor owns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed._tools.mem_tracker import MemTracker
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode

from gpu_bench.machine.device import open_nvml
from gpu_bench.measure.trace import events_of
from gpu_bench.measure.training import Trainer
from gpu_bench.record.shape import Held
from ironlaw.memory.ledger import CUDA_CONTEXT


def storage_bytes(tensors: Iterable[Tensor]) -> int:
    """Bytes of the storages behind the tensors; a storage that several tensors view counts once."""
    return sum({t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in tensors}.values())


class _ParameterCasts(TorchDispatchMode):
    """Collects the lower-precision copies that autocast makes of parameters."""

    def __init__(self, parameters: Iterable[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._parameters = {p.untyped_storage()._cdata for p in parameters}
        self.casts: list[Tensor] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        is_cast = func is torch.ops.aten._to_copy.default
        if is_cast and args[0].untyped_storage()._cdata in self._parameters:
            self.casts.append(out)
        return out


def held_memory(trainer: Trainer, window: Tensor) -> Held:
    """Count every component exactly, in one forward and backward pass over a (B, T + 1) window.

    No optimizer step is made, unless the backward pass itself makes it. Call it after at least one training step, so
    that the optimizer's state exists.
    """
    parameters = list(trainer.model.parameters())
    own = {t.untyped_storage()._cdata for t in (*parameters, *trainer.model.buffers(), window)}
    saved: list[Tensor] = []

    def keep(tensor: Tensor) -> Tensor:
        # The list keeps every storage alive, so that no address is reused and counted for two tensors.
        saved.append(tensor)
        return tensor

    casts = _ParameterCasts(parameters)
    # A compiled graph is not run under a mode that looks at single operations; its saved casts count as activations.
    watching = nullcontext() if trainer.compiled else casts
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor), watching:
        loss = trainer.loss(window)
    cast_ids = {t.untyped_storage()._cdata for t in casts.casts}
    kept = [t for t in saved if t.untyped_storage()._cdata not in own]
    activations = storage_bytes(t for t in kept if t.untyped_storage()._cdata not in cast_ids)
    cast_weights = storage_bytes(t for t in kept if t.untyped_storage()._cdata in cast_ids)
    # What is held here must not be held during the backward pass, which frees it bit by bit.
    for tensors in (saved, kept, casts.casts):
        tensors.clear()
    with _most_gradients(parameters) as most:
        trainer.backward(loss)
    for parameter in parameters:
        parameter.grad = None
    return Held(
        parameters=storage_bytes(parameters),
        gradients=most[0],
        optimizer=optimizer_vectors(trainer.optimizers),
        activations=activations,
        cast_weights=cast_weights,
    )


@contextmanager
def _most_gradients(parameters: list[nn.Parameter]) -> Iterator[list[int]]:
    """Watches how many bytes of gradients are alive at once: all of them at the end, or few if each is used at once."""
    most = [0]

    def look(gradient: Tensor) -> None:
        # Called just before the gradient becomes a parameter's, and so before an update in the backward pass frees it.
        alive = storage_bytes(p.grad for p in parameters if p.grad is not None)
        most[0] = max(most[0], alive + gradient.untyped_storage().nbytes())

    handles = [
        parameter.register_hook(look)  # type: ignore[no-untyped-call]
        for parameter in parameters
    ]
    try:
        yield most
    finally:
        for handle in handles:
            handle.remove()


def optimizer_vectors(optimizers: Iterable[torch.optim.Optimizer]) -> dict[str, int]:
    """Bytes of every state vector of the optimizers, by its name in the implementation."""
    vectors: dict[str, int] = {}
    for optimizer in optimizers:
        for state in optimizer.state.values():
            for name, value in state.items():
                if isinstance(value, Tensor):
                    vectors[name] = vectors.get(name, 0) + _held(value)
    return dict(sorted(vectors.items()))


def _held(tensor: Tensor) -> int:
    """Bytes of a tensor's storage, or of those that one of several parts (codes, scales) is made of."""
    if not hasattr(tensor, "__tensor_flatten__"):
        return tensor.untyped_storage().nbytes()
    parts, _ = tensor.__tensor_flatten__()
    return sum(_held(getattr(tensor, part)) for part in parts)


@dataclass(frozen=True)
class Tracked:
    """What `MemTracker` saw of one step: bytes by component at the peak, and bytes alive between steps."""

    at_peak: dict[str, int]
    at_rest: int


def track_step(trainer: Trainer, window: Tensor) -> Tracked:
    """Run one untimed training step under `MemTracker`.

    Returns:
        Components at the peak: parameters, buffers, gradients, optimizer_state, optimizer_temporaries, activations
        (tensors of the forward pass still alive), backward_temporaries, inputs, inside_compiled (zero here).
    """
    # The window's storage counts as input; the tracker has to be told of it.
    tracker = MemTracker()
    tracker.track_external(trainer.model, *trainer.optimizers, window)
    with tracker:
        # The tracker allows each module one call until it is told that a backward pass is over.
        trainer.step(window, tracker.reset_mod_stats)
    device = next(trainer.model.parameters()).device
    # Between steps the optimizer holds its state and nothing else; what is more at the peak is temporary.
    peak, rest = (tracker.get_tracker_snapshot(moment)[device] for moment in ("peak", "current"))
    return Tracked(at_peak=components(trainer.model, peak, rest["Optstate"]), at_rest=rest["Total"])


def components(model: nn.Module, peak: Mapping[str, int], state: int) -> dict[str, int]:
    """The components of a peak by their names in a record, from bytes by the tracker's own names.

    On CUDA the tracker rounds every tensor up to the allocator's 512 bytes. Parameters are counted exactly, so that a
    record can be held against the model; what rounding adds to them is part of the remainder. `state` are the bytes of
    the optimizer's state between steps.
    """
    # The tracker's keys are members of a string enumeration, so a plain string finds them.
    state = min(state, peak["Optstate"])
    return {
        "parameters": storage_bytes(model.parameters()),
        "buffers": peak["Buffer"],
        "gradients": peak["Gradient"],
        "optimizer_state": state,
        "optimizer_temporaries": peak["Optstate"] - state,
        "activations": peak["Activation"],
        "backward_temporaries": peak["Temp"],
        "inputs": peak["Other"],
        "inside_compiled": 0,
    }


def compiled_components(trainer: Trainer, window: Tensor, peak: int) -> dict[str, int]:
    """Components at the peak of a compiled step: what is alive all the time by name, and the rest of the peak.

    No tensor inside a compiled graph can be watched, so its activations, gradients and temporaries are one number.
    """
    fixed = _resting(trainer, window)
    none = dict.fromkeys(("gradients", "optimizer_temporaries", "activations", "backward_temporaries"), 0)
    return {**fixed, **none, "inside_compiled": max(peak - sum(fixed.values()), 0)}


def resting_bytes(trainer: Trainer, window: Tensor) -> int:
    """Bytes alive between steps."""
    return sum(_resting(trainer, window).values())


def _resting(trainer: Trainer, window: Tensor) -> dict[str, int]:
    return {
        "parameters": storage_bytes(trainer.model.parameters()),
        "buffers": storage_bytes(trainer.model.buffers()),
        "optimizer_state": sum(optimizer_vectors(trainer.optimizers).values()),
        "inputs": storage_bytes([window]),
    }


def cpu_allocator_peak(step: Callable[[], object], at_rest: int) -> int:
    """Peak bytes of PyTorch's CPU allocator during one untimed step, from the profiler's record of every allocation.

    The profiler sees what kernels allocate inside themselves, which tensors do not show. It starts from zero, so the
    bytes that were alive before, `at_rest`, are added.
    """
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step()
    allocations = sorted((e["ts"], e["args"]["Bytes"]) for e in events_of(profiler) if e.get("name") == "[memory]")
    alive = peak = 0
    for _, size in allocations:
        alive += size
        peak = max(peak, alive)
    return at_rest + peak


def limit_memory(device: torch.device, limit: int) -> int:
    """Let this process allocate what `limit` bytes leave after the CUDA context. Call it before the first allocation.

    Returns the bytes counted as context: what the driver says this process holds already, but at least the engine's
    assumption, since kernels that are loaded later add to it.

    Raises:
        ValueError: When the device is not larger than the card, or something was allocated already.
    """
    torch.cuda.init()  # type: ignore[no-untyped-call]
    torch.cuda.synchronize(device)
    if torch.cuda.memory_reserved(device):
        raise ValueError("memory was allocated before its limit was set")
    total = torch.cuda.get_device_properties(device).total_memory
    gpu = open_nvml(device)
    context = max((gpu.process_memory() if gpu else None) or 0, CUDA_CONTEXT)
    if limit >= total:
        raise ValueError(f"a card of {limit / 2**30:.1f} GiB cannot be emulated on one of {total / 2**30:.1f} GiB")
    torch.cuda.set_per_process_memory_fraction((limit - context) / total, device)
    return context

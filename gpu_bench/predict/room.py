"""Which device a case fits: memory, kind and number of devices, asked by the runner and by a plan alike."""

from __future__ import annotations

from gpu_bench.cases.case import Case, TrainingCase
from gpu_bench.machine.chips import chip_of
from gpu_bench.predict.prediction import predicted_peak
from ironlaw.hardware import Accelerator
from ironlaw.memory.ledger import CUDA_CONTEXT


def needed_memory(case: Case) -> int:
    """Bytes of a GPU that a case needs: as it says itself, else the engine's peak of its eager step and the context."""
    if case.minimum_memory or not isinstance(case, TrainingCase):
        return case.minimum_memory
    peak = predicted_peak(case, "cuda")
    return 0 if peak is None else peak + CUDA_CONTEXT


def too_small(case: Case, memory: int) -> str | None:
    """Why a GPU with so many bytes that programs can allocate is too small for a case; None when it is not."""
    if needed_memory(case) <= memory:
        return None
    return f"needs {needed_memory(case) / 1e9:.0f} GB, the device has {memory / 1e9:.0f} GB"


def why_not(case: Case, device_name: str) -> str | None:
    """Why a case cannot run on one GPU, as its driver calls it; None when it can, or the GPU is not known."""
    chip = chip_of(device_name)
    if chip is None:
        return None
    if case.devices > 1:
        return f"needs {case.devices} devices"
    return too_small(case, chip.usable_bytes) or _without_format(case, chip)


def _without_format(case: Case, chip: Accelerator) -> str | None:
    if not isinstance(case, TrainingCase):
        return None
    formats = {peak.dtype for peak in chip.peaks}
    for form in ("fp8", "bf16"):
        if form in case.precision and form not in formats:
            return f"needs {form.upper()} products, which the device does not have"
    return None

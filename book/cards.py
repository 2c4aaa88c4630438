"""The engine's figures of the GPUs that a reader may have, for the block that measures one."""

from __future__ import annotations

from functools import cache

from explorable.measured.ceilings.card import Card, Format, Roof
from ironlaw.hardware.accelerators import Accelerator, accelerator, list_accelerators

_SHORT: tuple[Format, ...] = ("bf16", "fp16")


@cache
def cards() -> tuple[Card, ...]:
    """All GPUs by title. Classes of chips are none: nobody has one."""
    known = map(accelerator, list_accelerators())
    return tuple(_card(chip) for chip in sorted(known, key=lambda chip: chip.title) if chip.multiprocessors)


def _card(chip: Accelerator) -> Card:
    """FP32 runs without tensor cores, 16-bit products with FP32 sums on them; BF16 and FP16 are equally fast."""
    peaks = {peak.dtype: peak.flops_per_second for peak in chip.peaks if peak.accumulate == "fp32"}
    formats = tuple(name for name in _SHORT if name in peaks)
    roofs = [Roof("FP32", ("fp32",), peaks["fp32"])]
    if formats:
        label = f"{'/'.join(name.upper() for name in formats)}, tensor cores"
        roofs.append(Roof(label, formats, peaks[formats[0]], tensor_cores=True))
    return Card(chip.name, chip.title, chip.bandwidth, tuple(roofs))

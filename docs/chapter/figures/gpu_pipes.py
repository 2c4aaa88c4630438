"""What feeds a GPU: pipes as wide as their bandwidth, from storage to the multiprocessors."""

from explorable.figures.drawing import Drawing
from explorable.figures.sketch import Sketch
from ironlaw import accelerator, link
from ironlaw.hardware import storage
from ironlaw.time import ridge_point

CHIP = "h100-sxm"
WIDEST = 150
"""Units of the sheet for the memory's bandwidth; all other pipes are to its scale."""
LEFT = 14


def draw() -> Drawing:
    """Four boxes one above the other, and between them pipes whose width is their bytes per second."""
    chip, disk, bus, peer = accelerator(CHIP), storage("nvme-4"), link("pcie-5-x16"), link("nvlink-4")
    peak = chip.peak("bf16")
    pipes = (
        (disk.sequential, "solid-state disk", "data"),
        (bus.bandwidth, "PCI Express 5", "memory"),
        (chip.bandwidth, "HBM3, the card's memory", "memory"),
    )
    boxes = ("storage", "memory of the host", f"memory of the card, {chip.nominal_gb:.0f} GB", "multiprocessors")
    sheet = Sketch(346)
    middle = LEFT + WIDEST / 2 + 26
    y = 4.0
    for place, box in enumerate(boxes):
        sheet.rect(LEFT, y, WIDEST + 52, 34, fill="surface", line="fg", thick=1.4, corner=4)
        sheet.text(middle, y + 17, box, anchor="middle", size=12.8)
        y += 34
        if place == len(pipes):
            break
        rate, name, ink = pipes[place]
        wide = WIDEST * rate / chip.bandwidth
        sheet.rect(middle - wide / 2, y, max(wide, 0.35), 52, fill=ink, faint=0.9)
        x = LEFT + WIDEST + 66
        sheet.text(x, y + 18, speed(rate), bold=True, ink=ink)
        sheet.text(
            x, y + 36, f"{name}, {rate / chip.bandwidth:.1%} as wide" if place < 2 else name, size=12.8, ink="muted"
        )
        y += 52
    x = LEFT + WIDEST + 66
    sheet.text(x, y - 24, f"{peak / 1e12:,.0f} TFLOP/s in BF16", bold=True, ink="compute")
    sheet.text(x, y - 6, f"{ridge_point(peak, chip.bandwidth):.0f} operations for each byte", size=12.8, ink="muted")
    narrow = WIDEST * peer.bandwidth / chip.bandwidth
    sheet.rect(middle - narrow / 2, y + 8, narrow, 30, fill="optimizer", faint=0.9)
    sheet.text(x, y + 16, speed(peer.bandwidth), bold=True, ink="optimizer")
    sheet.text(x, y + 33, "NVLink 4, to other cards", size=12.8, ink="muted")
    return Drawing(
        sheet,
        f"What feeds an H100, drawn to scale: {speed(disk.sequential)} from a solid-state disk, "
        f"{speed(bus.bandwidth)} over PCI Express, {speed(chip.bandwidth)} from the card's own memory, and "
        f"{speed(peer.bandwidth)} to other cards over NVLink. The disk's pipe is "
        f"{disk.sequential / chip.bandwidth:.1%} as wide as the memory's. The multiprocessors could do "
        f"{ridge_point(peak, chip.bandwidth):.0f} operations for each byte that arrives.",
    )


def speed(rate: float) -> str:
    """Bytes per second in words."""
    return f"{rate / 1e12:.2f} TB/s" if rate >= 1e12 else f"{rate / 1e9:.0f} GB/s"

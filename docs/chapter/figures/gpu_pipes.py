"""What feeds a GPU: pipes as wide as their bandwidth, from storage to the multiprocessors."""

from explorable.figures.drawing import Drawing
from explorable.figures.sketch import Sketch, percent
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
    sheet = Sketch(388)
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
        # As thin as a screen can show at least, and two arrows point at what is easily overlooked.
        sheet.rect(middle - max(wide, 1) / 2, y, max(wide, 1), 52, fill=ink)
        if wide < 10:
            for side in (-1, 1):
                sheet.arrow((middle + side * 40, y + 26), (middle + side * (wide / 2 + 3), y + 26), ink, 1.2, head=7)
        x = LEFT + WIDEST + 60
        sheet.text(x, y + 18, speed(rate), bold=True, ink=ink)
        share = f", {percent(rate / chip.bandwidth, 1)} of HBM3's" if place < 2 else ""
        sheet.text(x, y + 36, name + share, size=12.8, ink="muted")
        y += 52
    x = LEFT + WIDEST + 60
    sheet.text(x, y - 26, f"{peak / 1e12:,.0f} TFLOP/s in BF16", bold=True, ink="compute")
    sheet.text(x, y - 8, f"{ridge_point(peak, chip.bandwidth):.0f} operations for each byte", size=12.8, ink="muted")
    narrow = WIDEST * peer.bandwidth / chip.bandwidth
    sheet.rect(middle - narrow / 2, y, narrow, 52, fill="optimizer")
    sheet.text(x, y + 18, speed(peer.bandwidth), bold=True, ink="optimizer")
    share = percent(peer.bandwidth / chip.bandwidth)
    sheet.text(x, y + 36, f"NVLink 4, {share} of HBM3's", size=12.8, ink="muted")
    sheet.rect(LEFT, y + 52, WIDEST + 52, 34, fill="surface", line="fg", thick=1.4, corner=4)
    sheet.text(middle, y + 69, "other cards", anchor="middle", size=12.8)
    return Drawing(
        sheet,
        f"What feeds an H100, drawn to scale: {speed(disk.sequential)} from a solid-state disk, "
        f"{speed(bus.bandwidth)} over PCI Express, {speed(chip.bandwidth)} from the card's own memory, and "
        f"{speed(peer.bandwidth)} to other cards over NVLink. The disk's pipe is "
        f"{percent(disk.sequential / chip.bandwidth, 1)} as wide as the memory's. The multiprocessors could do "
        f"{ridge_point(peak, chip.bandwidth):.0f} operations for each byte that arrives.",
    )


def speed(rate: float) -> str:
    """Bytes per second in words."""
    return f"{rate / 1e12:.2f} TB/s" if rate >= 1e12 else f"{rate / 1e9:.0f} GB/s"

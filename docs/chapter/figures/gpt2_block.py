"""A block of GPT-2 XL from its input to its output, with the shape of every tensor and the weights of every product."""

from explorable.figures.drawing import Drawing
from explorable.figures.sketch import Sketch
from ironlaw import model

GPT2_XL = model("gpt2-xl")
TOP, ROW, MIDDLE, WIDE = 16, 44, 150, 176


def draw() -> Drawing:
    """From top to bottom: operations as boxes, shapes beside the arrows, the two shortcuts at the left."""
    h, f, heads, size = GPT2_XL.hidden, GPT2_XL.ffn, GPT2_XL.heads, GPT2_XL.head_size
    assert heads * size == h, "the heads share the width"
    million = {"qkv": 3 * h * h / 1e6, "out": h * h / 1e6, "up": h * f / 1e6}
    rows = (
        ("norm", "", f"T × {h:,}", "activation"),
        ("queries, keys, values", f"{million['qkv']:.1f} million weights", f"T × {3 * h:,}", "compute"),
        ("scores of each head", f"{heads} heads of {size}", f"{heads} × T × T", "memory"),
        ("softmax, then values", "", f"T × {h:,}", "memory"),
        ("output", f"{million['out']:.1f} million weights", f"T × {h:,}", "compute"),
        ("+", "the input comes back", f"T × {h:,}", "fg"),
        ("norm", "", f"T × {h:,}", "activation"),
        ("up", f"{million['up']:.1f} million weights", f"T × {f:,}", "compute"),
        ("GELU", "", f"T × {f:,}", "activation"),
        ("down", f"{million['up']:.1f} million weights", f"T × {h:,}", "compute"),
        ("+", "the sum before comes back", f"T × {h:,}", "fg"),
    )
    sheet = Sketch(TOP + ROW * len(rows) + 26)
    sheet.text(MIDDLE + 10, TOP - 4, f"T × {h:,}", size=13, ink="muted")
    ends = [TOP + ROW * place for place, row in enumerate(rows) if row[0] == "+"]
    begins = [TOP + 2, ends[0] + 38]
    for begin, end in zip(begins, ends, strict=True):
        points = [(MIDDLE, begin), (30, begin), (30, end + 18), (MIDDLE - 14, end + 18)]
        sheet.line(points[:-1], "control", 1.6)
        sheet.arrow(points[-2], points[-1], "control", 1.6)
    for place, (name, detail, shape, ink) in enumerate(rows):
        y = TOP + ROW * place
        sheet.arrow((MIDDLE, y - 14 if place else y - 12), (MIDDLE, y + 6), "muted", 1.2, head=5)
        if name == "+":
            sheet.dot(MIDDLE, y + 18, 11, fill="bg", line=ink, thick=1.6)
            sheet.text(MIDDLE, y + 18, "+", anchor="middle", size=15, bold=True)
        else:
            sheet.rect(MIDDLE - WIDE / 2, y + 7, WIDE, 22, fill="bg", line=ink, thick=1.8, corner=4)
            sheet.text(MIDDLE, y + 18, name, anchor="middle")
        sheet.text(MIDDLE + WIDE / 2 + 12, y + 18, detail, size=13, ink="muted" if ink != "compute" else "compute")
        sheet.text(MIDDLE + 10, y + ROW - 4, shape, size=13, ink="muted")
    y = TOP + ROW * len(rows)
    sheet.arrow((MIDDLE, y - 14), (MIDDLE, y + 12), "muted", 1.2, head=5)
    sheet.text(MIDDLE + 10, y + 12, f"to the next of {GPT2_XL.layers} blocks", size=13, ink="muted")
    return Drawing(
        sheet,
        f"A block of GPT-2 XL from top to bottom. A table of T rows and {h:,} columns is normalized, multiplied to "
        f"queries, keys and values of {3 * h:,} columns, which {heads} heads of {size} turn into T by T scores and "
        f"back; after the output product the input is added. Then a norm, a product up to {f:,} columns, a GELU, a "
        f"product down, and the sum before is added. The four products have {million['qkv']:.1f}, "
        f"{million['out']:.1f}, {million['up']:.1f} and {million['up']:.1f} million weights.",
    )

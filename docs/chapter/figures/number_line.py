"""The numbers of a format just above 1, closer and closer: which bit is the last that it has?"""

from explorable.figures.drawing import Drawing
from explorable.figures.moving import Control, Drag, Reading
from explorable.figures.sketch import Sketch
from ironlaw.numerics import FloatFormat, float_format

TITLES = {"fp32": "FP32", "fp16": "FP16", "bf16": "BF16", "fp8-e4m3": "E4M3", "fp8-e5m2": "E5M2"}
BITS = tuple(range(1, 24))
"""Of the fraction, from the largest: the k-th is worth 2 to the power of -k."""
LEFT, RIGHT, LINE, BITS_TOP = 22, 418, 74, 112
MOST_TICKS = 129
"""More stand closer than a screen can show."""

CONTROLS = (
    Control("form", "Format", tuple(TITLES), tuple(TITLES.values()), "bf16", buttons=True),
    Control("bit", "Zoom to bit", BITS, tuple(f"{bit} of the fraction" for bit in BITS), 4),
)
DRAG = Drag("bit", LEFT, RIGHT)
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def draw(form: str, bit: int) -> Drawing:
    """A line from 1 with every number of the format on it, and the bits of 1 plus the one that is asked for."""
    chosen = float_format(form)
    step = 2.0**-bit
    wide = 2 * step
    count = int(wide / chosen.ulp(1.0)) + 1
    value = chosen.round(1.0 + step)
    sheet = Sketch(178)

    def at(number: float) -> float:
        return LEFT + (RIGHT - LEFT) * (number - 1) / wide

    sheet.line([(LEFT, LINE), (RIGHT, LINE)], "control", 1.4)
    if count <= MOST_TICKS:
        for place in range(count):
            x = at(1.0 + place * chosen.ulp(1.0))
            sheet.line([(x, LINE - 13), (x, LINE + 13)], "memory", 2.4 if count < 20 else 1)
    else:
        sheet.rect(LEFT, LINE - 13, RIGHT - LEFT, 26, fill="surface")
        sheet.rect(LEFT, LINE - 13, RIGHT - LEFT, 26, fill="memory", faint=0.35)
        sheet.text((LEFT + RIGHT) / 2, LINE, f"{count:,} numbers", anchor="middle")
    worth = f"2{str(-bit).translate(SUPERSCRIPT)}"
    sheet.text(LEFT, LINE + 26, "1", anchor="middle", ink="muted")
    sheet.text((LEFT + RIGHT) / 2, LINE + 26, f"1 + {worth}", anchor="middle", ink="muted")
    exact = value == 1.0 + step
    ink = "compute" if exact else "limit"
    sheet.arrow(((LEFT + RIGHT) / 2, 22), (at(value), LINE - 17), ink, 2)
    words = f"1 + {worth} is one of them" if exact else f"1 + {worth} becomes {'1' if value == 1 else 'another number'}"
    sheet.text((LEFT + RIGHT) / 2, 10, words, anchor="middle", ink=ink, bold=True)
    _bits(sheet, chosen, bit)
    return Drawing(
        sheet,
        f"The numbers of {TITLES[form]} from 1 to 1 plus 2 to the power of {1 - bit}: {count:,} of them. "
        f"{words}. The format has {chosen.fraction_bits} bits of fraction.",
        (
            Reading("Distance of neighbors above 1", f"{chosen.ulp(1.0):.3g}"),
            Reading("Bits of fraction", f"{chosen.fraction_bits}"),
        ),
    )


def _bits(sheet: Sketch, form: FloatFormat, bit: int) -> None:
    """Sign, exponent and fraction as boxes; the bit in question is filled, or missing."""
    total = 1 + form.exponent_bits + max(form.fraction_bits, bit)
    side = min(16.0, (RIGHT - LEFT) / total)
    x, y = float(LEFT), BITS_TOP + 14
    exponent = 2 ** (form.exponent_bits - 1) - 1
    pattern = "0" + format(exponent, f"0{form.exponent_bits}b")
    for place in range(total):
        fraction = place - form.exponent_bits
        ink = "data" if place == 0 else "optimizer" if fraction <= 0 else "memory"
        missing = fraction > form.fraction_bits
        asked = fraction == bit
        fill = ("limit" if missing else "memory") if asked else "bg"
        sheet.rect(x, y, side - 1, 22, fill=fill, line="limit" if missing else ink, dashed=missing, faint=0.9)
        if side > 9:
            text = ("1" if asked else "") if missing else pattern[place] if fraction <= 0 else ("1" if asked else "0")
            sheet.text(x + side / 2 - 0.5, y + 11, text, anchor="middle", size=12.8, ink="bg" if asked else "fg")
        x += side
    where = LEFT + side * (1 + form.exponent_bits)
    sheet.text(LEFT, y + 36, "sign, exponent", size=12.8, ink="muted")
    sheet.text(max(where, LEFT + 108), y + 36, "fraction", size=12.8, ink="muted")

"""The colors of the site keep their contrast: WCAG 2 ratios of the custom properties, in both schemes and in print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CSS = Path(__file__).parents[2] / "book/theme/overrides/assets/css"
TEXT = ("fg", "muted", "data", "memory", "compute", "limit", "optimizer", "focus")
MARKS = ("memory-2", "memory-3", "optimizer-2", "activation", "passing", "control")
BASES = {"data": "#cc5500", "memory": "#006395", "compute": "#008f45", "limit": "#cb202d"}


def properties(selector: str) -> dict[str, str]:
    """The --il colors declared for a selector, by name."""
    css = re.sub(r"/\*.*?\*/", "", (CSS / "tokens.css").read_text(encoding="utf-8"), flags=re.DOTALL)
    found: dict[str, str] = {}
    for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", css):
        if selector in [one.strip() for one in selectors.split(",")]:
            found |= dict(re.findall(r"--il-([a-z0-9-]+):\s*(#[0-9a-f]{6});", body))
    return found


SCHEMES = {
    "light": properties('[data-md-color-scheme="default"]'),
    "dark": properties('[data-md-color-scheme="slate"]'),
}


def channels(color: str) -> tuple[float, float, float]:
    """Linear red, green and blue of #rrggbb."""
    srgb = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in srgb)
    return red, green, blue


def contrast(one: str, other: str) -> float:
    """WCAG 2 contrast ratio of two colors."""
    lightness = []
    for color in (one, other):
        red, green, blue = channels(color)
        lightness.append(0.2126 * red + 0.7152 * green + 0.0722 * blue)
    return (max(lightness) + 0.05) / (min(lightness) + 0.05)


def hue(color: str) -> float:
    """Hue in degrees."""
    red, green, blue = (int(color[start : start + 2], 16) for start in (1, 3, 5))
    high, low = max(red, green, blue), min(red, green, blue)
    if high == red:
        return 60 * ((green - blue) / (high - low) % 6)
    if high == green:
        return 60 * ((blue - red) / (high - low) + 2)
    return 60 * ((red - green) / (high - low) + 4)


def test_black_on_white_has_the_largest_contrast() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


def test_both_schemes_declare_the_same_colors() -> None:
    assert SCHEMES["light"].keys() == SCHEMES["dark"].keys()
    assert {*TEXT, *MARKS, "bg", "surface", "border"} == SCHEMES["light"].keys()


@pytest.mark.parametrize("ground", ["bg", "surface"])
@pytest.mark.parametrize("name", TEXT)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_text_colors_reach_4_5_to_1(scheme: str, name: str, ground: str) -> None:
    colors = SCHEMES[scheme]
    assert contrast(colors[name], colors[ground]) >= 4.5


@pytest.mark.parametrize("ground", ["bg", "surface"])
@pytest.mark.parametrize("name", MARKS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_marks_reach_3_to_1(scheme: str, name: str, ground: str) -> None:
    colors = SCHEMES[scheme]
    assert contrast(colors[name], colors[ground]) >= 3


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_meaning_keeps_its_hue_in_both_schemes(scheme: str, name: str) -> None:
    turn = abs(hue(SCHEMES[scheme][name]) - hue(BASES[name]))
    assert min(turn, 360 - turn) <= 15


@pytest.mark.parametrize("other", ["memory", "data", "activation", "control", "optimizer"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_passing_tensors_are_told_from_other_parts_of_memory_by_lightness_alone(scheme: str, other: str) -> None:
    assert contrast(SCHEMES[scheme]["passing"], SCHEMES[scheme][other]) >= 1.35


def test_optimizer_state_is_violet_in_both_schemes() -> None:
    assert all(255 <= hue(SCHEMES[scheme][name]) <= 285 for scheme in SCHEMES for name in ("optimizer", "optimizer-2"))

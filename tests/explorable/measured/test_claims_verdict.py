"""The rule that turns a source's value and a computed one into a verdict."""

from __future__ import annotations

from decimal import Decimal

import pytest

from explorable.measured.claims.verdict import Stated, Tolerance, judge

EXACT = Tolerance("exact", 1, 1.1, "A count.")
PRINTED = Tolerance("printed", None, 1.1, "Rounded.")
ABOUT = Tolerance("about", 1.05, 1.25, "Roughly.")
LIMIT = Tolerance("limit", 1, None, "A bound.")


def number(text: str) -> Stated:
    """What a source prints as a single number."""
    return Stated(Decimal(text), Decimal(text))


@pytest.mark.parametrize(
    ("stated", "tolerance", "computed", "verdict"),
    [
        (number("12"), PRINTED, 12.46, "confirmed"),
        (number("12.0"), PRINTED, 12.46, "refined"),
        (number("12"), PRINTED, 14.0, "contradicted"),
        (number("48"), EXACT, 48, "confirmed"),
        (number("48"), EXACT, 49, "refined"),
        (number("48"), EXACT, 96, "contradicted"),
        (number("32"), ABOUT, 33.2, "confirmed"),
        (number("37"), ABOUT, 43.5, "refined"),
        (number("89"), ABOUT, 354, "contradicted"),
        (Stated(Decimal(2), Decimal(3)), EXACT, 2.5, "confirmed"),
        (Stated(Decimal(2), Decimal(3)), EXACT, 3.2, "refined"),
        (Stated(Decimal(2), Decimal(3)), EXACT, 16, "contradicted"),
        (Stated(Decimal(90), None), LIMIT, 90, "confirmed"),
        (Stated(Decimal(90), None), LIMIT, 86.9, "contradicted"),
        (Stated(None, Decimal(80)), LIMIT, 79.9, "confirmed"),
        (Stated(None, Decimal(80)), LIMIT, 80.1, "contradicted"),
        (number("1E+20"), Tolerance("order", 3, 10, "A power of ten."), 1.7e19, "refined"),
        (number("-6"), ABOUT, -6.2, "confirmed"),
        (number("0"), ABOUT, 0.001, "contradicted"),
    ],
)
def test_a_value_is_judged_by_its_tolerance(
    stated: Stated, tolerance: Tolerance, computed: float, verdict: str
) -> None:
    assert judge(stated, tolerance, computed) == verdict


@pytest.mark.parametrize(
    ("computed", "also", "verdict"),
    [(3, 3, "confirmed"), (3, 4, "refined"), (4, 3, "refined"), (5, 6, "contradicted")],
)
def test_what_holds_in_one_of_two_readings_is_refined(computed: float, also: float, verdict: str) -> None:
    assert judge(number("3"), EXACT, computed, also) == verdict


def test_rounding_errors_of_floating_point_decide_nothing() -> None:
    assert judge(number("0.3"), LIMIT, 0.1 + 0.2) == "confirmed"


@pytest.mark.parametrize(
    ("stated", "text"),
    [
        (number("12.0"), "12.0"),
        (number("1557611200"), "1,557,611,200"),
        (number("1.5E+9"), "1.5 × 10⁹"),
        (number("6E-8"), "6 × 10⁻⁸"),
        (Stated(Decimal(2), Decimal(4)), "2–4"),
        (Stated(Decimal(90), None), "≥ 90"),
        (Stated(None, Decimal("0.5")), "≤ 0.5"),
    ],
)
def test_a_source_is_quoted_with_its_own_digits(stated: Stated, text: str) -> None:
    assert stated.text == text

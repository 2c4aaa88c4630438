"""The calibration: a band around every prediction, wide where no published run is near, and cheap to ask."""

from __future__ import annotations

import ast
import math
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ironlaw.calibration
from ironlaw.calibration import KINDS, Features, calibrate, coefficients, doublings, gpu_family, number_group

FEATURES = st.builds(
    Features,
    family=st.sampled_from(["data-center", "geforce", "tpu-v5p"]),
    devices=st.integers(1, 10**6),
    execution=st.sampled_from(["eager", "compiled"]),
    numbers=st.sampled_from(["fp8", "16-bit", "fp32"]),
    software=st.sampled_from(["torch", "megatron", "deepspeed", "own"]),
)
KNOWN = Features("data-center", 8, "compiled")


def well_known(kind: str) -> Features:
    """What most published runs of a kind have in common."""
    cell = max(coefficients()[kind].cells, key=lambda cell: cell.runs)
    return Features(cell.family, round(8 * 2**cell.doublings), cell.execution, cell.numbers, cell.software)


def width(kind: str, features: Features) -> float:
    made = calibrate(kind, 1.0, features)
    return math.log(made.high / made.low)


@given(st.sampled_from(KINDS), st.floats(1e-6, 1e15), FEATURES)
def test_the_band_holds_the_expected_value_in_its_middle(kind: str, value: float, features: Features) -> None:
    made = calibrate(kind, value, features)
    assert made.low < made.expected < made.high
    assert made.low * made.high == pytest.approx(made.expected**2)
    assert 0 <= made.sources <= made.runs


@given(st.sampled_from(KINDS), FEATURES)
def test_experience_is_a_factor_whatever_the_unit(kind: str, features: Features) -> None:
    one, thousand = calibrate(kind, 1.0, features), calibrate(kind, 1000.0, features)
    assert thousand.expected == pytest.approx(1000 * one.expected)
    assert thousand.high == pytest.approx(1000 * one.high)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "change", [{"family": "tpu-v9"}, {"execution": "by hand"}, {"numbers": "posit"}, {"software": "own"}]
)
def test_a_value_that_no_run_has_widens_the_band_and_leaves_no_run_near(kind: str, change: dict[str, str]) -> None:
    known = well_known(kind)
    strange = replace(known, **change)  # type: ignore[arg-type]
    assert width(kind, strange) > width(kind, known)
    assert calibrate(kind, 1.0, known).runs > 0
    assert calibrate(kind, 1.0, strange).runs == 0


@pytest.mark.parametrize("kind", KINDS)
def test_far_more_devices_than_any_run_had_widen_the_band(kind: str) -> None:
    most = max(cell.doublings for cell in coefficients()[kind].cells)
    far = replace(KNOWN, devices=8 * 2 ** (math.ceil(most) + 5))
    assert width(kind, far) > width(kind, replace(KNOWN, devices=8 * 2 ** math.floor(most)))
    assert calibrate(kind, 1.0, far).runs == 0


def test_runs_and_sources_near_are_counted() -> None:
    model = coefficients()["time"]
    words = ("data-center", "compiled", "16-bit", "torch")
    cells = [c for c in model.cells if (c.family, c.execution, c.numbers, c.software) == words]
    near = [c for c in cells if c.doublings <= 2]
    made = calibrate("time", 1.0, KNOWN)
    assert made.runs == sum(c.runs for c in near)
    assert made.sources == len({number for c in near for number in c.sources})


def test_every_covariance_is_whole_and_every_variance_positive() -> None:
    for model in coefficients().values():
        size = range(len(model.terms))
        assert [len(model.mean), *map(len, model.covariance)] == [len(size)] * (len(size) + 1)
        assert all(model.covariance[i][j] == model.covariance[j][i] for i in size for j in size)
        assert min(model.between, model.between_slope, model.within, *(model.covariance[i][i] for i in size)) > 0


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("h100-sxm", "data-center"),
        ("b200", "data-center"),
        ("v100-16", "data-center"),
        ("rtx-4090", "geforce"),
        ("rtx-4060-laptop", "geforce"),
        ("rtx-a6000", "rtx-a6000"),
        ("tpu-v4", "tpu-v4"),
    ],
)
def test_families_follow_from_names(name: str, family: str) -> None:
    assert gpu_family(name) == family


def test_numbers_and_doublings_are_read_from_plain_values() -> None:
    assert [number_group(p) for p in ("fp8", "fp32", "tf32", "amp-bf16", "mixed")] == [
        "fp8",
        "fp32",
        "fp32",
        "16-bit",
        "16-bit",
    ]
    assert [doublings(n) for n in (1, 8, 16, 64)] == [0, 0, 1, 3]


@pytest.mark.parametrize(
    ("kind", "value", "message"), [("speed", 1.0, "allowed: time, allocated"), ("time", -1.0, "allowed: 0 or more")]
)
def test_what_cannot_be_calibrated_is_refused_in_a_line(kind: str, value: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        calibrate(kind, value, KNOWN)


def test_a_run_has_a_device() -> None:
    with pytest.raises(ValueError, match="devices is 0, allowed: 1 or more"):
        Features("geforce", 0)


def test_the_calibration_imports_the_standard_library_and_itself_only() -> None:
    for path in Path(ironlaw.calibration.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert name.startswith("ironlaw.calibration") or name.partition(".")[0] in sys.stdlib_module_names

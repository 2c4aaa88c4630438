"""The file of a card: as the schema has it, by the ceilings that records carry, and it says what is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import torch

from gpu_bench.__main__ import main
from gpu_bench.measure import card, roofline
from gpu_bench.measure.unsupported import UnsupportedError

SCHEMA = Path(__file__).parents[3] / "plugins/explorable/measured/ceilings/schema.json"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(roofline.SQUARE, "cpu", 64)
    monkeypatch.setitem(card.COPIED, "cpu", 2**16)
    monkeypatch.setitem(roofline.BUSY_S, "cpu", 0.001)


def checked(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text("utf-8"))).validate(document)
    return document


def test_a_cpu_is_measured_into_a_file_that_meets_the_schema(
    small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "card.json"
    asked = ["card", "--device", "cpu", "--out", str(file), "--contributor", "Ada", "--link", "https://example.org/ada"]
    assert main(asked) == 0
    document = checked(file.read_text("utf-8"))
    assert [one["format"] for one in document["products"]] == ["fp32", "fp16", "bf16"]
    assert {one[side] for one in document["products"] for side in "mnk"} == {64}
    assert [one["bytes"] for one in document["copies"]] == [2**16]
    assert (document["card"], document["tensor_cores"], document["place"]) == ("", False, "shell")
    assert document["contributor"] == {"name": "Ada", "link": "https://example.org/ada"}
    assert str(file) in capsys.readouterr().out


def test_a_copy_counts_what_is_read_and_what_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roofline, "timed_rounds", lambda *_: [2.0, 0.5, 1.0])
    assert roofline.copy_ceiling(torch.device("cpu"), 4096) == 2 * 4096 / 1.0


def test_what_a_device_lacks_is_left_out_and_said(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def products(device: torch.device, name: str, shapes: Any) -> list[dict[str, Any]]:
        if name == "fp16":
            raise UnsupportedError("fp16 needs another device")
        return roofline.matmul_ceilings(device, name, shapes)

    monkeypatch.setattr(card, "matmul_ceilings", products)
    said: list[str] = []
    document = checked(card.measure("cpu", None, said.append))
    assert [one["format"] for one in document["products"]] == ["fp32", "bf16"]
    assert said == ["fp16 left out: fp16 needs another device"]


def test_a_fault_is_no_missing_part(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> float:
        raise RuntimeError("shapes cannot be multiplied")

    monkeypatch.setattr(card, "copy_ceiling", broken)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        card.measure("cpu", None, lambda line: None)

"""Records: loaded, checked, indexed, read by path with the unit of the schema."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace
from typing import Any

import pytest

from explorable.measured.errors import MeasuredError
from explorable.measured.values import recorded
from explorable.measured.values.recorded import Records
from gpu_bench.record.checks import inconsistencies
from tests.explorable.measured.made import ROOT, Site, document

ADAM, SGD = "gpt2-nano-fp32-adam", "gpt2-nano-fp32-sgd"


def load(site: Site) -> Records:
    return recorded.load(site.folder / "results", site.folder)


def test_every_committed_record_is_valid() -> None:
    loaded = recorded.load(ROOT / "gpu_bench/results", ROOT)
    assert loaded.records
    assert [str(defect) for defect in loaded.defects] == []


def test_a_value_carries_the_unit_of_the_schema(site: Site) -> None:
    site.record(document(ADAM))
    record = load(site).one(f"smoke/{ADAM}")
    units = {
        "summary.step_s.median": "s",
        "samples.step_s.0.3": "s",
        "samples.step_s[0][3]": "s",
        "memory.held.optimizer.exp_avg": "B",
        "summary.tokens_per_s.iqr": "token/s",
        "case.batch": "1",
        "provenance.torch": None,
    }
    assert {path: record.number(path).unit for path in units} == units
    assert record.at("memory.held.optimizer.exp_avg") == 4 * 3290624


def test_a_sampled_quantity_stands_for_its_median(site: Site) -> None:
    site.record(document(ADAM, seconds=2.0))
    record = load(site).one(f"smoke/{ADAM}")
    sampled = record.number("summary.step_s")
    assert sampled == record.number("summary.step_s.median")
    assert (sampled.value, sampled.unit) == (record.at("summary.step_s.median"), "s")
    assert sampled.n == 60
    assert sampled.iqr == pytest.approx(0.04, rel=1e-4)
    assert record.number("memory.peak").n is None


def test_a_file_with_the_same_content_is_judged_once_and_another_content_again(site: Site) -> None:
    file = site.record(document(ADAM))
    (first,) = load(site).records
    (again,) = load(site).records
    assert again is first
    file.write_text(file.read_text("utf-8").replace('"dirty": false', '"dirty": true'), "utf-8")
    (changed,) = load(site).records
    assert changed.source == f"{first.source} with local changes"
    file.write_text("{", "utf-8")
    assert load(site).records == ()


def test_a_record_cannot_be_changed(site: Site) -> None:
    site.record(document(ADAM))
    record: Any = load(site).one(f"smoke/{ADAM}")
    with pytest.raises(TypeError):
        record.document["status"] = "oom"
    with pytest.raises(TypeError):
        record.at("samples.step_s")[0][0] = 1.0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("smok/x", "perhaps 'smoke' is meant"),
        ("smoke/gpt2-nano-fp32-adm", f"perhaps '{ADAM}' is meant"),
        (ADAM, "is not a record; write suite/case"),
        (f"smoke/{SGD}", "several devices"),
    ],
)
def test_a_record_that_is_not_there_is_named_with_what_is(site: Site, name: str, message: str) -> None:
    site.record(document(ADAM))
    site.record(document(SGD))
    site.record(document(SGD, device="rtx-4090"))
    with pytest.raises(MeasuredError) as caught:
        load(site).one(name)
    assert message in str(caught.value)


def test_a_device_in_the_name_chooses_among_several(site: Site) -> None:
    site.record(document(SGD))
    site.record(document(SGD, device="rtx-4090"))
    assert load(site).one(f"smoke/{SGD}--rtx-4090").device == "rtx-4090"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("summary.step_s.medain", "no 'medain' in summary.step_s; perhaps 'median' is meant"),
        ("sumary.step_s", "perhaps 'summary' is meant"),
        ("samples.step_s.9", "it has 3 items"),
        ("memory.peak.x", "memory.peak is a single value"),
        ("memory.cuda.context.x", "memory.cuda.context is null"),
        ("memory.held", "group of values"),
    ],
)
def test_a_path_that_leads_nowhere_says_what_is_there(site: Site, path: str, message: str) -> None:
    site.record(document(ADAM))
    with pytest.raises(MeasuredError) as caught:
        load(site).one(f"smoke/{ADAM}").number(path)
    assert message in str(caught.value)


def test_a_record_that_breaks_the_schema_is_a_defect_with_file_and_json_pointer(site: Site) -> None:
    made = document(ADAM)
    made["samples"]["step_s"][0][3] = "sixty"
    site.record(made)
    loaded = load(site)
    assert loaded.records == ()
    (defect,) = loaded.defects
    assert defect.file == f"results/smoke/{ADAM}--nvidia-h200.json"
    assert "at /samples/step_s/0/3: 'sixty' is not of type number" in str(defect)


def test_a_record_edited_by_hand_is_a_defect(site: Site) -> None:
    made = document(ADAM)
    made["summary"] = {"step_s": {"median": 0.1}}
    site.record(made)
    defect, *_ = load(site).defects
    assert "at /summary: no record states it, because it follows from other values" in str(defect)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("smoke/x--y.json", "{", "not valid JSON"),
        ("smoke/x.json", "{}", "'schema_version' is a required property"),
        ("x--y.json", "[]", "not a JSON object"),
    ],
)
def test_a_file_that_is_no_record_is_a_defect(site: Site, name: str, text: str, message: str) -> None:
    file = site.folder / "results" / name
    file.parent.mkdir(parents=True)
    file.write_text(text, "utf-8")
    assert any(message in str(defect) for defect in load(site).defects)


def test_a_link_or_a_pipe_in_the_place_of_a_record_is_never_opened(site: Site) -> None:
    """A link to /dev/zero took all memory, and a pipe was waited for without end."""
    file = site.record(document(ADAM))
    file.with_name("zero--cpu.json").symlink_to("/dev/zero")
    file.with_name("copy--cpu.json").symlink_to(file)
    os.mkfifo(file.with_name("pipe--cpu.json"))
    loaded = load(site)
    assert [record.case for record in loaded.records] == [ADAM]
    said = [str(defect) for defect in loaded.defects]
    assert len(said) == 3
    assert all("a record is a file, no link and no device" in one for one in said)


class _Any:
    """A reader of a book that checks nothing."""

    def checked(self, text: bytes, place: str) -> tuple[dict[str, Any], tuple[str, ...]]:
        return json.loads(text), ()


def test_what_no_reader_checks_is_shown_without_marks_and_never_calculated_with(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded, "current", lambda: SimpleNamespace(records=_Any()))
    record = document(ADAM)
    record["device"]["name"] = "GPU\u202e 5"
    record["provenance"] |= {"git_commit": 5, "finished": "2026-\u202e11-30T"}
    file = site.folder / "results/smoke/some--cpu.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(record), "utf-8")
    (shown,) = load(site).records
    assert shown.source == "GPU 5, 2026-11-30"
    record["case"]["batch"] = 10**400
    file.write_text(json.dumps(record), "utf-8")
    (defect,) = load(site).defects
    assert "a number has more than 256 bits" in str(defect)


def test_records_made_for_tests_meet_the_real_schema() -> None:
    for status in ("ok", "oom"):
        assert inconsistencies(document(ADAM, status=status)) == []


def test_how_a_run_ended_is_said_in_the_words_of_the_toolkit_or_of_the_book() -> None:
    said = [recorded.ended(status) for status in ("ok", "oom", "diverged", "unheard of")]
    assert said == ["", "out of memory", "the loss diverged", "unheard of"]

"""A record is that of its case: all its points in their order, or all its runs, under their names and settings."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_bench.cases.kinds import case_from_dict
from gpu_bench.cases.suites import SUITES
from gpu_bench.distributed.case import ScalingCase
from gpu_bench.input_pipeline.case import TokenizeCase
from gpu_bench.machine import provenance
from gpu_bench.measure.data import encode
from gpu_bench.record import load
from gpu_bench.record.plan_checks import plan_faults, planned_points
from gpu_bench.record.store import RESULTS
from gpu_bench.run import admission, job

Record = dict[str, Any]
Change = Callable[[Record], object]
COPY, TOKENIZE, DIGITS, BATCH, LINEAR, UNDERFLOW = (
    f"{name}--cpu-amd-epyc-2c.json"
    for name in ("roofline/roofline-copy", "pipeline/pipeline-tokenize", "hybrid/hybrid-digits",
                 "failures/failure-large-batch", "failures/failure-linear-scaling", "failures/failure-underflow")
)  # fmt: skip


def _read(file: str) -> Record:
    record: Record = json.loads((RESULTS / file).read_text(encoding="utf-8"))
    return record


def _written(record: Record, file: str, folder: Path) -> Path:
    (folder / file).parent.mkdir(parents=True)
    (folder / file).write_text(json.dumps(record), encoding="utf-8")
    return folder


def _larger(record: Record) -> None:
    """A bandwidth that nothing has: the last copy is of twice the bytes."""
    record["points"][-1]["settings"]["size"] *= 2


def _out_of_memory(*places: int) -> Change:
    def change(record: Record) -> None:
        for place in places:
            point = record["points"][place]
            point |= {"status": "oom", "message": "out of memory", "samples_s": [[] for _ in point["samples_s"]]}
            point["memory_peak"] = None

    return change


def _samples(change: Callable[[list[float]], list[float]]) -> Change:
    def forge(record: Record) -> None:
        for point in record["points"]:
            point["samples_s"] = [change(row) for row in point["samples_s"]]

    return forge


def _ended(status: str, *places: int) -> Change:
    """Points that were not measured, all of them where no place is named."""

    def change(record: Record) -> None:
        for place in places or range(len(record["points"])):
            point = record["points"][place]
            point |= {"status": status, "message": "no", "samples_s": [[] for _ in point["samples_s"]]}

    return change


def _first_repeat(record: Record) -> None:
    for point in record["points"]:
        point["samples_s"][1:] = [[] for _ in point["samples_s"][1:]]


def _tokens(each: float, more: int = 0) -> Change:
    def change(record: Record) -> None:
        for point in record["points"]:
            point["work"]["tokens"] = int(point["work"]["bytes"] * each) + more

    return change


def _tested(run: str, loss: float | None) -> Change:
    def change(record: Record) -> None:
        for one in record["arms"]["runs"][run]["seeds"]:
            one["test"] = {"loss": loss, "accuracy": 1.0}

    return change


def _swapped(block: str, first: int, other: int) -> Change:
    def change(record: Record) -> None:
        points = record["points"]
        points[first][block], points[other][block] = points[other][block], points[first][block]

    return change


def _point(index: int, block: str, **values: Any) -> Change:
    return lambda record: record["points"][index][block].update(values)


def _labelled(index: int, label: str) -> Change:
    return lambda record: record["points"][index].update(label=label)


def _without(*indices: int) -> Change:
    def change(record: Record) -> None:
        record["points"] = [one for index, one in enumerate(record["points"]) if index not in indices]

    return change


def _reversed(record: Record) -> None:
    record["points"].reverse()


def _only(*names: str) -> Change:
    def change(record: Record) -> None:
        runs = record["arms"]["runs"]
        record["arms"]["runs"] = {name: run for name, run in runs.items() if name in names}

    return change


def _renamed(name: str, other: str) -> Change:
    def change(record: Record) -> None:
        runs = record["arms"]["runs"]
        runs[other] = runs.pop(name)

    return change


def _seeds_swapped(name: str, other: str) -> Change:
    def change(record: Record) -> None:
        one, two = (record["arms"]["runs"][each] for each in (name, other))
        one["seeds"], two["seeds"] = two["seeds"], one["seeds"]

    return change


def _runs_swapped(name: str, other: str) -> Change:
    def change(record: Record) -> None:
        runs = record["arms"]["runs"]
        runs[name], runs[other] = runs[other], runs[name]

    return change


def _set(run: str, **settings: Any) -> Change:
    return lambda record: record["arms"]["runs"][run]["settings"].update(settings)


def _worse(record: Record) -> None:
    record["arms"]["worse"] = 1.5


def _first_loss(record: Record) -> None:
    record["arms"]["runs"]["batch-128"]["seeds"][0]["curves"]["loss"][0] = 2.2


FORGED: list[tuple[str, Change, str]] = [
    (COPY, _larger, "point 'copy 4294967296 B': settings.size is 8589934592; the case has 4294967296"),
    (COPY, _swapped("label", 7, 8), "points are not in the order of the case: 'copy 65536 B', 'copy 262144 B'"),
    (COPY, _reversed, "points are not in the order of the case: 'copy 4294967296 B'"),
    (COPY, _without(3), "there are 8 points, without 'copy 4194304 B'; the case has 9 on that machine"),
    (COPY, _without(*range(8)), "there are 1 points, without 'copy 65536 B', 'copy 262144 B', 'copy 1048576 B' and 5"),
    (COPY, _labelled(2, "copy 7 B"), "there are 9 points, without 'copy 1048576 B'; the case has 9"),
    (COPY, _point(0, "settings", size=True), "point 'copy 65536 B': settings.size is True; the case has 65536"),
    (COPY, _point(0, "settings", pinned=True), "settings.pinned is True; the case has no such setting"),
    (TOKENIZE, _without(1, 2), "there are 1 points, without '2 processes, words met before', '1 process, from an"),
    (TOKENIZE, _labelled(1, "4 processes, words met before"), "without '2 processes, words met before'; the case has"),
    (TOKENIZE, _point(1, "settings", processes=4), "settings.processes is 4; the case has 2"),
    (TOKENIZE, _point(0, "work", bytes=2621440), "work.bytes is 2621440; allowed: 262144"),
    (TOKENIZE, _point(0, "work", tokens=None), "work.tokens is None; allowed: more than 0"),
    (DIGITS, _only("plain", "linear-fit"), "arms.runs has no 'plain-momentum', 'fewer-steps', 'fewer-steps-2x-rate'"),
    (DIGITS, _renamed("linear-fit", "miracle"), "arms.runs has no 'linear-fit'; the case has 16 runs"),
    (DIGITS, _runs_swapped("linear-fit", "mean-update"), "'linear-fit': settings.predictor is 'mean-update'; the case"),
    (BATCH, _only("batch-16", "batch-128-8x-warmup"), "arms.runs has no 'batch-128', 'batch-128-8x'; the case has 4"),
    (BATCH, _renamed("batch-128", "batch-9999"), "arms.runs has no 'batch-128'; the case has 4 runs"),
    (BATCH, _runs_swapped("batch-128", "batch-128-8x"), "arms.runs: 'batch-128': settings.role is 'cure'; the case"),
    (BATCH, _set("batch-128", learning_rate=0.2), "settings.learning_rate is 0.2; the case has 0.1"),
    (BATCH, _first_loss, "seed 1234: the first losses of runs 'batch-128' and 'batch-128-8x' are 2.2 and 2.3151"),
    (LINEAR, _seeds_swapped("batch-128-8x-warmup", "batch-128-8x-warmup-clipped"), "its curves are loss, norm; allow"),
    (UNDERFLOW, _seeds_swapped("fp32", "bf16"), "its histograms are of steps [0, 100, 300]; allowed: []"),
    (BATCH, _worse, "arms.worse is 1.5; the case has 3.0"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "change", "told"), FORGED)
def test_what_is_not_a_record_of_the_case_is_not_admitted(file: str, change: Change, told: str, tmp_path: Path) -> None:
    """Whatever it says of its sources: the committed records are of earlier ones."""
    record = _read(file)
    change(record)
    assert load.faults(load.parse(json.dumps(record).encode())) == [], "else this test shows nothing"
    found, faults = admission.admit(_written(record, file, tmp_path))
    assert found == []
    assert told in " / ".join(faults)
    assert all("\n" not in fault for fault in faults)


@pytest.mark.parametrize(("file", "change", "told"), FORGED[::4])
def test_a_record_that_says_it_is_of_these_sources_is_not_valid_either(file: str, change: Change, told: str) -> None:
    record = _read(file)
    record["provenance"]["sources"] = provenance.source_hash()
    assert load.faults(load.parse(json.dumps(record).encode())) == []
    change(record)
    assert told in " / ".join(load.faults(load.parse(json.dumps(record).encode())))


def test_a_first_record_of_a_device_is_held_to_the_case_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is committed that it could be compared with."""
    record = _read(COPY)
    _without(*range(8))(record)
    record["points"][-1]["settings"]["size"] *= 8
    asked = job.JobSettings("auto", tmp_path / "committed", tmp_path / "out")
    assert job.admit(_written(record, COPY, tmp_path / "records"), asked) == 1
    told = capsys.readouterr().out
    assert told.startswith("roofline/'roofline-copy--cpu-amd-epyc-2c.json': there are 1 points, without")
    assert told.endswith("refused: 1 faults, so none of 0 records is taken\n")
    assert not (tmp_path / "out").exists()


def _failed(record: Record) -> None:
    """The last copy had no room, as the runner writes it."""
    point = record["points"][-1]
    point |= {"status": "oom", "message": "out of memory", "samples_s": [[] for _ in point["samples_s"]]}


@pytest.mark.parametrize(("file", "change"), [(COPY, _failed), (TOKENIZE, lambda record: None)])
def test_points_that_were_not_possible_are_points_of_the_case(file: str, change: Change, tmp_path: Path) -> None:
    record = _read(file)
    change(record)
    found, faults = admission.admit(_written(record, file, tmp_path))
    assert faults == []
    assert len(found) == 1


def test_committed_records_are_those_of_their_cases() -> None:
    """Of those cases that are still what they were."""
    held = 0
    for file in sorted(RESULTS.rglob("*.json")):
        record, _ = load.read(file, RESULTS)
        assert record is not None
        case = next((one for one in SUITES[record["suite"]] if one.as_dict() == record["case"]), None)
        if case is not None:
            held += record["points"] is not None or record["arms"] is not None
            assert [*plan_faults(case, record)] == [], file
    assert held >= 10


@pytest.mark.parametrize(
    ("file", "index", "work", "told"),
    [
        (COPY, 0, {"bytes": 10}, "work.bytes: no record states it, because it follows from the point's settings"),
        (COPY, 1, {"tokens": 5}, "work.tokens is none of a roofline case; allowed: flops, bytes"),
        (TOKENIZE, 0, {"flops": 10**15}, "work.flops is none of a tokenize case; allowed: bytes, tokens"),
    ],
)
def test_work_that_a_kind_of_case_does_not_have_is_refused_whatever_the_sources(
    file: str, index: int, work: dict[str, int], told: str
) -> None:
    record = _read(file)
    record["points"][index]["work"].update(work)
    label = record["points"][index]["label"]
    assert load.faults(load.parse(json.dumps(record).encode())) == [f"point {label!r}: {told}"]


def test_a_copy_of_other_sizes_is_held_to_its_own_case() -> None:
    """`--set sizes=…` makes a case of another name, whose record tells of its own points."""
    record = _read(COPY)
    record["case"] |= {"name": "roofline-copy-sizes-65536", "sizes": [65536]}
    record["points"] = record["points"][:1]
    record["provenance"]["sources"] = provenance.source_hash()
    assert load.faults(load.parse(json.dumps(record).encode())) == []


@pytest.mark.parametrize(("cores", "counts"), [(1, [1, 1]), (3, [1, 2, 1]), (64, [1, 2, 4, 8, 16, 1]), (None, [1, 1])])
def test_a_machine_encodes_with_as_many_processes_as_it_has_cores(cores: int | None, counts: list[int]) -> None:
    case = TokenizeCase(name="words")
    planned = planned_points(case, {"provenance": {"cores": cores}})
    assert [one.settings["processes"] for one in planned] == counts


def test_of_a_text_that_may_end_early_the_bytes_are_what_was_measured() -> None:
    case = TokenizeCase(name="words", processes=(1, 2), chunk=2**20)
    assert [one.work["bytes"] for one in case.points(2)] == [2**20, 2**21, 2**20]
    longer = replace(case, processes=(1, 64))
    assert [one.work["bytes"] for one in longer.points(2)] == [None, None]


SCALING = next(case for case in SUITES["scaling"] if isinstance(case, ScalingCase))


def _view(counts: list[int], nodes: int, **more: Any) -> Record:
    """What is read of a scaling record: its points and its machine."""
    points = [SCALING.point(count, nodes) for count in counts]
    return {
        "device": {"type": "cuda"},
        "provenance": {"cores": 8},
        "points": [
            {"label": one.label, "settings": dict(one.settings), "work": {**one.work, "flops": 1, "bytes": None}}
            for one in points
        ],
        "arms": None,
        **more,
    }


@pytest.mark.parametrize(
    ("counts", "nodes", "device", "told"),
    [
        ([1, 2], 1, "cuda", None),
        ([1, 2, 4, 8], 1, "cuda", None),
        ([1, 4, 8], 4, "cuda", None),
        ([1], 1, "cuda", "there are 1 points, without '2 processes'; the case has 2 on that machine"),
        ([1, 4, 8], 1, "cuda", "there are 3 points, without '2 processes'; the case has 3 on that machine"),
        ([1, 2, 4, 8], 1, "cpu", None),
        ([1, 2, 4], 1, "cpu", "there are 3 points, without '8 processes'; the case has 4 on that machine"),
        ([1, 2, 4, 8, 16], 1, "cpu", "there are points '16 processes'; allowed: the 4 of the case on that machine"),
        ([1, 2, 4, 8, 16], 2, "cpu", None),
    ],
)
def test_scaling_goes_as_far_as_a_machine_has_devices(
    counts: list[int], nodes: int, device: str, told: str | None
) -> None:
    view = _view(counts, nodes, device={"type": device})
    assert [*plan_faults(SCALING, view)] == ([] if told is None else [told])


def test_every_case_with_points_tells_its_points_apart() -> None:
    cases = [case_from_dict(case.as_dict()) for cases in SUITES.values() for case in cases]
    held = 0
    for case in cases:
        planned = planned_points(case, _view([1, 2], 1))
        labels, settings = [one.label for one in planned], [json.dumps({**one.settings}) for one in planned]
        assert len({*labels}) == len({*settings}) == len(planned), case.name
        held += bool(planned)
    assert held >= 9


CONTRADICTIONS: list[tuple[str, Change, str]] = [
    (COPY, _swapped("samples_s", 8, 6), "which is less"),
    (COPY, _swapped("settings", 7, 8), "which is less"),
    (COPY, _out_of_memory(0, 3), "point 'copy 65536 B' ran out of memory, and 'copy 262144 B' did not"),
    (COPY, _out_of_memory(*range(9)), "every point ran out of memory, and so nothing was measured"),
    (COPY, _samples(lambda row: row[:1]), "point 'copy 65536 B' has 1 samples of a repeat; the case takes 20"),
    (COPY, _samples(lambda row: [*row, 1e-3]), "point 'copy 65536 B' has 21 samples of a repeat; the case takes 20"),
    (COPY, _first_repeat, "point 'copy 65536 B' has 0, 20 samples of a repeat; the case takes 20"),
    (COPY, _ended("error"), "no point was measured: every one failed"),
    (COPY, _ended("error", 8), "is error, which no such point of a roofline case can be"),
    (COPY, _ended("unsupported", 8), "is unsupported, which no such point of a roofline case can be"),
    (TOKENIZE, _samples(lambda row: row[:1]), "has 1 samples of a repeat; the case takes 10"),
    (TOKENIZE, _ended("oom", 1), "is oom, which no such point of a tokenize case can be"),
    (TOKENIZE, _tokens(5), "point '1 process, words met before' makes 1310720 tokens of 262144 B of text"),
    (TOKENIZE, _tokens(1, 1), "point '2 processes, words met before' makes 524289 tokens of 524288 B of text"),
    (DIGITS, _tested("linear-fit", 50.0), "its loss is 50 where all are told right; at most 2.3 is possible"),
    (DIGITS, _tested("linear-fit", None), "its loss is not finite where all are told right"),
]


@pytest.mark.parametrize(("file", "change", "told"), CONTRADICTIONS)
def test_a_record_that_contradicts_itself_is_faulty(file: str, change: Change, told: str, tmp_path: Path) -> None:
    """Whatever its sources and its device are."""
    record = _read(file)
    change(record)
    _, faults = load.read(_written(record, file, tmp_path) / file, tmp_path)
    assert any(told in fault for fault in faults), faults


@given(st.one_of(st.binary(max_size=12), st.text(max_size=8).map(str.encode).map(lambda text: text[1:])))
def test_no_text_gives_more_tokens_than_bytes(text: bytes) -> None:
    """Not even one that is cut within a character: the replacement character, of three bytes, is one token."""
    assert len(encode(text)) <= len(text)

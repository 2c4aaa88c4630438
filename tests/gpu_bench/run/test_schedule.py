"""The runner and a plan share one schedule: what a plan promises is what a run finishes, whatever the pace."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpu_bench.__main__ import main
from gpu_bench.cases.case import Case, TrainingCase
from gpu_bench.cases.first_hour import HOURS
from gpu_bench.cases.kinds import RooflineCase, case_from_dict
from gpu_bench.cases.sizes import SIZES, config_of
from gpu_bench.cases.suites import find_cases
from gpu_bench.predict import durations
from gpu_bench.predict.room import needed_memory, why_not
from gpu_bench.run import runner
from gpu_bench.run.forecast import forecast
from gpu_bench.run.isolation import Place
from gpu_bench.run.plan import Job, Settings
from gpu_bench.run.schedule import Schedule, grouped
from ironlaw import accelerator
from ironlaw.hardware.accelerators import DRIVER_NAMES
from tests.gpu_bench.tiny import tiny_case

H200 = "NVIDIA H200"
HOUR_S = 1500.0
CONTEXT: dict[str, Any] = {
    "device": {"type": "cuda", "name": H200, "slug": "nvidia-h200", "memory": 150 * 10**9},
    "device_count": 1,
    "software": {},
    "machine": {"python": "3.12", "host": "simulated"},
    "code": {"sources": "simulated"},
}


@dataclass
class Simulated:
    """A machine on which every repeat takes its predicted time, times a factor, by a clock that stands otherwise."""

    factor: float
    clock: float = 0.0
    started: list[tuple[str, float]] = field(default_factory=list)
    _next: tuple[int, Case, int, float] | None = None

    def places(self) -> Sequence[Place]:
        return (Place("simulated", CONTEXT),)

    def submit(self, ticket: int, place: Place, order: Mapping[str, Any], limit_s: float, devices: int) -> None:
        self._next = (ticket, case_from_dict(order["case"]), order["repeat"], limit_s)
        self.started.append((order["case"]["name"], self.clock))

    def collect(self) -> Sequence[tuple[int, dict[str, Any]]]:
        if self._next is None:
            return ()
        (ticket, case, repeat, limit_s), self._next = self._next, None
        told = durations.duration_of(case, H200)
        seconds = self.factor * (told.later if repeat else told.first)
        self.clock += min(seconds, limit_s)
        return ((ticket, {"status": "ok" if seconds <= limit_s else "timeout", "message": "too slow"}),)

    def close(self) -> None:
        pass


def _run(
    cases: Sequence[tuple[str, Case]], factor: float, budgets: Sequence[float], out: Path, patch: pytest.MonkeyPatch
) -> tuple[list[str], Simulated]:
    """The names of what the runner finishes, in their order, and the machine that it ran on."""
    machine, finished = Simulated(factor), []

    def finish(job: Job, context: Any, settings: Settings, progress: Any) -> bool:
        good = all(part["status"] == "ok" for part in job.parts)
        finished.extend([job.case.name] * good)
        return good

    patch.setattr(runner, "LocalExecutor", lambda *made: machine)
    patch.setattr(runner, "time", SimpleNamespace(monotonic=lambda: machine.clock))
    patch.setattr(runner, "_finish", finish)
    patch.setattr(runner, "_line", lambda job, part: job.case.name)
    for budget in budgets:
        began = machine.clock
        left = [(suite, case) for suite, case in cases if case.name not in finished]
        runner.run(left, Settings("cuda", out, budget_s=budget))
        machine.clock = began + budget
    return finished, machine


@pytest.mark.parametrize("budgets", [(HOUR_S,), (520.0, 520.0, 460.0)], ids=["whole", "in three"])
@pytest.mark.parametrize("factor", [0.8, 1.0, 1.3])
@pytest.mark.sampled(4)
def test_what_a_plan_promises_a_run_finishes(
    factor: float, budgets: tuple[float, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = find_cases("first-hour", ())
    finished, machine = _run(cases, factor, budgets, tmp_path, monkeypatch)
    promised = [one for one in forecast(cases, H200, budgets, factor) if one.ends is not None]
    assert finished == [one.case.name for one in sorted(promised, key=lambda one: one.ends or 0.0)]
    assert [name for name, _ in machine.started[:2]] == ["hour-memory-sgd", "hour-1558m-fp8"]
    records = [one for one in promised if not one.case.check]
    print(f"{factor} x the predicted times, {budgets} s: {len(records)} records, checks not counted")
    assert len(records) >= (8 if factor > 1 else 10)
    begun = [at for _, at in machine.started[:3]]
    assert all(after - before <= 90 * factor for before, after in itertools.pairwise(begun)), "90 s for each check"


def test_an_hour_begins_with_the_checks_and_goes_on_group_by_group() -> None:
    order = sorted(
        (one for one in forecast(find_cases("first-hour", ()), H200, (10_000.0,)) if one.starts is not None),
        key=lambda one: one.starts or 0.0,
    )
    assert [one.case.name for one in order] == [
        "hour-memory-sgd",
        "hour-1558m-fp8",
        "hour-products",
        "hour-1558m-plain",
        "hour-1558m-bf16",
        "validation-124m-baseline",
        "validation-124m-mixed",
        "validation-124m-together",
        "validation-355m-together",
        "hour-fit-16gb-1558m",
        "hour-memory-adamw",
        "hour-124m-plain",
        "hour-124m-bf16",
        "hybrid-memory-gpt2",
    ]


@dataclass
class One:
    """A task of which nothing is predicted."""

    case: Case
    done: int = 0
    slug: str = "cpu"
    device: str | None = None

    @property
    def over(self) -> bool:
        return self.done >= self.case.repeats


def _order(tasks: Sequence[One], seconds: Mapping[str, float], budget: float | None) -> str:
    schedule, left, order = Schedule(tasks), budget, ""
    for name, took in seconds.items():
        for task in tasks:
            if task.case.name == name:
                schedule.begin(task)
                schedule.end(task, took)
    while (turn := schedule.next(left)) is not None:
        took = seconds[turn.case.name]
        schedule.begin(turn)
        schedule.end(turn, took)
        turn.done += 1
        left = None if left is None else left - took
        order += turn.case.name
    return order


def _tasks(*names: str, repeats: int = 2) -> list[One]:
    """Tasks, each with the one before in its name as control: `ab` is b against a."""
    return [One(tiny_case(name[-1], against=name[:-1], repeats=repeats)) for name in names]


def test_one_group_takes_turns_and_the_next_waits() -> None:
    each = dict.fromkeys("abcde", 10.0)
    assert _order(_tasks("a", "ab", "bc", "d", "de"), each, None) == "abccba" + "deed"


def test_what_does_not_fit_is_passed_over_for_what_does() -> None:
    seconds = {"a": 100.0, "b": 10.0}
    assert _order(_tasks("a", "b"), seconds, 50.0) == "bb"
    assert _order(_tasks("a", "b"), seconds, 150.0) == "bba", "what is then left is begun, for the next run"
    assert _order(_tasks("a", "ab", "c"), {"a": 100.0, "b": 10.0, "c": 10.0}, 90.0) == "ccbb"


def test_of_a_group_that_does_not_fit_a_control_is_finished_with_what_it_controls() -> None:
    """Six cases by turns, A B C D E F and back, would have finished none of them in this time."""
    each = dict.fromkeys("abcdef", 10.0)
    order = _order(_tasks("a", "ab", "ac", "ad", "ae", "af"), each, 65.0)
    assert order == "abccba"


def test_a_chain_of_comparisons_is_cut_and_a_star_is_not() -> None:
    chain = _tasks("a", "ab", "bc", "cd", "de", "ef")
    assert ["".join(task.case.name for task in group) for group in grouped(chain)] == ["abcd", "ef"]
    star = _tasks("a", "ab", "ac", "ad", "ae", "af")
    assert ["".join(task.case.name for task in group) for group in grouped(star)] == ["abcdef"]


@pytest.mark.parametrize("name", ["rtx-4090", "rtx-5080", "a100-80", "h200", "v100-32"])
@pytest.mark.sampled(2)
def test_a_plan_promises_only_what_a_card_can_run(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--budget", "100000", "--gpu", name]) == 0
    said = capsys.readouterr().out
    gpu = next(long for long, short in DRIVER_NAMES.items() if short == name)
    promised = [line.split()[0].split("/")[1] for line in said.splitlines() if re.match(r"[a-z-]+/", line)]
    cases = {case.name: case for _, case in find_cases("all", ())}
    assert len(promised) >= 3
    for one in promised:
        assert needed_memory(cases[one]) <= accelerator(name).usable_bytes
        assert why_not(cases[one], gpu) is None
    left_out = {line.split(":")[0].removeprefix("LEFT OUT ") for line in said.splitlines() if "LEFT OUT" in line}
    assert len(left_out) == {"a100-80": 1, "v100-32": 10}.get(name, 0), "an A100 has no FP8, a V100 no BF16 either"
    assert not any("GB" in line for line in said.splitlines() if "LEFT OUT" in line), "batches fit the cards"


@pytest.mark.parametrize("name", ["b200", "h200", "h100-sxm", "h100-nvl"])
@pytest.mark.sampled(2)
def test_the_guide_promises_what_these_cards_finish(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--budget", f"{HOUR_S:.0f}", "--gpu", name]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    found = re.fullmatch(r"(\d+) of \d+ cases end in time, (\d+) if everything takes 1\.3 x as long; .*", last)
    assert found, last
    assert int(found[1]) >= 10
    assert int(found[2]) >= 8


@pytest.mark.parametrize("hour", [hour for hour in HOURS if hour.startswith("first-hour")])
def test_an_hour_speaks_of_what_its_own_card_trains(hour: str) -> None:
    cases = {case.name: case for _, case in find_cases(hour, ())}
    (best,) = (case for name, case in cases.items() if re.fullmatch(r"hour-.*(355m|1558m)-bf16", name))
    (products,) = (case for case in cases.values() if isinstance(case, RooflineCase))
    assert isinstance(best, TrainingCase)
    assert ("1.5 billion" in best.reason) == (hour == "first-hour")
    size = SIZES[best.model]
    shapes = {(best.batch * best.sequence, n * size.hidden, k * size.hidden) for n, k in ((3, 1), (4, 1), (1, 4))}
    assert shapes <= set(products.products()), "the shapes that this hour trains"
    assert (best.batch * best.sequence, config_of(best).vocab, size.hidden) in products.products()


def test_the_hour_of_the_largest_cards_is_not_promised_to_smaller_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--budget", "100000", "--gpu", "rtx-4090", "--suite", "first-hour"]) == 0
    said = capsys.readouterr().out
    assert "LEFT OUT hour-1558m-bf16: needs 113 GB, the device has 25 GB" in said
    assert "first-hour/hour-1558m-bf16" not in said
    assert main(["plan", "--budget", "100", "--gpu", "rtx-4060"]) == 2
    assert "a card of 8 GB has no first hour" in capsys.readouterr().err

"""Whether a measured record is that of its case as this checkout has it: the same points in the same order, or runs.

Which points a case has, what they are called and which runs are compared is of the sources, and no record states it.
So `validate` asks only records that these very sources made: an older one, whose label was worded otherwise or whose
case had a run less, stays what it was. `admit` asks every record, whatever it says of its sources: it takes in what
will stand under the cases of this checkout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpu_bench.cases.case import Case
from gpu_bench.cases.kinds import AttentionCase, RooflineCase
from gpu_bench.cases.planned import PlannedPoint
from gpu_bench.distributed.case import ScalingCase
from gpu_bench.experiments.failures.case import FailureCase
from gpu_bench.experiments.hybrid.case import HybridCase
from gpu_bench.input_pipeline.case import LoaderCase, TokenizeCase
from gpu_bench.record.starts import starts_faults


def plan_faults(case: Case, record: Mapping[str, Any]) -> Iterator[str]:
    """What is not as these sources plan it, in the view of a record of this case (`derive.py`), a line each.

    A record that has no result, and one of a kind of case whose parts the case itself states, has no such faults.
    """
    if record["points"] is not None:
        yield from _points_faults(planned_points(case, record), record["points"])
    elif record["arms"] is not None and isinstance(case, FailureCase | HybridCase):
        differing = list(_arms_faults(case, record["arms"]))
        yield from differing
        if isinstance(case, FailureCase) and not differing:
            yield from starts_faults(case, record["arms"]["runs"])


def planned_points(case: Case, record: Mapping[str, Any]) -> tuple[PlannedPoint, ...]:
    """The points that the case has on the machine of a record; none for a kind of case that has no points."""
    match case:
        case AttentionCase() | RooflineCase() | LoaderCase():
            return case.points()
        case TokenizeCase():
            return case.points(record["provenance"]["cores"] or 1)
        case ScalingCase():
            return _scaling_points(case, record)
        case _:
            return ()


def _scaling_points(case: ScalingCase, record: Mapping[str, Any]) -> tuple[PlannedPoint, ...]:
    """The points of a scaling case: as many processes as there are devices.

    Of a CPU the record says how many it has. How many GPUs there were it does not say: at least as many as the case
    occupies, and then as many as the record has points for.
    """
    points, cores = record["points"], record["provenance"]["cores"]
    told = points[-1]["settings"].get("nodes")
    nodes = told if type(told) is int and told > 0 else 1
    if record["device"]["type"] == "cpu" and cores is not None:
        counts = case.fitting(cores * nodes, nodes)
    else:
        possible = case.fitting(case.processes[-1], nodes)
        counts = possible[: max(len(points), len(case.fitting(case.devices, nodes)))]
    return tuple(case.point(count, nodes) for count in counts)


def _points_faults(planned: Sequence[PlannedPoint], points: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Whether the points are those that are planned, in their order; points that were not possible are among them."""
    labels, wanted = [point["label"] for point in points], [one.label for one in planned]
    there, known = {*labels}, {*wanted}
    if missing := [label for label in wanted if label not in there]:
        yield f"there are {len(points)} points, without {_named(missing)}; the case has {len(planned)} on that machine"
    elif strange := [label for label in labels if label not in known]:
        yield f"there are points {_named(strange)}; allowed: the {len(planned)} of the case on that machine"
    elif labels != wanted:
        yield f"points are not in the order of the case: {_named(labels)}; allowed: {_named(wanted)}"
    else:
        for one, point in zip(planned, points, strict=True):
            yield from _point_faults(one, point)


def _point_faults(planned: PlannedPoint, point: Mapping[str, Any]) -> Iterator[str]:
    yield from _differing(f"point {planned.label!r}: settings", point["settings"], planned.settings)
    for name, amount in point["work"].items():
        wanted = planned.work.get(name)
        if (amount is None) != (name not in planned.work) or (wanted is not None and amount != wanted):
            allowed = "more than 0" if wanted is None and name in planned.work else wanted
            yield f"point {planned.label!r}: work.{name} is {amount}; allowed: {allowed}"


def _arms_faults(case: FailureCase | HybridCase, arms: Mapping[str, Any]) -> Iterator[str]:
    """Whether the runs have the names and the settings of the case's, and are judged as the case has it."""
    runs, planned = arms["runs"], {name: one.as_dict() for name, one in case.arms.items()}
    if missing := [name for name in planned if name not in runs]:
        yield f"arms.runs has no {_named(missing)}; the case has {len(planned)} runs"
    if strange := [name for name in runs if name not in planned]:
        yield f"arms.runs has {_named(strange)}; allowed: {_named([*planned])}"
    for name, settings in planned.items():
        if name in runs:
            yield from _differing(f"arms.runs: {name!r}: settings", runs[name]["settings"], settings)
    if isinstance(case, FailureCase) and arms["worse"] != case.worse:
        yield f"arms.worse is {arms['worse']}; the case has {case.worse}"


def _differing(where: str, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    """One line for each setting that has another value; `true` is no 1."""
    for name in dict.fromkeys((*wanted, *found)):
        if name not in wanted:
            yield f"{where}.{name} is {found[name]!r}; the case has no such setting"
        elif name not in found:
            yield f"{where}.{name} is missing; the case has {wanted[name]!r}"
        elif found[name] != wanted[name] or isinstance(found[name], bool) != isinstance(wanted[name], bool):
            yield f"{where}.{name} is {found[name]!r}; the case has {wanted[name]!r}"


_MOST_NAMED = 3


def _named(names: Sequence[str]) -> str:
    """The first of the names, and how many more there are."""
    more = len(names) - _MOST_NAMED
    return ", ".join(map(repr, names[:_MOST_NAMED])) + (f" and {more} more" if more > 0 else "")

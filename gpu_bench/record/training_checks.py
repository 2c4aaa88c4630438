"""What must hold of a training record: its parts belong together, and none is beyond what physics allows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import ironlaw
from gpu_bench.cases.case import SHORTEST_ENERGY_S, TrainingCase
from gpu_bench.cases.sizes import config_of, product_shapes
from gpu_bench.machine import provenance
from gpu_bench.machine.chips import chip_of, compute_format
from gpu_bench.predict.prediction import predict, shape_of
from gpu_bench.record import bounds, floors
from gpu_bench.record.judgement import guessing
from gpu_bench.record.repeated import copied
from gpu_bench.record.spread import LAST, LONGEST_WARMUP, STEADY, narrow, variation

_STATES: Mapping[str, tuple[str, ...]] = {
    "sgd": (),
    "momentum": ("momentum_buffer",),
    "adam": ("exp_avg", "exp_avg_sq"),
    "adamw": ("exp_avg", "exp_avg_sq"),
}
"""State vectors that are as long as the parameters."""
_SQUARES = range(16, 16385)
_FASTER_THAN_ITS_PRODUCTS = 1.02
"""The ceilings are measured after the steps, when the clock may be a little lower."""
_PRICES = 5.0
"""Within which factor of the engine's price of today that of another day lies."""
_SURE_LOSS = 0.05
"""Share of the loss of guessing below which no model comes on text that it has not seen before."""


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, in which a later one is larger."""
    return tuple(int(part) for part in version.split("."))


def training_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with a measured training case, with everything derived in it."""
    yield from _sample_faults(case, record)
    yield from _warmup_faults(case, record)
    yield from _compile_faults(case, record)
    yield from _ceiling_faults(case, record)
    yield from _speed_faults(case, record)
    yield from _loss_faults(case, record)
    yield from _course_faults(case, record)
    yield from _model_faults(case, record)
    yield from _memory_faults(case, record)
    yield from _energy_faults(record)
    yield from _price_faults(record)


def _sample_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    samples = record["samples"]
    steps = [len(row) for row in samples["step_s"]]
    exact = not case.timed_s
    if len(steps) != case.repeats or any(n < case.steps or (exact and n != case.steps) for n in steps):
        yield f"samples are not {case.repeats} repeats of {case.steps} steps"
        return
    lengths = {len(samples["warmup_s"]), len(samples["warmup_settled"]), *map(len, record["compile"].values())}
    if {*lengths, len(record["loss"]["diverged_at"])} != {case.repeats}:
        yield f"warm-up, compilation and losses are not those of {case.repeats} repeats"
        return
    if any(sum(row) < case.timed_s and not narrow(row) for row in samples["step_s"]):
        yield f"timed steps are shorter than {case.timed_s} s, and their median is not known well enough"
    yield from copied(samples["step_s"], "steps")
    yield from copied(samples["warmup_s"], "warm-up steps")
    for row, warm, repeat in zip(samples["step_s"], samples["warmup_s"], record["provenance"]["repeats"], strict=False):
        if sum(row) + sum(warm) > provenance.lasted(repeat):
            yield f"steps of {sum(row) + sum(warm):.1f} s do not fit into a repeat of {provenance.lasted(repeat):.0f} s"


def _warmup_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    """Whether warm-up ended as `clock.warm_up` ends it."""
    samples, graphs, steady = record["samples"], record["compile"]["graphs"], STEADY[record["device"]["type"]]
    for row, settled, compiled in zip(samples["warmup_s"], samples["warmup_settled"], graphs, strict=False):
        calm = len(row) >= LAST and variation(row[-LAST:]) < steady
        longest = (LONGEST_WARMUP * case.warmup, LONGEST_WARMUP * case.warm_s)
        if settled and not (calm and len(row) >= case.warmup and sum(row) >= case.warm_s):
            yield "warm-up counts as settled, and its steps are too few, too short or not steady"
        if not settled and (len(row) < longest[0] or sum(row) < longest[1] or (calm and not compiled)):
            yield "warm-up counts as not settled, and its steps are steady, or more should have followed"


def _compile_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    found = record["compile"]
    for seconds, graphs, warm in zip(found["seconds"], found["graphs"], record["samples"]["warmup_s"], strict=False):
        if (seconds is None) != (graphs == 0):
            yield f"{graphs} graphs took {seconds} s to compile"
        if seconds is not None and seconds > sum(warm):
            yield f"compiling took {seconds} s of a warm-up of {sum(warm)} s"
    eager = case.compile == "none" and case.update != "flat"
    if eager and any((*found["graphs"], *found["graphs_while_timed"])):
        yield "graphs were compiled in a case that compiles nothing"


def _ceiling_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    """Whether the products are those that a case measures, and none is faster than the device."""
    ceilings, own = record["ceilings"], compute_format(case.precision)
    forms = ("bf16", "fp8") if own == "fp8" else (own,)
    if {one["format"] for one in ceilings} != {*forms}:
        yield f"products were measured in {sorted({one['format'] for one in ceilings})}; the case needs {forms}"
    square = ceilings[-1]["m"] if ceilings else None
    # Records of version 2 kept the fastest product alone, without its shape.
    if record["provenance"]["sources"] is not None and square is not None and square in _SQUARES:
        shapes = product_shapes(case, square)
        asked = [(f, *s, fast) for f in forms for s in shapes for fast in ((True, False) if f == "fp8" else (None,))]
        found = [tuple(one[name] for name in ("format", "m", "n", "k", "fast_accumulation")) for one in ceilings]
        if found != asked:
            yield f"ceilings are {len(found)} products, and not the {len(asked)} of the case's shapes"
    elif record["provenance"]["sources"] is not None:
        yield "ceilings have no product of a square"
    for one in ceilings:
        most = bounds.flops_per_s(record, one["format"])
        if one["flops_per_s"] > most:
            yield f"a product of {one['flops_per_s']:.3g} FLOP/s in {one['format']}; no such device passes {most:.3g}"


def _speed_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    """Whether steps are slower than their products, and than what they must move."""
    used, moves = record["utilization"], bounds.bytes_per_s(record["device"])
    ceilings = {"fp8": used["fp8_matmul_ceiling"], used["peak_format"]: used["matmul_ceiling"]}

    def measured(form: str) -> float:
        return _FASTER_THAN_ITS_PRODUCTS * (ceilings.get(form) or math.inf)

    step = record["summary"]["step_s"]["median"]
    if step < (least := floors.step_seconds(case, measured, moves)):
        yield f"a step takes {step:.3g} s, its products at their ceilings and its update {least:.3g} s"
    fastest = min(map(min, record["samples"]["step_s"]))
    if fastest < (least := floors.step_seconds(case, partial(bounds.flops_per_s, record), moves)):
        yield f"a step takes {fastest:.3g} s; no step is faster than its device, which needs {least:.3g} s"


def _energy_faults(record: Mapping[str, Any]) -> Iterator[str]:
    energy, summary = record["energy"], record["summary"]
    if energy["energy_j"] is None or energy["steps"] is None or energy["window_s"] is None:
        if {energy[name] for name in ("energy_j", "steps", "window_s")} != {None}:
            yield "energy has joules, steps and seconds only together"
        return
    if record["device"]["type"] == "cpu":
        yield "energy is that of a GPU"
    took = energy["steps"] * summary["step_s"]["median"]
    if energy["window_s"] < SHORTEST_ENERGY_S or not 0.5 < took / energy["window_s"] < 2:
        yield f"energy: {energy['steps']} steps do not take the {energy['window_s']:.0f} s of its window"
    limit = record["device"]["power_limit_w"] or bounds.watts(record["device"])
    state = record["provenance"]["repeats"][0]["gpu"]
    seen = state["power_w"]["mean"] if state and state["power_w"] else None
    power = energy["mean_power_w"]
    if not 0.02 * limit < power <= 1.1 * limit:
        yield f"energy.mean_power_w is {power:.0f} W, the limit {limit:.0f} W"
    if seen is not None and not 0.5 < power / seen < 2:
        yield f"energy.mean_power_w is {power:.0f} W, and while steps were timed it was {seen:.0f} W"


def _price_faults(record: Mapping[str, Any]) -> Iterator[str]:
    """A price is that of the engine, which is asked again, or of an engine of another day."""
    cost, chip = record["cost"], chip_of(record["device"]["name"])
    rent = chip.rent if chip else None
    if cost is None:
        return
    if rent is None:
        yield "cost is there, and the engine has no price of the device"
    elif record["provenance"]["sources"] == provenance.source_hash():
        if (cost["usd_per_hour"], cost["source"], cost["date"]) != (rent.dollars, rent.source.url, rent.source.date):
            yield f"cost is {cost['usd_per_hour']} USD/hour, the engine's price {rent.dollars}"
    elif not 1 / _PRICES < cost["usd_per_hour"] / rent.dollars < _PRICES:
        yield f"cost is {cost['usd_per_hour']} USD/hour, the engine's price of today {rent.dollars}"


def _loss_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    loss, samples, guess = record["loss"], record["samples"], guessing(case)
    steps, curve = len(samples["warmup_s"][0]) + len(samples["step_s"][0]), loss["curve"]
    if len(curve) != steps:
        yield f"the loss curve has {len(curve)} points for {steps} steps"
    if case.repeats == 1 and not loss["same_in_all_repeats"]:
        yield "loss.same_in_all_repeats is said of one repeat"
    if loss["same_in_all_repeats"] and len({at is None for at in loss["diverged_at"]}) > 1:
        yield "all repeats gave the same losses, and only some diverged"
    # Freshly initialized, a model knows next to nothing: its loss is that of guessing.
    if curve[0] is not None and not 0.7 * guess < curve[0] < 1.5 * guess:
        yield f"the first loss is {curve[0]}; guessing among {config_of(case).vocab} tokens costs {guess:.2f}"
    least = min((one for one in curve if one is not None), default=guess)
    if least < _SURE_LOSS * guess:
        yield f"a loss is {least}; guessing costs {guess:.2f}, and the text is new to the model"
    same = sum(one is not None and one == before for before, one in pairwise(curve))
    if len(curve) > 3 and same > 0.5 * (len(curve) - 1):
        yield f"{same} of {len(curve)} losses are the same as the one before"


def _course_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    course = record["course"]
    if (course is None) != (not case.validate_every):
        yield f"course belongs to a case that validates; validate_every is {case.validate_every}"
    if course is None:
        return
    points, losses = course["points"], [point["validation_loss"] for point in course["points"]]
    if len(points) * case.validate_every != case.steps:
        yield f"course.points are {len(points)}, not one for every {case.validate_every} of {case.steps} steps"
    if len(course["gradient_norms"]) != len(record["samples"]["step_s"][0]):
        yield "course.gradient_norms are not those of the timed steps"
    if record["status"] != "diverged" and {norm is None for norm in course["gradient_norms"]} != {not case.clip_norm}:
        yield "course.gradient_norms are there where gradients are clipped, and only there"
    guess, last = guessing(case), record["loss"]["last_five_mean"]
    if record["status"] != "diverged" and any(loss is None or not 0.05 * guess < loss < 2 * guess for loss in losses):
        yield f"a validation loss is not finite, or far from what text costs; guessing costs {guess:.2f}"
    if losses[-1] is not None and last is not None and not 0.6 < losses[-1] / last < 2:
        yield f"the last validation loss is {losses[-1]:.3g}, the last training losses {last:.3g}"
    for point in points:
        held, asked, most_bytes = point["allocated"], point["reserved"], record["device"]["memory"] or math.inf
        if (held is None) != (record["device"]["type"] == "cpu") or (held is None) != (asked is None):
            yield "course.points have the memory of a GPU, and only of a GPU"
        elif held is not None and not held <= asked <= most_bytes:
            yield f"course.points hold {held} B of {asked} B"


def _model_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    counted, known = record["model"]["parameters"], shape_of(case, padded=True).parameters
    # The model of somebody else's package may count the position table, or a head, otherwise.
    near = counted == known if case.implementation == "own" else 0.9 < counted / known < 1.1
    if not near:
        yield f"the model has {counted} parameters, by the case it has {known}"
    data = record["data"]
    if data["files"] > data["bytes"] or data["bytes"] > 2**33:
        yield f"data has {data['files']} files in {data['bytes']} B"
    if not case.sequence < data["tokens"] <= data["bytes"]:
        yield f"data has {data['tokens']} tokens in {data['bytes']} B"
    pairs = "byte pairs" in data["tokenizer"]
    # A part of the text that is held back for validation is not trained on.
    whole = data["tokens"] == data["bytes"] or bool(case.validate_every)
    if pairs != (config_of(case).vocab > 50_000) or (not pairs and not whole):
        yield "data.tokenizer is not that of the model's vocabulary, or of the tokens"
    ran = record["attention_ran"]
    if ran is not None:
        if (ran == ["standard"]) != (case.attention == "standard"):
            yield f"attention_ran is {ran}, the case's form is {case.attention}"
        # Kernels without a name in the profile are not checked.
        if case.attention_kernel != "auto" and ran and case.attention_kernel not in ran:
            yield f"attention_ran is {ran}, the case asks for {case.attention_kernel}"


def _memory_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    memory, held, peak = record["memory"], record["memory"]["held"], record["memory"]["peak"]
    if abs(memory["at_peak"]["remainder"]) > memory["tolerance"]:
        yield f"memory components sum to {memory['at_peak']['remainder']} B less than the peak, {peak} B"
    if (least := floors.peak_bytes(case)) > peak:
        yield f"memory.peak is {peak} B; weights, states and what the backward pass needs are {least} B"
    for name in ("parameters", "activations", "cast_weights"):
        if held[name] > peak:
            yield f"memory.held.{name} is {held[name]} B above the peak, {peak} B"
    if held["activations"] < (least := floors.kept_bytes(case)):
        yield f"memory.held.activations is {held['activations']} B; what enters the blocks is {least} B"
    yield from _state_faults(case, record)
    device, limit = record["device"]["memory"], case.memory_limit
    if (device is not None and peak > device) or (limit and peak > limit):
        yield f"memory.peak is {peak} B, more than there is"
    cuda, of_gpu = memory["cuda"], record["device"]["type"] == "cuda"
    if (cuda is not None) != of_gpu:
        yield "memory.cuda belongs to a GPU"
    if cuda is not None:
        asked, process = cuda["reserved_peak"], cuda["process"]
        if not peak <= asked <= (device or math.inf):
            yield "memory.cuda.reserved_peak is not between what was allocated and what there is"
        if process is not None and process > (device or math.inf):
            yield f"memory.cuda.process is {process} B, more than there is"
        if cuda["active_peak"] is not None and not 0.5 * peak < cuda["active_peak"] <= asked:
            yield f"memory.cuda.active_peak is {cuda['active_peak']} B of {asked} B"


def _state_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    memory, held = record["memory"], record["memory"]["held"]
    weights, states = floors.weight_bytes(case), floors.state_bytes(case)
    most = floors.rounded(weights, case)
    for name, size in (("held", held["parameters"]), ("at_peak", memory["at_peak"]["parameters"])):
        if size < weights:
            yield f"memory.{name}.parameters is {size} B, the weights are {weights} B"
    total, alive = held["optimizer_total"], memory["at_peak"]["optimizer_state"]
    if total < states:
        yield f"the state of {case.optimizer} is {total} B, at least {states} B are needed"
    # Long vectors, graphs and copies in other formats hold the same numbers in other places.
    plain = case.implementation == "own" and case.update != "flat" and not case.step_graph
    if not plain or case.precision.endswith(("master", "rounded")):
        return
    if max(held["parameters"], memory["at_peak"]["parameters"]) > most:
        yield f"memory of the parameters is above {weights} B"
    in_backward = case.optimizer_in_backward
    if held["gradients"] > most or (not in_backward and held["gradients"] < weights):
        yield f"memory of the gradients is {held['gradients']} B, that of the parameters {weights} B"
    if alive > floors.rounded(total, case):
        yield f"{alive} B of optimizer state are alive at the peak, and there are {total} B"
    if case.optimizer in _STATES:
        vectors = {name: size for name, size in held["optimizer"].items() if name != "step"}
        lengths = all(weights <= size <= most for size in vectors.values())
        if {*vectors} != {*_STATES[case.optimizer]} or not lengths or held["optimizer"].get("step", 0) > 2**20:
            yield f"the state of {case.optimizer} is {vectors}"
    elif total > floors.rounded(2 * weights, case):
        yield f"the state of {case.optimizer} is larger than two copies of the weights"


def prediction_faults(case: TrainingCase, record: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the engine's prediction, which a record has whether or not the case could run."""
    told, now = record["predicted"], record["predicted_today"]
    memory, weights = told["memory"], floors.weight_bytes(case)
    if memory is not None and not 0.9 < memory["parameters"] / weights < 1.1:
        yield f"predicted.memory.parameters is {memory['parameters']} B, by the case it is {weights} B"
    if memory is not None and any(value > memory["peak"] for value in memory.values()):
        yield "predicted.memory has a part that is larger than its peak"
    if numbers(told["engine_version"]) > numbers(ironlaw.__version__):
        yield f"predicted.engine_version is {told['engine_version']}, which is still to come"
    if record["provenance"]["sources"] == provenance.source_hash():
        if told != predict(case, record["device"]):
            yield "predicted is not what the engine predicts"
        return
    # A prediction stands as an earlier engine made it; one that is far from the present engine's was made by none.
    one, other = told["step_s"], now["step_s"]
    if one is not None and (other is None or not 0.4 < one / other < 2.5):
        yield f"predicted.step_s is {one}, the engine predicts {other}"
    for name, value in (memory or {}).items():
        today = (now["memory"] or {}).get(name)
        if today is None or not 0.5 * today - 2**20 <= value <= 2 * today + 2**20:
            yield f"predicted.memory.{name} is {value}, the engine predicts {today}"

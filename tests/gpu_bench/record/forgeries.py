"""Forged records: each claims something that was not measured, and leaves all else as a careful forger would.

A record states nothing that follows from other values, so what is derived is recomputed whenever a forgery is read.
Every forgery draws its size: a test tries hundreds, and counts those that pass.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Record = dict[str, Any]
Forge = Callable[[Record, random.Random], object]


@dataclass(frozen=True)
class Forgery:
    """A kind of forgery: what it claims, and how it changes a record of those kinds of case.

    Attributes:
        needs: The block that it changes; only records that have it can be forged so.
        gpu: Whether it needs a GPU's record.
        passes: Whether nothing in a record can show it, and why.
    """

    claim: str
    forge: Forge
    needs: str = "samples"
    gpu: bool = False
    passes: str = ""


def _times(record: Record) -> list[list[float]]:
    rows: list[list[float]] = record["samples"]["step_s"]
    return rows


def _scale(factor_of: Callable[[random.Random], float]) -> Forge:
    def forge(record: Record, draw: random.Random) -> None:
        factor = factor_of(draw)
        for name in ("step_s", "warmup_s"):
            record["samples"][name] = [[factor * one for one in row] for row in record["samples"][name]]

    return forge


def _faster_than_ceilings(record: Record, draw: random.Random) -> None:
    """Steps of a billionth, with products that are as fast."""
    factor = 10 ** draw.uniform(-9, -5)
    _scale(lambda _: factor)(record, draw)
    for one in record["ceilings"]:
        one["flops_per_s"] /= factor


def _nanosecond(record: Record, draw: random.Random) -> None:
    record["device"] = record["device"] | ({"name": "Abacus 9000"} if record["device"]["type"] == "cuda" else {})
    for row in _times(record):
        row[:] = [draw.uniform(0.5e-9, 2e-9) for _ in row]


def _smallest(record: Record, draw: random.Random) -> None:
    """A model of any size in a megabyte."""
    size = draw.randint(2**18, 2**21)
    memory = record["memory"]
    total = sum(memory["at_peak"].values())
    for block in (memory["at_peak"], memory["held"]):
        for name, value in block.items():
            block[name] = (
                {one: int(part * size / total) for one, part in value.items()}
                if isinstance(value, dict)
                else int(value * size / total)
            )
    memory["peak"] = sum(memory["at_peak"].values())
    for name in ("reserved_peak", "active_peak", "first_step_peak"):
        if memory["cuda"]:
            memory["cuda"][name] = memory["peak"]


def _unseen(record: Record, draw: random.Random) -> None:
    """A name with a character that nobody sees, or that turns the letters around."""
    block, name = draw.choice((("device", "name"), ("provenance", "cpu"), ("provenance", "os")))
    at = draw.choice(("\u202e", "\u200b", "\u2066", "\ufeff", "\u2028"))
    record[block][name] = f"{record[block].get(name) or 'A'}{at}x"


def _many_devices(record: Record, draw: random.Random) -> None:
    record["case"]["devices"] = draw.randint(2, 100_000)
    # As a record of a case that these sources do not have.
    record["case"]["name"] += "-wide"


def _less_state(record: Record, draw: random.Random) -> None:
    share = draw.uniform(0.05, 0.9)
    memory = record["memory"]
    gone = int(memory["at_peak"]["optimizer_state"] * (1 - share))
    memory["held"]["optimizer"] = {name: int(size * share) for name, size in memory["held"]["optimizer"].items()}
    memory["at_peak"]["optimizer_state"] -= gone
    memory["peak"] -= gone


def _hidden(record: Record, draw: random.Random) -> None:
    """A peak without what the activations take."""
    memory, before = record["memory"], record["memory"]["at_peak"]["activations"]
    memory["peak"] -= int(before * draw.uniform(0.8, 1)) + int(0.2 * memory["peak"])


def _few_activations(record: Record, draw: random.Random) -> None:
    record["memory"]["held"]["activations"] = draw.randint(0, 2000)


def _copy(record: Record, draw: random.Random) -> None:
    rows = record["samples"][draw.choice(("step_s", "warmup_s"))]
    rows[-1] = rows[0]


def _copy_in_other_order(record: Record, draw: random.Random) -> None:
    rows = _times(record)
    shortest = min(map(len, rows))
    rows[-1] = rows[0][:shortest] + rows[-1][shortest:]
    rows[-1][:shortest] = draw.sample(rows[-1][:shortest], shortest)


def _scaled_copy(record: Record, draw: random.Random) -> None:
    rows, factor = _times(record), draw.uniform(0.98, 1.02)
    rows[-1] = [factor * second for second in rows[0]]


def _shifted_copy(record: Record, draw: random.Random) -> None:
    rows, more = _times(record), draw.uniform(1e-6, 1e-3)
    rows[-1] = [second + more for second in rows[0]]


def _partly_copied(record: Record, draw: random.Random) -> None:
    rows = _times(record)
    keep = draw.uniform(0.8, 0.95)
    rows[-1] = [a if draw.random() < keep else b for a, b in zip(rows[0], rows[-1], strict=False)]


def _constant(record: Record, draw: random.Random) -> None:
    row = draw.choice(_times(record))
    row[:] = [row[0]] * len(row)


def _line(record: Record, draw: random.Random) -> None:
    row = draw.choice(_times(record))
    row[:] = [row[0] * (1 + 1e-4 * index) for index in range(len(row))]


def _periodic(record: Record, draw: random.Random) -> None:
    row = draw.choice(_times(record))
    period = max(8, len(row) // 2)
    row[:] = [row[index % period] for index in range(len(row))] if len(row) > 2 * period - 1 else [row[0]] * len(row)


def _fewer(record: Record, draw: random.Random) -> None:
    row = draw.choice(_times(record))
    del row[draw.randrange(len(row)) :]


def _no_ceilings(record: Record, draw: random.Random) -> None:
    record["ceilings"] = draw.choice(([], None))


def _high_ceilings(record: Record, draw: random.Random) -> None:
    for one in record["ceilings"]:
        one["flops_per_s"] *= 10 ** draw.uniform(3, 9)


def _other_format(record: Record, draw: random.Random) -> None:
    for one in record["ceilings"]:
        one["format"] = {"fp32": "bf16"}.get(one["format"], "fp32")


def _near_peak(record: Record, draw: random.Random) -> None:
    """A utilization of 0.97 over products that are slower."""
    most = max(one["flops_per_s"] for one in record["ceilings"])
    view = _derived(record)
    factor = view["flops"]["model_per_step_causal"] / most / view["summary"]["step_s"]["median"]
    _scale(lambda _: factor * draw.uniform(0.3, 0.95))(record, draw)


def _derived(record: Record) -> Record:
    from gpu_bench.record.derive import derive

    return derive(record)


def _loss(change: Callable[[list[float], random.Random], object]) -> Forge:
    def forge(record: Record, draw: random.Random) -> None:
        change(record["loss"]["curve"], draw)

    return forge


def _exploded(curve: list[float], draw: random.Random) -> None:
    for index in range(draw.randrange(1, len(curve)), len(curve)):
        curve[index] = draw.uniform(50, 900)


def _solved(curve: list[float], draw: random.Random) -> None:
    curve[-5:] = [draw.uniform(0, 0.02) for _ in curve[-5:]]


def _better_start(curve: list[float], draw: random.Random) -> None:
    curve[0] *= draw.uniform(0.05, 0.6)


def _flat(curve: list[float], draw: random.Random) -> None:
    curve[1:] = [curve[0] * 0.9] * (len(curve) - 1)


def _provenance(name: str, *values: Any) -> Forge:
    def forge(record: Record, draw: random.Random) -> None:
        record["provenance"][name] = draw.choice(values)

    return forge


def _repeat(name: str, value: Callable[[random.Random], Any]) -> Forge:
    def forge(record: Record, draw: random.Random) -> None:
        draw.choice(record["provenance"]["repeats"])[name] = value(draw)

    return forge


def _reading(name: str, change: Callable[[dict[str, float], random.Random], object]) -> Forge:
    def forge(record: Record, draw: random.Random) -> None:
        change(draw.choice(record["provenance"]["repeats"])["gpu"][name], draw)

    return forge


def _state(mean: Callable[[random.Random], float]) -> Callable[[dict[str, float], random.Random], object]:
    def change(state: dict[str, float], draw: random.Random) -> None:
        value = mean(draw)
        state |= {"mean": value, "minimum": 0.9 * value, "maximum": 1.1 * value}

    return change


def _swapped(state: dict[str, float], draw: random.Random) -> None:
    state["minimum"], state["maximum"] = state["maximum"] + draw.uniform(1, 100), state["minimum"]


def _energy(watts: Callable[[random.Random], float]) -> Forge:
    def forge(record: Record, draw: random.Random) -> None:
        steps = max(1, round(40 / _derived(record)["summary"]["step_s"]["median"]))
        record["energy"] = {"window_s": 40.0, "steps": steps, "energy_j": 40.0 * watts(draw)}

    return forge


def _cost(record: Record, draw: random.Random) -> None:
    record["cost"] = {
        "usd_per_hour": draw.choice((10 ** draw.uniform(-6, -1), 10 ** draw.uniform(2.5, 6))),
        "source": "https://example.org/",
        "date": "2026-01-01",
    }


def _later(record: Record, draw: random.Random) -> None:
    for one in record["provenance"]["repeats"]:
        one["started"] = one["finished"] = f"{draw.randint(2040, 2090)}-01-01T00:00:00Z"


def _shorter(record: Record, draw: random.Random) -> None:
    """Repeats that end before their steps could."""
    for one in record["provenance"]["repeats"]:
        one["finished"] = one["started"]
    for row in record["samples"]["warmup_s"]:
        row[0] += draw.uniform(10, 1000)


def _together(record: Record, draw: random.Random) -> None:
    first = record["provenance"]["repeats"][0]
    for one in record["provenance"]["repeats"]:
        one |= {"started": first["started"], "finished": first["finished"]}


def _memory_of_device(record: Record, draw: random.Random) -> None:
    record["device"]["memory"] = draw.choice((draw.randint(2**42, 2**50), draw.randint(1, 2**30)))


def _reserved(record: Record, draw: random.Random) -> None:
    record["memory"]["cuda"]["reserved_peak"] = int(record["memory"]["peak"] * draw.uniform(0.01, 0.99))


def _predicted(record: Record, draw: random.Random) -> None:
    told = record["predicted"]
    told["memory"]["peak"] = int(told["memory"]["peak"] * draw.choice((draw.uniform(2.6, 90), draw.uniform(0, 0.3))))


def _predicted_time(record: Record, draw: random.Random) -> None:
    told = record["predicted"]
    told["step_s"] = (told["step_s"] or 1.0) * draw.choice((draw.uniform(3, 90), draw.uniform(0.001, 0.3)))


def _later_version(record: Record, draw: random.Random) -> None:
    record["benchmark_version"] = f"{draw.randint(1, 99)}.0.0"


def _parameters(record: Record, draw: random.Random) -> None:
    record["model"]["parameters"] = int(record["model"]["parameters"] * draw.uniform(0.1, 0.99))


def _tokens(record: Record, draw: random.Random) -> None:
    record["data"]["tokens"] = record["data"]["bytes"] + draw.randint(1, 10**9)


def _settled(record: Record, draw: random.Random) -> None:
    """Warm-up that was not steady counts as settled."""
    for row in record["samples"]["warmup_s"]:
        row[-1] = 3 * max(row)
    record["samples"]["warmup_settled"] = [True for _ in record["samples"]["warmup_s"]]


def _compiled(record: Record, draw: random.Random) -> None:
    record["compile"]["seconds"][0] = draw.uniform(0.001, 10)


def _states_derived(record: Record, draw: random.Random) -> None:
    record["summary"] = {"step_s": {"median": draw.uniform(0, 1)}}


def _run(record: Record, draw: random.Random) -> dict[str, Any]:
    runs = record["arms"]["runs"]
    run: dict[str, Any] = runs[draw.choice(sorted(runs))]
    return run


def _seed(record: Record, draw: random.Random) -> dict[str, Any]:
    seed: dict[str, Any] = draw.choice(_run(record, draw)["seeds"])
    return seed


def _copied_seed(record: Record, draw: random.Random) -> None:
    seeds = _run(record, draw)["seeds"]
    seeds[-1] = copy.deepcopy(seeds[0])


def _test_loss(record: Record, draw: random.Random) -> None:
    one = _seed(record, draw)
    one["test"]["loss"] = 1e-4 * draw.random()


def _accuracy(record: Record, draw: random.Random) -> None:
    one = _seed(record, draw)
    one["test"] |= {"accuracy": draw.uniform(0, 0.3), "loss": draw.uniform(0, 0.4)}


def _one_seed_less(record: Record, draw: random.Random) -> None:
    del _run(record, draw)["seeds"][-1]


def _no_time(record: Record, draw: random.Random) -> None:
    """Trainings that took no time, in all runs of a repeat."""
    for run in record["arms"]["runs"].values():
        for one in run["seeds"]:
            name = "cpu_s" if "cpu_s" in one else "seconds"
            one[name] *= 1e-4


def _long(record: Record, draw: random.Random) -> None:
    one = _seed(record, draw)
    one["cpu_s" if "cpu_s" in one else "seconds"] = draw.uniform(1e5, 1e7)


def _curve_point(record: Record, draw: random.Random) -> None:
    one = _seed(record, draw)
    curve = one["curves"]["loss"] if "curves" in one else one["curve"]
    del curve[draw.randrange(len(curve))]


def _digits(record: Record, draw: random.Random) -> None:
    record["arms"]["data"]["sha256"] = f"{draw.getrandbits(256):064x}"


def _slightly_faster(record: Record, draw: random.Random) -> None:
    _scale(lambda one: one.uniform(0.97, 0.995))(record, draw)


def _every(record: Record, change: Callable[[dict[str, Any]], object]) -> None:
    """Change every training of a hybrid record in which steps are predicted."""
    for run in record["arms"]["runs"].values():
        if run["settings"]["predictor"] != "none":
            for one in run["seeds"]:
                change(one)


def _told(name: str, value: object) -> Forge:
    return lambda record, draw: _every(record, lambda one: one["told"].update({name: value}))


def _near(record: Record, draw: random.Random) -> None:
    """Predictions of zero that hit."""
    cosine, error = draw.uniform(0.9, 0.999), draw.uniform(0.01, 0.3)
    for one in record["arms"]["runs"]["no-op"]["seeds"]:
        for each in one["told"]["horizons"]:
            each.update(cosine=cosine, error=error)


def _too_near(record: Record, draw: random.Random) -> None:
    """Errors smaller than their angles allow."""
    for run in record["arms"]["runs"].values():
        for each in (each for one in run["seeds"] for each in one["told"]["horizons"]):
            each["error"] = draw.uniform(0.1, 0.9) * (1 - each["cosine"]) / 2


def _small_peak(record: Record, draw: random.Random) -> None:
    name = draw.choice(("computed", "predicted"))
    _every(record, lambda one: one["memory"].update({name: int(one["memory"][name] * draw.uniform(0.01, 0.2))}))


def _elsewhere(record: Record, draw: random.Random) -> None:
    _every(record, lambda one: one["memory"].update(elsewhere=draw.randrange(1, 10**6)))


def _cured(record: Record, draw: random.Random) -> None:
    """The tests of a cure in the place of a failure's."""
    runs = record["arms"]["runs"].values()
    of = {run["settings"]["role"]: run["seeds"] for run in runs}
    for one, other in zip(of["failure"], of["reference"], strict=True):
        one["test"] = {**other["test"], "loss": other["test"]["loss"] * draw.uniform(0.99, 1.01)}


def _finite(record: Record, draw: random.Random) -> None:
    """Tests with a loss where training ended without one."""
    for run in record["arms"]["runs"].values():
        for one in run["seeds"]:
            if one["curves"]["loss"][-1] is None:
                one["test"]["loss"] = draw.uniform(0.5, 2)


def _encoded(record: Record, draw: random.Random) -> None:
    factor = 10 ** draw.uniform(-6, -2)
    for point in record["points"]:
        point["samples_s"] = [[one * factor for one in row] for row in point["samples_s"]]


FORGERIES = (
    Forgery("steps take a billionth", _scale(lambda draw: 10 ** draw.uniform(-9, -4))),
    Forgery("steps take a tenth", _scale(lambda draw: draw.uniform(0.02, 0.1))),
    Forgery("steps and products take a billionth", _faster_than_ceilings),
    Forgery("steps of a nanosecond, on a chip that nobody knows", _nanosecond),
    Forgery("nearly the products' peak", _near_peak),
    Forgery("no products", _no_ceilings),
    Forgery("products beyond any device", _high_ceilings),
    Forgery("products of another format", _other_format),
    Forgery("a model in a megabyte", _smallest),
    Forgery("less state than the optimizer has", _less_state, needs="state"),
    Forgery("a peak below its parts", _hidden),
    Forgery("hardly any activations", _few_activations),
    Forgery("a smaller model", _parameters),
    Forgery("a repeat copied", _copy),
    Forgery("a repeat copied in another order", _copy_in_other_order),
    Forgery("a repeat scaled", _scaled_copy),
    Forgery("a repeat shifted", _shifted_copy),
    Forgery("most of a repeat copied", _partly_copied),
    Forgery("a repeat of equal times", _constant),
    Forgery("a repeat on a line", _line),
    Forgery("a repeat that repeats itself", _periodic),
    Forgery("slow steps left out", _fewer),
    Forgery("steady, though it was not", _settled),
    Forgery("compiled, where nothing was", _compiled),
    Forgery("ok, though the loss exploded", _loss(_exploded)),
    Forgery("a loss of nothing", _loss(_solved)),
    Forgery("a start that knows something", _loss(_better_start)),
    Forgery("losses that stay", _loss(_flat)),
    Forgery("more tokens than text", _tokens),
    Forgery("a driver that is none", _provenance("driver", "banana", "1", "580", "five.one"), gpu=True),
    Forgery("a GPU's driver on a CPU", _provenance("driver", "580.65.06"), needs="cpu"),
    Forgery("a PyTorch that is none", _provenance("torch", "fast", "2", "v2.9.0"), needs="provenance"),
    Forgery("a commit that is none", _provenance("git_commit", "main", "0" * 39, "z" * 40), needs="provenance"),
    Forgery("a name that nobody sees", _unseen, needs="provenance"),
    Forgery("more devices than there are", _many_devices, needs="provenance"),
    Forgery("hundreds of threads", _provenance("threads", 0, 2000, 9999), needs="cpu"),
    Forgery("others took the processors", _repeat("others_share", lambda draw: draw.uniform(0.99, 1)), needs="long"),
    Forgery("a load beyond any", _repeat("load_average", lambda draw: 10 ** draw.uniform(6, 9)), needs="provenance"),
    Forgery("5,000 W", _reading("power_w", _state(lambda draw: draw.uniform(1500, 9000))), gpu=True),
    Forgery("400 degrees", _reading("temperature_c", _state(lambda draw: draw.uniform(150, 900))), gpu=True),
    Forgery("a clock beyond any", _reading("sm_clock_mhz", _state(lambda draw: draw.uniform(6e3, 9e5))), gpu=True),
    Forgery("minimum above maximum", _reading("power_w", _swapped), gpu=True),
    Forgery("energy beyond the limit", _energy(lambda draw: draw.uniform(1200, 9000)), gpu=True),
    Forgery("energy of nothing", _energy(lambda draw: draw.uniform(0.01, 5)), gpu=True),
    Forgery("energy on a CPU", _energy(lambda draw: draw.uniform(100, 500)), needs="cpu samples"),
    Forgery("a rent of nothing, or of a fortune", _cost),
    Forgery("measured in the future", _later, needs="provenance"),
    Forgery("repeats too short for their steps", _shorter),
    Forgery("repeats at the same time", _together, needs="provenance"),
    Forgery("memory that no such device has", _memory_of_device, gpu=True),
    Forgery("less asked for than allocated", _reserved, gpu=True),
    Forgery("a prediction that was right", _predicted, needs="predicted"),
    Forgery("a predicted time that was right", _predicted_time, needs="predicted"),
    Forgery("a version to come", _later_version, needs="provenance"),
    Forgery("its own median", _states_derived),
    Forgery("a seed copied", _copied_seed, needs="arms"),
    Forgery("a test without a loss", _test_loss, needs="arms"),
    Forgery("hardly any right, at a low loss", _accuracy, needs="classes"),
    Forgery("a seed left out", _one_seed_less, needs="arms"),
    Forgery("trainings that took no time", _no_time, needs="arms"),
    Forgery("trainings of months", _long, needs="arms"),
    Forgery("a point of a curve left out", _curve_point, needs="arms"),
    Forgery("other digits", _digits, needs="digits"),
    Forgery("snapshots of a byte", _told("snapshot_bytes", 1), needs="hybrid"),
    Forgery("no snapshots", _told("snapshot_bytes", 0), needs="hybrid"),
    Forgery("remembered updates of a byte", _told("history_bytes", 1), needs="hybrid"),
    Forgery("predictions that cost nothing", _told("extra_seconds", 0.0), needs="hybrid"),
    Forgery("predictions that cost more than all steps", _told("extra_seconds", 1e6), needs="hybrid"),
    Forgery("predictions of zero that hit", _near, needs="no-op"),
    Forgery("errors below their angles", _too_near, needs="no-op"),
    Forgery("peaks below what they hold", _small_peak, needs="peaks"),
    Forgery("bytes elsewhere that are not put there", _elsewhere, needs="peaks"),
    Forgery("failures whose tests are the reference's", _cured, needs="failure"),
    Forgery("tests with a loss, after training without one", _finite, needs="not finite"),
    Forgery("text encoded faster than any program does", _encoded, needs="pipeline"),
    Forgery("a little faster", _slightly_faster, passes="times are possible: only measuring again tells"),
)


def _has(record: Record, forgery: Forgery) -> bool:
    cpu = record["device"]["type"] == "cpu"
    needs = {
        "cpu": cpu,
        "cpu samples": cpu and "samples" in record,
        "long": "samples" in record and min(map(sum, record["samples"]["step_s"])) >= 2,
        "state": bool(record.get("memory", {}).get("held", {}).get("optimizer")),
        "classes": "arms" in record and "accuracy" in next(iter(record["arms"]["runs"].values()))["seeds"][0]["test"],
        "hybrid": record["suite"] == "hybrid",
        "no-op": record["suite"] == "hybrid" and "no-op" in record["arms"]["runs"],
        "peaks": record["case"]["name"] == "hybrid-memory",
        "failure": record["suite"] == "failures" and record["case"]["name"] != "failure-large-batch",
        "not finite": record["case"]["name"] in ("failure-outlier", "failure-linear-scaling"),
        "pipeline": record["suite"] == "pipeline",
        "digits": record["suite"] == "failures" or record["case"].get("task") == "digits",
    }
    return needs.get(forgery.needs, forgery.needs in record) and not (forgery.gpu and cpu)


def forged(records: list[Record], count: int, seed: int) -> Iterator[tuple[Forgery, str]]:
    """So many forgeries of valid records, each with its text; all kinds in turn."""
    draw = random.Random(seed)
    for index in range(count):
        forgery = FORGERIES[index % len(FORGERIES)]
        record = copy.deepcopy(draw.choice([one for one in records if _has(one, forgery)]))
        forgery.forge(record, draw)
        yield forgery, json.dumps(record)

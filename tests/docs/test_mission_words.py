"""What the missions' pages say of walls and races in words is what their boards compute."""

from __future__ import annotations

from math import hypot
from typing import Any

import pytest

from docs.acts.missions import (
    cloud,
    cloud_wall,
    edge,
    mobile,
    race_reflection,
    tiny_wall,
    wall_cause,
    wall_levers,
    wall_score,
)
from docs.acts.missions.facts import Setting, Wall, start_of
from docs.acts.missions.found import FOUND
from ironlaw import accelerator, flops_per_token, link, setup
from ironlaw.training.noisy_quadratic import DIRECTIONS
from tests.docs.acts import ACTS
from tests.docs.missions import BY_NAME, NAMES, searched, trials_of

WALL_PAGE = (ACTS / "missions/wall.md").read_text(encoding="utf-8")


def test_the_lesson_of_the_cluster_is_what_its_bench_shows() -> None:
    """Tensor parallelism was said to make the batch larger, and four times the GPUs always to leave too few updates."""
    wall = BY_NAME["cloud"].wall
    _, winning = searched()["cloud"]["wall"]
    least = min(wall.plan(one).mfu for one in winning)
    for best in winning:
        batch = wall.plan(best).batch
        assert wall.plan({**best, "layout": "zero"}).batch > batch, "the layout does not make the batch large"
        assert wall_score.judged(wall, {**best, "rate": "linear"})[1] == "loss"
        assert wall_cause.causes(wall, {**best, "rate": "linear"}) == ("rate",)
        half = {**best, "accumulate": int(best["accumulate"]) // 2}
        assert 2 * wall.plan(half).batch == batch
    halves = [one for one, trials in trials_of("cloud") if not trials.obstacle and 2 * wall.plan(one).batch == batch]
    assert {one["rate"] for one in halves} == {"linear", "root"}
    assert max(wall.plan(one).mfu for one in halves) < least
    for accumulate in (8, 16, 32):
        crowd = {**winning[0], "devices": 2048, "accumulate": accumulate}
        why = wall_score.judged(wall, crowd)[1]
        assert why == ("mfu" if wall.plan(crowd).batch <= batch else "loss")
    assert "for which a rate in proportion is beyond what the loss can follow" in wall.lesson
    assert "Both make" not in wall.lesson


def test_the_cluster_says_that_its_network_is_not_that_of_the_other_parts() -> None:
    """Races and audits count InfiniBand, the engine's own; the wall called Ethernet "what this cluster has" alone."""
    asked = setup(cloud.MODEL, cloud.GPU, batch=1, sequence=cloud.SEQUENCE, dp=32)
    assert asked.cluster is not None
    assert asked.cluster.network.name == cloud_wall.BEFORE != cloud_wall.NETWORK
    rates = [8 * link(name).bandwidth / 1e9 for name in (cloud_wall.NETWORK, cloud_wall.BEFORE)]
    wall = BY_NAME["cloud"].wall
    assert wall.situation.endswith(f"over {rates[0]:g} Gb/s Ethernet.")
    assert wall.sources.startswith(f"Parts 1 and 2 have InfiniBand, {rates[1]:g} Gb/s for each GPU.")


def test_mfu_is_against_the_peak_that_the_page_defines_and_not_against_the_largest() -> None:
    """FP8 has the largest peak of the cluster's card: against it the best would have half the MFU that is shown."""
    assert "the device's peak at 16 bits, or in FP32 where it has no 16-bit arithmetic, whatever" in WALL_PAGE
    walls = {name: (BY_NAME[name].wall, FOUND[name]["wall"].setting) for name in NAMES}
    # Model operations of a device for an update.
    wall, best = walls["cloud"]
    texts = wall.plan(best).batch / int(best["devices"])
    flops = flops_per_token(cloud.MODEL, cloud.SEQUENCE) * cloud.SEQUENCE * texts
    assert useful(wall, best, cloud.GPU.peak("fp16")) == pytest.approx(flops, rel=0.01)
    assert max(peak.flops_per_second for peak in cloud.GPU.peaks) > 1.9 * cloud.GPU.peak("fp16")
    learners = {"edge": (edge.LEARNER, "all"), "mobile": (mobile.LEARNER, ""), "tiny": (tiny_wall.NET, "")}
    for name, (net, scope) in learners.items():
        wall, best = walls[name]
        for setting in (best, {**best, "precision": "fp32"}):
            chip, samples = accelerator(net.device), int(best["batch"]) * int(best["accumulate"])
            flops = net.scopes[scope or str(best["scope"])].flops * samples
            peak = chip.peak(chip.short_format or "fp32")
            assert useful(wall, setting, peak) == pytest.approx(flops), name


def test_the_help_of_clipping_says_how_long_a_gradient_may_be() -> None:
    """It said "no update is larger than a normal one", beside a norm of three, where the first gradient has 1.24."""
    first = hypot(*(1 / (index + 1) for index in range(DIRECTIONS)))
    assert "longer than about two and a half times the first" in wall_levers.CLIP.help
    assert 2.4 < wall_levers.NORM / first < 2.6
    assert "longer than an eighth of the first" in lever_of(BY_NAME["tiny"].wall, "clip").help
    assert tiny_wall.NORM / first == pytest.approx(1 / 8, rel=0.05)


def useful(wall: Wall, setting: Setting, peak: float) -> float:
    """Operations of a device for an update, by its MFU against this peak."""
    plan = wall.plan(setting)
    return plan.mfu * sum(plan.step.values()) * peak


def test_micro_batches_share_an_exchange_where_there_is_one_for_an_update_and_nowhere_else() -> None:
    """The page divided every exchange by the micro-batches; on the cluster's page the answer is that none is."""
    assert "share the one exchange of an update; what each of them exchanges for itself\nis part of" in WALL_PAGE
    for name in NAMES:
        wall = BY_NAME[name].wall
        start = start_of(wall.levers)
        more = next(one for one in lever_of(wall, "accumulate").values if int(one) > int(start["accumulate"]))
        layouts = ("zero", "tensor") if name == "cloud" else ("",)
        for layout in layouts:
            at = {**start, **({"layout": layout} if layout else {})}
            before, after = (wall.plan({**at, "accumulate": one}) for one in (at["accumulate"], more))
            times = after.step["network"] / before.step["network"]
            expected = int(more) / int(at["accumulate"]) if layout == "zero" else 1
            assert times == pytest.approx(expected, rel=1e-3), (name, layout)


def lever_of(wall: Wall, name: str) -> Any:
    """The lever of this name."""
    return next(lever for lever in wall.levers if lever.name == name)


def test_cores_that_wait_for_the_arithmetic_are_paid_for() -> None:
    """That nothing paid for waits was said of ten loaders that work a quarter of the time, at 2 W each."""
    assert "Cores that wait for it are paid for, too." in race_reflection.WHY["compute"]
    race = BY_NAME["edge"].race
    best = FOUND["edge"]["race"].setting
    few, many = (race.stages({**best, "workers": workers}) for workers in (best["workers"], 10))
    assert few.longest == many.longest == "compute"
    assert many.busy["data"] < 0.3
    assert many.rate / many.cost < few.rate / few.cost

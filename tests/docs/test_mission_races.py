"""The races of the missions: stages and queues, five moves, and what is asked."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import pytest

from docs.acts.missions import cloud_race, edge, mobile, mobile_race, tiny_race
from docs.acts.missions.facts import settings, start_of
from docs.acts.missions.found import FOUND
from docs.acts.missions.small import traffic
from explorable.live.build.description import describe
from ironlaw import estimate, setup
from tests.docs.acts import drawn, fixed_colors, hidden_texts, public_text, state_of, view_box
from tests.docs.missions import BY_NAME, NAMES, race_act, raced, searched


def test_each_race_asks_about_its_own_limit_and_repeats_a_wrong_answer_back() -> None:
    """Edge and Mobile once had one question and one answer."""
    answers, prompts = set(), set()
    for name in NAMES:
        act, race = race_act(name), BY_NAME[name].race
        question: Any = act.act.question
        start = start_of(race.levers)
        exact = race.stages({**start, **race.after}).rate / race.stages(start).rate
        assert question.answer() == pytest.approx(exact)
        verdict: Any = act.reveal(state_of(act, 0.8, revealed=True))
        assert not verdict["correct"]
        assert verdict["headline"] == f"{exact:.2f} times as fast. You said 0.8."
        right: Any = act.reveal(state_of(act, round(20 * exact) / 20, revealed=True))
        assert right["correct"]
        before, after = (race.boxes[race.stages({**start, **more}).longest] for more in ({}, race.after))
        pace = f"the longest pole was “{before}” and " + ("still is" if after == before else f"is “{after}” then")
        assert right["headline"].endswith(f", and that is right: {pace}.")
        answers.add(round(20 * exact))
        prompts.add(question.prompt)
    assert len(prompts) == len(NAMES)
    assert len(answers) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_five_moves_lead_to_the_balance_point_and_a_sixth_does_not_count(name: str) -> None:
    race = BY_NAME[name].race
    start = start_of(race.levers)
    _, winning = searched()[name]["race"]
    nearest = min(winning, key=lambda setting: sum(setting[lever] != start[lever] for lever in start))
    moves = sum(nearest[lever] != start[lever] for lever in start)
    assert 2 <= moves <= 5, "one move would be a guess"
    view = raced(name, moves, **nearest)
    assert view["score"] is not None
    assert view["success"]["title"] == "The balance point"
    late = raced(name, 6, **nearest)
    assert late["score"] is None
    assert late["failure"]["title"] == "Out of moves"


@pytest.mark.parametrize("name", NAMES)
def test_where_a_race_is_won_the_words_name_the_longest_pole_of_the_picture(name: str) -> None:
    """The bus was once called the longest pole beside a bus that was idle half of the time."""
    race = BY_NAME[name].race
    for setting in searched()[name]["race"][1]:
        view = raced(name, 4, **setting)
        (longest,) = [row["name"] for row in view["data"]["boxes"] if row["longest"]]
        begin = race.boxes[race.stages(start_of(race.levers)).longest]
        now = "still is" if longest == begin else f"is “{longest}” now"
        assert f"The longest pole was “{begin}” and {now}." in view["success"]["what"]
        assert "longest pole" not in race.lesson, "it is told of every setting that wins"


def test_weights_move_as_often_as_training_moves_them_and_frozen_ones_once() -> None:
    """All were moved three times, and the bus was called the longest pole where the GPU was."""
    everything, learns, head = mobile.VIT.parameters, 2 * mobile.VIT.block_parameters, mobile.VIT.head_parameters
    kept = 2 * mobile.VIT.block_kept
    # Read in both passes; gradient, weight and Adam's two vectors are written and read. FP16 keeps an FP32 copy.
    fp32 = 4 * (everything + learns + head + (2 + 2 + 4) * learns)
    fp16 = 2 * (everything + learns + head + 2 * learns + learns) + 4 * (2 + 4) * learns
    for numbers, moved in (("fp32", fp32), ("fp16", fp16)):
        for batch in (1, 2):
            setting = {**start_of(mobile_race.RACE.levers), "numbers": numbers, "batch": batch}
            stages = mobile_race.stages(setting)
            each = moved / batch + 2 * (4 if numbers == "fp32" else 2) * kept
            free = 12.8e9 - 60 * 2 * 1920 * 1080 * 4 * mobile_race.PASSES
            assert stages.rate / stages.busy["bus"] == pytest.approx(free / each), setting
    assert fp32 - 4 * (everything - learns + head) == 4 * 10 * learns, "ten times, says the lesson"
    adapters = mobile.LEARNER.scopes["adapters"]
    whole = traffic(mobile.LEARNER, adapters, "sgd", "fp32", 0)
    # Gradients pass through the frozen weights, so backward reads them.
    assert whole == 4.0 * (2 * everything + 6 * adapters.trained)


def test_a_chip_has_one_share_of_its_peak_in_its_race_and_on_its_wall() -> None:
    """The race of the glasses had the whole peak with half of the cores, eleven times what the wall had."""
    race, wall = BY_NAME["mobile"].race, BY_NAME["mobile"].wall
    for batch in (1, 2):
        stages = race.stages({**start_of(race.levers), "devices": 4, "batch": batch})
        plan = wall.plan({**start_of(wall.levers), "scope": "last", "batch": batch, "accumulate": 1})
        assert stages.rate / stages.busy["compute"] == pytest.approx(batch / plan.step["compute"])
    best = dict(FOUND["mobile"]["race"].setting)
    assert race.stages(best).cost < mobile.GLASSES.tdp == 1
    audit = BY_NAME["mobile"].audit
    peak = audit.account(FOUND["mobile"]["audit"].setting).rate
    one, two = (peak * mobile.WORK.reached(batch) for batch in (1, 2))
    assert one < peak / 2 < two, "training reaches half, says part 1"
    assert race.target == audit.target / 2
    race, wall = BY_NAME["edge"].race, BY_NAME["edge"].wall
    stages = race.stages(start_of(race.levers))
    plan = wall.plan({**start_of(wall.levers), "batch": 64, "accumulate": 1})
    assert stages.rate / stages.busy["compute"] == pytest.approx(64 / plan.step["compute"])
    assert edge.WORK.reached(64) == pytest.approx(0.5, abs=0.02), "half the peak, says the race"


def test_two_ears_have_one_radio_and_one_core_in_their_race_and_on_their_wall() -> None:
    """The race exchanged over all of Bluetooth, of which the wall has a twentieth; its core had the whole peak."""
    race, wall = BY_NAME["tiny"].race, BY_NAME["tiny"].wall
    plan = wall.plan({**start_of(wall.levers), "scope": "gains", "batch": 1, "accumulate": 1, "payload": "fp32"})
    # A window is half a second in the race, and a second on the wall.
    one, two = (race.stages({**start_of(race.levers), "devices": ears}) for ears in (1, 2))
    awake = [ears * tiny_race.AWAKE / stages.rate for ears, stages in ((1, one), (2, two))]
    assert one.busy["compute"] * awake[0] == pytest.approx(plan.step["compute"] / 2)
    assert one.busy["bus"] * awake[0] == pytest.approx(plan.step["writing"])
    assert two.busy["bus"] * awake[1] == pytest.approx(plan.step["writing"] + plan.step["network"])
    best = dict(FOUND["tiny"]["race"].setting)
    alone, both = (race.stages({**best, "devices": ears}) for ears in (1, 2))
    assert both.rate / alone.rate == pytest.approx(1.25, abs=0.03), "a quarter more windows, says the lesson"
    assert both.cost == 2 * alone.cost


def test_the_lesson_of_the_glasses_is_what_their_bench_shows() -> None:
    race = BY_NAME["mobile"].race
    assert 0.9 * mobile.GLASSES.bandwidth < mobile_race.DISPLAY, "the display takes most of the bus"
    at: dict[str, Any] = {**start_of(race.levers), "augmentation": "light"}
    more = {devices: race.stages({**at, "devices": devices}).rate for devices in (2, 3)}
    assert more[3] == more[2], "it waits for the same memory"
    for winning in searched()["mobile"]["race"][1]:
        assert race.stages(winning).longest == "compute"
        assert winning["devices"] == 3
        fewer = race.stages({**winning, "devices": 2})
        assert race.stages(winning).rate / race.stages(winning).cost > fewer.rate / fewer.cost


@pytest.mark.parametrize("name", NAMES)
def test_a_race_counts_its_moves_in_words_that_end(name: str) -> None:
    """It once said "move 0 of 5" and "move 6 of 5"."""
    assert ", 5 moves left" in raced(name, 0)["headline"]["label"]
    assert ", move 5 of 5" in raced(name, 5)["headline"]["label"]
    late = raced(name, 6)
    assert ", out of moves" in late["headline"]["label"]
    assert "6 of 5" not in str(late)
    assert "6 moves of 5" not in str(late)


def test_the_gpus_of_the_cluster_share_the_texts_of_an_update() -> None:
    """Each did what 1,024 do, whatever their number; the deadline was met that 2,048 miss."""
    race, found = BY_NAME["cloud"].race, dict(FOUND["cloud"]["race"].setting)
    each = {}
    for gpus in next(lever.values for lever in race.levers if lever.name == "devices"):
        pipelines = int(gpus) // 32
        engine = estimate(
            setup(
                "llama3-70b",
                "h100-sxm",
                batch=1,
                sequence=8192,
                dp=pipelines,
                tp=8,
                pp=4,
                sequence_parallel=True,
                micro_batches=512 // pipelines,
                framework="megatron",
                precision="megatron",
                update="fused",
            )
        )
        assert 8192 * 512 == pipelines * (512 // pipelines) * 8192 == cloud_race.BATCH_TOKENS
        assert cloud_race.tokens_per_gpu(int(gpus)) == pytest.approx(engine.time.tokens_per_s / int(gpus))
        stages = race.stages({**found, "devices": gpus})
        slowest = 1 + cloud_race.SPREAD * sqrt(2 * log(int(gpus) / 8))
        assert stages.rate / stages.busy["compute"] == pytest.approx(engine.time.tokens_per_s / 8192 / slowest)
        each[gpus] = engine.time.tokens_per_s / int(gpus)
    assert [round(rate) for rate in each.values()] == [929, 875, 782, 647, 481]
    assert 1 - each[2048] / each[1024] == pytest.approx(1 / 6, abs=0.01), "the lesson says a sixth"
    clusters = [race.stages({**found, "devices": gpus}) for gpus in each]
    worth = [stages.rate / stages.cost for stages in clusters]
    assert worth == sorted(worth, reverse=True), "the more GPUs, the fewer texts each dollar buys"
    assert [stages.rate >= race.target for stages in clusters] == [False, False, False, True, True]
    with pytest.raises(ValueError, match="do not divide"):
        cloud_race.tokens_per_gpu(1280)


@pytest.mark.parametrize("name", NAMES)
def test_no_stage_is_busier_than_always_and_queues_stand_before_the_longest_pole(name: str) -> None:
    race = BY_NAME[name].race
    for setting in list(settings(race.levers))[::5]:
        stages = race.stages(setting)
        assert stages.rate > 0
        assert all(0 <= busy <= 1 + 1e-9 for busy in stages.busy.values())
        view = raced(name, **setting)
        assert (view["failure"] is None) == (view["score"] is not None)
        full = [row["full"] for row in view["data"]["queues"]]
        order = ["data", "bus", "compute"]
        assert sum(full) == 5 * order.index(stages.longest)


def test_the_longest_pole_at_the_start_differs() -> None:
    starts = {name: BY_NAME[name].race.stages(start_of(BY_NAME[name].race.levers)) for name in NAMES}
    assert (starts["edge"].longest, starts["mobile"].longest, starts["tiny"].longest) == ("data", "bus", "data")
    assert starts["cloud"].busy["data"] < starts["cloud"].busy["bus"], "text is small, checkpoints are not"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_a_race_tells_nothing_before_the_lock_and_draws_in_the_page_colors(name: str) -> None:
    act = race_act(name)
    public = public_text(act)
    assert not [text for text in hidden_texts(act) if text and text in public]
    described: Any = describe(act)
    closed: Any = act.compute(described["state"])
    assert closed["headline"]["value"] == "?"
    assert {row["level"] for row in closed["data"]["boxes"]} == {0}
    boxes = set()
    for chart in ("boxes", "change"):
        for data in (closed["data"], raced(name)["data"]):
            svg = drawn(f"pipeline-race: {name}", chart, data)
            assert not fixed_colors(svg)
            boxes.add((chart, view_box(svg)))
    assert len(boxes) == 2, "the frame does not move"


@pytest.mark.parametrize("name", NAMES)
def test_stages_are_said_to_take_turns_exactly_where_their_shares_of_the_time_are_the_whole(name: str) -> None:
    """Loaders that work beside the GPUs were once said to take turns with them, at 120 % together."""
    race = BY_NAME[name].race
    shares = [sum(race.stages(setting).busy.values()) for setting in list(settings(race.levers))[::37]]
    assert ("take turns" in race.turns) == (max(shares) < 1.001 and min(shares) > 0.9)

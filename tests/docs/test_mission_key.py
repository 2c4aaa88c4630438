"""The instructor's key of the missions: each row has the number of its act, and what wins is what the search found."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docs.acts.missions import audit_score, wall_score
from docs.acts.missions.facts import Account, Audit, Setting, Stages, position, start_of
from docs.acts.missions.found import FOUND
from docs.acts.state_audit.act import asked
from ironlaw import GB
from tests.docs.missions import BY_NAME, NAMES, PARTS, audit_act, race_act, searched, trials_of, wall_act

PAGE = (Path(__file__).parents[2] / "docs/lab/instructor.md").read_text(encoding="utf-8")
ACTS = {"audit": audit_act, "race": race_act, "wall": wall_act}


def rows(first: str) -> dict[tuple[str, str], list[str]]:
    """The rows of the table that has this head, by part and track: their other cells."""
    names = {track.title: name for name, track in BY_NAME.items()}
    lines = PAGE[PAGE.index(first) :].split("\n\n", 1)[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {(where.split(", ")[0].lower(), names[where.split(", ")[1]]): rest for where, *rest in cells}


KEY = rows("| part | the answer |")
WINS = rows("| part | what is moved |")
EVERY = [(part, name) for part in PARTS for name in NAMES]


def shown(part: str, name: str) -> str:
    """The answer as the key begins with it."""
    question: Any = ACTS[part](name).act.question
    answer = question.answer()
    if part != "audit":
        return f"{answer:.3f} times" if answer < 0.1 else f"{answer:.2f} times"
    digits = 0 if answer >= 1000 else 1 if answer >= 10 else 2
    return f"{answer:,.{digits}f} {question.unit}"


def asked_about(name: str) -> tuple[Audit, Account]:
    board = BY_NAME[name].audit
    return board, board.account(board.ask.setting)


def raced(name: str) -> tuple[Stages, Stages]:
    """The stages as the race begins, and after the change of its question."""
    race = BY_NAME[name].race
    start = start_of(race.levers)
    return race.stages(start), race.stages({**start, **race.after})


def same_checkpoint(before: Stages, after: Stages) -> bool:
    """Seconds of the checkpoint for each sample: the share of the time over samples per second."""
    return after.busy["bus"] / after.rate == pytest.approx(before.busy["bus"] / before.rate, rel=1e-3)


def slower_gpus(before: Stages, after: Stages) -> bool:
    """Whether twice the GPUs compute less than twice as fast, apart from checkpoints and failures."""
    return 1 < (after.rate / after.busy["compute"]) / (before.rate / before.busy["compute"]) < 1.9


def fraction(name: str) -> float:
    """By how much the quantity of a wall's question is divided."""
    return 1 / wall_score.ratio(BY_NAME[name].wall)


def four_times() -> bool:
    parts = asked(BY_NAME["cloud"].audit)
    return (
        list(parts) == ["weights", "gradients", "optimizer"] and round(sum(parts.values()) / parts["weights"], 6) == 4
    )


def share(name: str, *parts: str) -> float:
    account = asked_about(name)[1]
    return sum(account.parts[part] for part in parts or account.parts) / account.limit


WORDS: dict[tuple[str, str], dict[str, Callable[[], bool]]] = {
    ("audit", "cloud"): {"four times the weights in FP32: weights, gradients, and Adam's two vectors": four_times},
    ("audit", "edge"): {
        "activations, more than a hundred times the weights": lambda: (
            100 < asked_about("edge")[1].parts["activations"] / asked_about("edge")[1].parts["weights"] < 200
        )
    },
    ("audit", "mobile"): {
        "of the 512 MB, by Adam's two vectors alone": lambda: (
            asked_about("mobile")[0].ask.parts == ("optimizer",) and asked_about("mobile")[1].limit == 512e6
        ),
        "training takes 2.9 times what the glasses have": lambda: f"{share('mobile'):.1f}" == "2.9",
        "half of that, for one vector": lambda: share("mobile", "weights") == share("mobile", "optimizer") / 2,
    },
    ("audit", "tiny"): {"the weights alone are 1.8 times": lambda: f"{share('tiny', 'weights'):.1f}" == "1.8"},
    ("race", "cloud"): {
        "the checkpoint takes as long as before": lambda: same_checkpoint(*raced("cloud")),
        "each pipeline has half the micro-batches": lambda: slower_gpus(*raced("cloud")),
    },
    ("race", "edge"): {
        "the cores that decode are the longest pole": lambda: {one.longest for one in raced("edge")} == {"data"}
    },
    ("race", "mobile"): {
        "end the bus's turn, and then the GPU is the longest pole": lambda: (
            [one.longest for one in raced("mobile")] == ["bus", "compute"]
        )
    },
    ("race", "tiny"): {
        "was the largest part of the time awake, and not all of it": lambda: (
            raced("tiny")[0].longest == "data" and raced("tiny")[0].busy["data"] < 1
        )
    },
    ("wall", "cloud"): {"it stays": lambda: abs(fraction("cloud") - 1) < 1e-4},
    ("wall", "edge"): {"about a seventh": lambda: round(fraction("edge")) == 7},
    ("wall", "mobile"): {"about a fiftieth": lambda: round(fraction("mobile"), -1) == 50},
    ("wall", "tiny"): {"activations grow with the batch, the rest does not": lambda: 1 < 1 / fraction("tiny") < 4},
}
"""What a row says besides its number, and whether the act says so too."""


@pytest.mark.parametrize(("part", "name"), EVERY)
def test_the_key_begins_with_the_answer_of_its_act_and_says_nothing_else_that_the_act_does_not(
    part: str, name: str
) -> None:
    """No test tied the rows to the acts, and one said of the glasses' memory that most of it is Adam's: 46 % are."""
    cells = KEY[part, name]
    assert cells[0].startswith(shown(part, name)), (shown(part, name), cells[0])
    for words, true in WORDS[part, name].items():
        assert words in " ".join(cells), words
        assert true(), words
    # Every number of the answer is the act's, or held above.
    others = re.findall(r"(?<!\w)(?:\d[\d.,]*\d|\d)", cells[0].removeprefix(shown(part, name)))
    assert all(any(other in words for words in WORDS[part, name]) for other in others), others


@pytest.mark.parametrize(("part", "name"), EVERY)
def test_the_key_names_the_levers_that_lead_from_the_start_to_what_the_search_found(part: str, name: str) -> None:
    board: Any = getattr(BY_NAME[name], part)
    found: Setting = FOUND[name][part].setting
    start = start_of(board.levers)
    moved = [position(lever, found[lever.name]) for lever in board.levers if found[lever.name] != start[lever.name]]
    told, idea = WINS[part, name]
    assert told.split("; ") == moved
    assert len(idea.split()) >= 6


def samples(setting: Setting) -> int:
    """Of an update on the cluster's wall."""
    return BY_NAME["cloud"].wall.plan(setting).batch


def test_what_the_key_says_of_the_walls_and_of_the_cluster_is_so() -> None:
    clipping = {name: {one["clip"] for one in searched()[name]["wall"][1]} for name in NAMES}
    assert "clipping saves three of them and ruins the fourth" in PAGE
    assert [clipping[name] for name in NAMES] == [{True}, {True}, {True}, {False}]
    taken = {name: [one for one, trials in trials_of(name) if not trials.obstacle] for name in ("cloud", "edge")}
    best = {name: searched()[name]["wall"][1] for name in taken}
    assert "the cluster's best needs the square-root rule, though half its batch bears either" in PAGE
    assert {one["rate"] for one in best["cloud"]} == {"root"}
    assert {one["rate"] for one in taken["cloud"] if samples(one) * 2 == samples(best["cloud"][0])} == {
        "root",
        "linear",
    }
    assert "the cars need the linear one" in PAGE
    assert {one["rate"] for one in taken["edge"]} == {"linear"}
    assert "four times the GPUs learn no faster each" in WINS["audit", "cloud"][1]
    board, few = BY_NAME["cloud"].audit, FOUND["cloud"]["audit"].setting
    many = audit_score.score(board, {**few, "gpus": 4 * int(few["gpus"])})
    assert many is not None
    assert many <= FOUND["cloud"]["audit"].score
    assert "1,129 GB" in KEY["audit", "cloud"][0]
    assert sum(asked(board).values()) * GB == pytest.approx(1.129e12, rel=1e-3)

"""The audits of the missions: parts and peak agree, and one kind of update is counted wherever the engine counts."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest

from docs.acts.missions import audit_reflection, cloud, cloud_wall
from docs.acts.missions.facts import settings
from docs.acts.missions.tracks import tracks
from docs.acts.state_audit import act as audit
from docs.acts.state_audit import charts
from ironlaw import estimate, setup
from tests.conftest import FULL
from tests.docs.acts import loaded, number, state_of

NAMES = [track.name for track in tracks()]
BY_NAME = {track.name: track for track in tracks()}


@pytest.mark.parametrize("name", NAMES)
def test_the_parts_of_an_audit_are_never_less_than_what_is_needed(name: str) -> None:
    """In 48 of the cluster's 96 settings they were: temporary tensors and the driver were missing."""
    board = BY_NAME[name].audit
    for setting in settings(board.levers):
        account = board.account(setting)
        assert all(size > 0 for size in account.parts.values()), setting
        assert sum(account.parts.values()) >= account.need * (1 - 1e-12), setting
        assert max(account.parts.values()) <= account.need
        # The last axis has room for the end of the last bar.
        assert max(account.need, sum(account.parts.values())) / board.unit[1] <= board.tops[-1]


def test_the_temporary_tensors_of_the_cluster_are_a_few_of_the_largest() -> None:
    """At most the loss's: its logits in FP32, their gradient, and what goes with them; never a part counted twice."""
    logits = 4 * cloud.SEQUENCE * cloud.MODEL.vocab
    for setting in settings(BY_NAME["cloud"].audit.levers):
        size = cloud.account(setting).parts["temporary"]
        assert 0 < size < 3 * logits, setting


def test_every_part_has_a_line_a_name_a_color_and_an_option() -> None:
    for track in tracks():
        parts = {part for one in settings(track.audit.levers) for part in track.audit.account(one).parts}
        assert parts <= set(audit.NAMES)
        assert parts <= set(charts.PARTS)
        blank = audit_reflection.reflections(track.audit)[0].blanks[1]
        assert parts <= {option.value for option in blank.options}
    fullest = max(settings(BY_NAME["cloud"].audit.levers), key=lambda one: len(cloud.account(one).parts))
    view: Any = shown(name="cloud", **fullest)
    lines = len(cloud.account(fullest).parts) + 2
    assert len(view["data"]["bars"]) == lines == charts.ROWS["cloud"]


def shown(name: str, **controls: Any) -> Any:
    act = loaded(f"state-audit: {name}")
    return act.compute(state_of(act, 12, revealed=True, **controls))


@pytest.mark.parametrize("name", NAMES)
def test_the_parts_less_what_is_gone_at_the_peak_are_what_is_needed(name: str) -> None:
    """1,903 GB of parts once stood over a need of 1,621, and nothing said why."""
    gone = 0
    every = list(settings(BY_NAME[name].audit.levers))
    for setting in every[:: max(1, len(every) // (90 if FULL else 20))]:
        view = shown(name, **setting)
        table = view["tables"]["waterfall"]
        *parts, need = [number(row["b"]) for row in table["rows"]]
        # A reader who adds up what is shown finds the sum that is shown.
        assert round(sum(parts), 6) == need
        *percents, whole = [number(row["c"]) for row in table["rows"]]
        assert sum(percents) == whole
        spelled = dict(re.findall(r"(?:In \w+: |, )([a-z ']+) ([\d,.]*\d)", view["summary"]))
        assert list(spelled) == [row["a"].lower() for row in table["rows"][: len(spelled)]]
        assert list(map(number, spelled.values())) == parts[: len(spelled)]
        told = [row for row in table["rows"] if row["a"].startswith("Gone")]
        assert len(told) == ("are gone or not there yet" in table["caption"]) == ("gone" in view["summary"])
        bars = view["data"]["bars"]
        assert bars[-1]["from"] == 0
        if told:
            assert (bars[-2]["part"], bars[-2]["from"]) == ("gone", bars[-1]["to"])
            assert bars[-2]["to"] == bars[-3]["to"]
            gone += 1
    assert gone or name != "cloud"


@pytest.mark.parametrize("name", ["audit", "wall"])
def test_the_cluster_counts_the_fused_update_and_its_command_line_says_so(name: str) -> None:
    """Act 1 does; PyTorch's default update makes temporary tensors that nobody would see here."""
    board: Any = getattr(BY_NAME["cloud"], name)
    module: Any = {"audit": cloud, "wall": cloud_wall}[name]
    for setting in list(settings(board.levers))[:: 5 if name == "audit" else 401]:
        words = shlex.split(module.command(setting))
        assert words[words.index("--update") + 1] == "fused"


def test_the_cluster_audit_is_the_engine_with_the_fused_update_and_not_with_the_other() -> None:
    setting: dict[str, Any] = {"optimizer": "adam", "precision": "fp32", "zero": 3, "gpus": 512, "checkpointing": True}
    fused, foreach = (
        estimate(
            setup(
                cloud.MODEL,
                cloud.GPU,
                batch=1,
                sequence=cloud.SEQUENCE,
                optimizer="adamw",
                precision="fp32",
                dp=512,
                zero=3,
                checkpointing="full",
                update=update,
            )
        )
        for update in ("fused", "foreach")
    )
    rates = [answer.time.tokens_per_s / 512 for answer in (fused, foreach)]
    assert rates[0] != rates[1]
    assert cloud.account(setting).rate == rates[0]
    assert cloud.account(setting).need == fused.memory_bytes.device_total

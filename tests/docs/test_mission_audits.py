"""The audits of the missions: parts and peak agree, and one kind of update is counted wherever the engine counts."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

from docs.acts.missions import audit_reflection, audit_score, cloud, cloud_wall, edge, mobile, tiny
from docs.acts.missions.facts import settings, start_of
from docs.acts.missions.found import FOUND
from docs.acts.state_audit import act as audit
from docs.acts.state_audit import charts
from explorable.live.build.description import describe
from ironlaw import estimate, model, setup, training_memory
from tests.conftest import FULL
from tests.docs.acts import ACTS, drawn, fixed_colors, hidden_texts, loaded, number, public_text, state_of, view_box
from tests.docs.missions import BY_NAME, NAMES, audit_act, audited
from tools.missions import TRACKS

PAGE = (ACTS / "missions/audit.md").read_text(encoding="utf-8")


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
    for track in TRACKS:
        parts = {part for one in settings(track.audit.levers) for part in track.audit.account(one).parts}
        assert parts <= set(audit.NAMES)
        assert parts <= set(charts.PARTS)
        blank = audit_reflection.reflections(track.audit)[0].blanks[1]
        assert parts <= {option.value for option in blank.options}
    fullest = max(settings(BY_NAME["cloud"].audit.levers), key=lambda one: len(cloud.account(one).parts))
    view: Any = shown(name="cloud", **fullest)
    lines = len(cloud.account(fullest).parts) + 2
    assert len(view["data"]["bars"]) == lines == charts.ROWS["cloud"]


@pytest.mark.parametrize("name", NAMES)
def test_how_many_times_is_told_by_the_numbers_that_the_page_says(name: str) -> None:
    """With fewer bits the weights alone were once meant: 381 MB were "two to four times" the 346 of the verdict."""
    track = BY_NAME[name]
    act = loaded(f"state-audit: {name}")
    said: Any = act.reveal(state_of(act, 12, revealed=True))
    [serving] = re.findall(r"take ([\d,.]+) ", said["paragraphs"][0])
    every = list(settings(track.audit.levers))
    for setting in every if FULL else every[::3]:
        times = track.audit.account(setting).need / track.audit.unit[1] / number(serving)
        for option, (low, high) in audit_reflection.RANGES.items():
            if min(abs(times - low), abs(times - high)) > 0.01 * times:
                feedback: Any = act.check("serving", {"times": option}, state_of(act, 12, revealed=True, **setting))
                assert feedback["times"]["correct"] == (low <= times < high), (setting, option)


def shown(name: str, **controls: Any) -> Any:
    act = loaded(f"state-audit: {name}")
    return act.compute(state_of(act, 12, revealed=True, **controls))


def test_half_the_batch_changes_no_part_that_does_not_grow_with_it() -> None:
    """0.05, 0.05 and 0.1 GB beside 23 of activations were once 0.0, 0.0 and 0.2, and 0.1, 0.0 and 0.0 a batch later."""
    every = list(settings(BY_NAME["edge"].audit.levers))
    for setting in every if FULL else every[::3]:
        half = {**setting, "batch": int(setting["batch"]) // 2}
        if half not in every:
            continue
        whole, less = (
            {row["a"]: number(row["b"]) for row in shown("edge", **one)["tables"]["waterfall"]["rows"]}
            for one in (setting, half)
        )
        for part in whole.keys() - {"Activations", "Needed at the peak"}:
            assert abs(whole[part] - less[part]) <= 0.01 + 1e-9, (setting, part)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_the_parts_less_what_is_gone_at_the_peak_are_what_is_needed(name: str) -> None:
    """1,903 GB of parts once stood over a need of 1,621, and nothing said why."""
    gone = 0
    every = list(settings(BY_NAME[name].audit.levers))
    for setting in every[:: max(1, len(every) // (90 if FULL else 20))]:
        view = shown(name, **setting)
        table = view["tables"]["waterfall"]
        *parts, need = [number(row["b"]) for row in table["rows"]]
        account = BY_NAME[name].audit.account(setting)
        size = BY_NAME[name].audit.unit[1]
        exact = [
            *account.parts.values(),
            *([account.need - sum(account.parts.values())] if len(parts) > len(account.parts) else []),
        ]
        *percents, whole = [number(row["c"]) for row in table["rows"]]
        # Each is rounded by itself: moved to add up, a part was another number in the table than in the sentence.
        for cell, shown_parts, unit in (("b", parts, size), ("c", percents, account.limit / 100)):
            step = 10.0 ** -max(len(row[cell].partition(".")[2]) for row in table["rows"])
            assert shown_parts == pytest.approx([one / unit for one in exact], abs=0.5001 * step)
        apart = round(sum(parts), 6) != need or round(sum(percents), 6) != whole
        assert apart == ("rounded by itself" in table["caption"])
        assert all(parts[: len(account.parts)]) or min(account.parts.values()) < 1e-3 * sum(account.parts.values())
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


@pytest.mark.parametrize("name", NAMES)
def test_the_table_of_standing_tells_the_speed_that_the_moves_tell(name: str) -> None:
    """A setting that is too slow once had none in the table, and 3.83 in the list of moves."""
    for setting in settings(BY_NAME[name].audit.levers):
        view = audited(name, **setting)
        row = next(row for row in view["tables"]["standing"]["rows"] if row["a"] == "You, now")
        assert (row["b"] == "–") == (row["c"] == "too big")
        assert row["b"] in (view["readings"]["learning speed"], "–")


@pytest.mark.parametrize("name", NAMES)
def test_the_line_of_the_limit_tells_its_size_once(name: str) -> None:
    """It once read "512 MB: 512.0 MB"."""
    (line,) = audited(name)["data"]["limit"]
    assert len(re.findall(rf"[\d.]+ {BY_NAME[name].audit.unit[0]}", line["text"])) == 1


@pytest.mark.parametrize("name", NAMES)
def test_of_parts_of_one_size_each_is_the_largest(name: str) -> None:
    """Of weights and gradients that were equal, the gradients were once not so."""
    act, board = audit_act(name), BY_NAME[name].audit
    tied = 0
    for setting in settings(board.levers):
        parts = board.account(setting).parts
        largest = [part for part, size in parts.items() if size == max(parts.values())]
        if len(largest) > 1:
            for part in largest:
                feedback: Any = act.check("serving", {"part": part}, state_of(act, 12, revealed=True, **setting))
                assert feedback["part"]["correct"], (setting, part)
            failure = audited(name, **setting)["failure"]
            if failure and "the most" in failure["what"]:
                *first, last = (f"the {audit.NAMES[part].lower()}" for part in largest)
                assert f" {', '.join(first)} and {last} take the most" in failure["what"]
            tied += 1
    assert tied or name == "edge"


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


@pytest.mark.parametrize("name", NAMES)
def test_an_audit_has_no_speed_where_it_does_not_fit(name: str) -> None:
    audit = BY_NAME[name].audit
    for setting in list(settings(audit.levers))[::7]:
        view = audited(name, **setting)
        fits = audit.account(setting).fits
        (speed,) = view["readings"].values()
        assert (speed == "none (too big)") == (not fits)


@pytest.mark.parametrize("name", NAMES)
def test_an_audit_fails_exactly_where_it_does_not_count_and_its_advice_helps(name: str) -> None:
    audit = BY_NAME[name].audit
    for setting in list(settings(audit.levers))[:: 1 if name != "cloud" else 7]:
        view = audited(name, **setting)
        assert (view["failure"] is None) == (view["score"] is not None) == (view["success"] is not None)
        bars = [row for row in view["data"]["bars"] if row["part"] not in ("gone", "need")]
        assert all(left["to"] == right["from"] for left, right in pairwise(bars))
        if view["failure"] and "One change" in view["failure"]["remedy"]:
            changed = [
                {**setting, lever.name: value}
                for lever in audit.levers
                for value in lever.values
                if audit_score.score(audit, {**setting, lever.name: value}) is not None
            ]
            assert changed


@pytest.mark.parametrize("name", NAMES)
def test_adam_in_fp32_keeps_four_times_the_weights_that_learn(name: str) -> None:
    audit = BY_NAME[name].audit
    account = audit.account({**start_of(audit.levers), "precision": "fp32", "optimizer": "adam"})
    parts = account.parts
    assert parts["optimizer"] == pytest.approx(2 * parts["gradients"], rel=0.01)
    static = sum(parts[part] for part in ("weights", "gradients", "optimizer"))
    assert static == pytest.approx(4 * parts["weights"], rel=0.01)


def test_each_audit_asks_about_its_own_device_and_repeats_a_wrong_answer_back() -> None:
    prompts, answers = set(), set()
    for name in NAMES:
        audit, question = BY_NAME[name].audit, audit_act(name).act.question
        assert question is not None
        account = audit.account(audit.ask.setting)
        unit = audit.ask.share[1] * account.limit if audit.ask.share else audit.unit[1]
        exact = sum(account.parts[part] for part in audit.ask.parts) / unit
        assert question.answer() == pytest.approx(exact)
        assert exact < audit.ask.top
        assert question.unit == (audit.ask.share[0] if audit.ask.share else audit.unit[0])
        wrong: Any = audit_act(name).reveal(state_of(audit_act(name), 1, revealed=True))
        assert wrong["headline"].endswith("You said 1.")
        assert not wrong["correct"]
        step = round(exact / audit.ask.step) * audit.ask.step
        right: Any = audit_act(name).reveal(state_of(audit_act(name), step, revealed=True))
        said, shown = f"{step:,g}", right["headline"].split()[0]
        assert right["headline"].endswith(
            f"You said {said}, and that is {'right' if said == shown else 'near enough'}."
        )
        assert right["correct"]
        prompts.add(question.prompt)
        answers.add(round(exact))
    assert len(prompts) == len(answers) == len(NAMES)


def test_the_two_smallest_devices_are_asked_about_their_own_limit_and_answered_in_bytes_too() -> None:
    """Three audits once asked one question: Adam in FP32, how much?"""
    shares = {name: BY_NAME[name].audit.ask.share for name in NAMES}
    assert [name for name, share in shares.items() if share] == ["mobile", "tiny"]
    mobile: Any = {"act": audit_act("mobile"), "audit": BY_NAME["mobile"].audit}
    tiny: Any = {"act": audit_act("tiny"), "audit": BY_NAME["tiny"].audit}
    for one, what in ((mobile, "512 MB"), (tiny, "the SRAM that is left")):
        question: Any = one["act"].act.question
        assert what in question.prompt
        account = one["audit"].account(one["audit"].ask.setting)
        size = one["audit"].unit[1]
        verdict: Any = one["act"].reveal(state_of(one["act"], 1, revealed=True))
        for part in one["audit"].ask.parts:
            [told] = re.findall(rf"{audit.NAMES[part].lower()} ([\d.,]+\d)", verdict["headline"])
            assert number(told) == pytest.approx(account.parts[part] / size, abs=1)
        assert f" {one['audit'].unit[0]}. You said" in verdict["headline"]
    account = mobile["audit"].account(mobile["audit"].ask.setting)
    assert mobile["act"].act.question.answer() == pytest.approx(100 * account.parts["optimizer"] / account.limit)
    assert account.parts["optimizer"] > account.limit, "the lesson: Adam's vectors alone exceed the glasses"
    whole = tiny["audit"].account(tiny["audit"].ask.setting)
    assert tiny["act"].act.question.answer() == pytest.approx(whole.need / whole.limit)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_how_far_a_prediction_is_stands_beside_its_gap_and_in_the_frame(name: str) -> None:
    """3.92 GB short once stood 160 pixels right of its gap."""
    ask = BY_NAME[name].audit.ask
    for said in (0, 0.13 * ask.top, 0.5 * ask.top, ask.top):
        view: Any = audit_act(name).compute(state_of(audit_act(name), said, revealed=True))
        svg = drawn(f"state-audit: {name}", "each", view["data"])
        [(start, width)] = re.findall(r'gap_marks".*?d="M([\d.]+),[^h]+h([\d.]+)v', svg)
        [(text, place)] = re.findall(r'gap_text_marks".*?text: ([^"]+)".*?translate\(([\d.]+),', svg)
        at = float(place)
        ends = (float(start), float(start) + float(width))
        assert min(abs(at - end) for end in ends) <= 10, (said, at, ends)
        # Seven pixels a letter are more than the page's font takes.
        assert at + 7 * len(text) <= 344 - 8, text


def test_the_audits_differ_in_what_takes_the_most_memory_and_in_why_their_start_fails() -> None:
    """The largest part at the best setting, and what the start is refused for."""
    kinds = set()
    for track in TRACKS:
        account = track.audit.account(FOUND[track.name]["audit"].setting)
        share = {part: held / account.need for part, held in account.parts.items()}
        kinds.add((max(share, key=lambda part: share[part]), track.audit.account(start_of(track.audit.levers)).fits))
    assert len(kinds) >= 2
    edge = BY_NAME["edge"].audit
    account = edge.account({**start_of(edge.levers), "batch": 8})
    assert account.fits
    assert account.refused, "on the Orin memory is not the limit: the range of FP16 is"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_an_audit_tells_nothing_before_the_lock_and_draws_in_the_page_colors(name: str) -> None:
    act = audit_act(name)
    public = public_text(act)
    assert not [text for text in hidden_texts(act) if text and text in public]
    described: Any = describe(act)
    closed: Any = act.compute(described["state"])
    assert closed["data"]["bars"] == []
    assert closed["headline"]["value"] == "?"
    view = audited(name)
    boxes = set()
    for chart in ("each", "waterfall"):
        for data in (closed["data"], view["data"]):
            svg = drawn(f"state-audit: {name}", chart, data)
            assert not fixed_colors(svg)
            boxes.add((chart, view_box(svg)))
    assert len(boxes) == 2, "the frame does not move"


WIDTH, TOKENS, BLOCKS, LAST = 64, 16, 12, 2
"""About as many times wider than long as a ViT-B/16, so that attention has its share of a block's operations."""


class Block(nn.Module):
    """The products of a ViT's block, and perhaps low-rank pairs beside queries and values."""

    def __init__(self, *, adapter: bool) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.qkv, self.projection = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.pairs = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, 1, bias=False), nn.Linear(1, WIDTH, bias=False)) for _ in range(2)
        )
        self.adapter = adapter

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Of (TOKENS, WIDTH)."""
        normed = self.norms[0](inputs)
        queries, keys, values = self.qkv(normed).chunk(3, dim=-1)
        if self.adapter:
            queries, values = queries + self.pairs[0](normed), values + self.pairs[1](normed)
        mixed = torch.softmax(queries @ keys.T, dim=-1) @ values
        middle = inputs + self.projection(mixed)
        return middle + self.down(nn.functional.gelu(self.up(self.norms[1](middle))))  # type: ignore[no-any-return]


def counted(scope: str, *, checkpointing: bool) -> int:
    """FLOPs of forward and backward, by PyTorch, where a part of twelve blocks learns."""
    blocks, head = [Block(adapter=scope == "adapters") for _ in range(BLOCKS)], nn.Linear(WIDTH, 1)
    for at, block in enumerate(blocks):
        learns = scope == "all" or (scope == "last" and at >= BLOCKS - LAST)
        block.requires_grad_(learns)
        block.pairs.requires_grad_(learns or scope == "adapters")
    passed = torch.randn(TOKENS, WIDTH)
    with FlopCounterMode(display=False) as counter:
        for block in blocks:
            passed = checkpoint(block, passed, use_reentrant=False) if checkpointing else block(passed)
        head(passed).sum().backward()
    return int(counter.get_total_flops())


@pytest.mark.full
@pytest.mark.parametrize("scope", mobile.LEARNER.scopes)
def test_checkpointing_computes_again_what_pytorch_computes_again(scope: str) -> None:
    """The forward pass of all that learns, and of all that gradients pass through, without each block's last product.

    Of a classifier alone it is nothing. A whole forward pass was counted once.
    """
    part = mobile.LEARNER.scopes[scope]
    times = part.checkpointed().flops / part.flops
    again = counted(scope, checkpointing=True) / counted(scope, checkpointing=False)
    # The first block has no gradient of its input, and the adapters and the head have products of their own.
    assert again - 1 == pytest.approx(times - 1, rel=0.02)
    assert (times > 1) == (scope != "head")


def test_adapters_keep_what_the_engine_keeps_of_blocks_with_lora_and_are_weights_themselves() -> None:
    """Ten of sixteen parts were counted once: the input of both adapters was missing, and their own bytes were."""
    network = model("gpt2")
    per = 4 * network.layers * 1024 * network.hidden

    def kept(**how: Any) -> float:
        asked = setup("gpt2", "h100-sxm", 1, 1024, precision="fp32", optimizer="adamw", **how)
        named = training_memory(asked).tensors
        return sum(one.bytes for one in named if one.component == "activations" and one.name.startswith("blocks")) / per

    scope = mobile.LEARNER.scopes["adapters"]
    assert kept() == pytest.approx(mobile.VIT.block_kept / (mobile.VIT.tokens * mobile.VIT.hidden), abs=0.1)
    assert kept(method="lora", lora_rank=8, lora_targets="c_attn") == pytest.approx(16 * mobile.FROZEN, abs=0.1)
    assert scope.kept == mobile.KEPT * mobile.FROZEN
    board = BY_NAME["mobile"].audit
    setting = start_of(board.levers)
    base, more = (board.account({**setting, "scope": name}).parts["weights"] for name in ("all", "adapters"))
    assert more - base == 4 * scope.trained


@pytest.mark.parametrize("scope", mobile.LEARNER.scopes)
def test_checkpointing_keeps_the_inputs_of_what_learns_and_one_block(scope: str) -> None:
    part = mobile.LEARNER.scopes[scope]
    kept, blocks = part.checkpointed().kept, {"all": BLOCKS, "last": LAST, "adapters": BLOCKS}.get(scope)
    if blocks is None:
        assert kept == part.kept
        return
    one = part.kept / blocks
    assert kept == pytest.approx(blocks * mobile.VIT.block_kept * mobile.INPUT + one)
    assert one < kept < part.kept


@pytest.mark.parametrize("name", ["mobile", "tiny"])
def test_freezing_shrinks_the_terms_that_the_page_names(name: str) -> None:
    """The page named the second alone; activations shrink too, and on the hearable the weights."""
    assert "freezing the second and\nthe third, and the first where frozen weights stay in flash." in PAGE
    board, net = BY_NAME[name].audit, {"mobile": mobile.LEARNER, "tiny": tiny.network(tiny.FRAMES)}[name]
    every = {**start_of(board.levers), "scope": "all"}
    whole = board.account(every).parts
    for scope in set(net.scopes) - {"all"}:
        less = board.account({**every, "scope": scope}).parts
        assert all(less[part] < whole[part] for part in ("gradients", "optimizer", "activations"))
        assert (less["weights"] < whole["weights"]) == net.frozen_in_flash


@pytest.mark.parametrize("name", NAMES)
def test_what_is_compared_with_training_is_called_the_weights_which_are_not_all_that_serving_needs(name: str) -> None:
    """A detector's two largest maps are half as large again as its weights."""
    board, act = BY_NAME[name].audit, audit_act(name)
    counted = board.account(start_of(board.levers)).serving
    parameters = {
        "cloud": cloud.MODEL.parameters,
        "edge": edge.NET.parameters,
        "mobile": mobile.VIT.parameters,
        "tiny": tiny.NET.parameters,
    }
    assert counted in (2 * parameters[name], 4 * parameters[name])
    assert act.act.reflections[0].text.count("the weights of the whole finished model take,") == 1
    told: Any = act.reveal(state_of(act, 12, revealed=True))
    assert told["paragraphs"][0].startswith(f"The weights of the finished {BY_NAME[name].model} take ")

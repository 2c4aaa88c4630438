"""The planner's links: they hold what the page writes, open as it reads them, and nothing else is let in."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest
import yaml

from book import plans
from docs.acts.plan.act import ACT
from docs.acts.plan.choices import CONTROLS
from docs.acts.plan.labels import worded
from docs.acts.plan.word_forms import MORE
from explorable.live import Note
from explorable.live.runtime.exchange import control_value
from ironlaw import EngineError, setup
from tests.docs.planner import START, at
from tests.explorable.measured.made import Site


def test_links_of_the_tables_open_as_the_page_reads_them() -> None:
    state = at(model="Qwen/Qwen3-8B", method="qlora", gpus=8)
    letters = plans.link(state, START).removeprefix("#state=1.plan.")
    packed = base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
    assert json.loads(zlib.decompress(packed, -15)) == {
        "controls": {"model": "Qwen/Qwen3-8B", "method": "qlora", "gpus": 8}
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config", '{"model_type": "llama", "_name_or_path": "secret"}'),
        ("config", "[]"),
        ("config", "not json"),
        ("more", "1"),
        ("more", "null"),
        ("more", "garbage"),
        ("more", '{"gpu": "h200"}'),
        ("more", '{"said": {"model": "gpt2"}}'),
        ("more", '{"said": {"offload_sizes": "bucket:auto,x:1"}}'),
        ("more", '{"lora_targets": "<script>"}'),
        ("more", '{"cp": "awake:2"}'),
        ("more", '{"ep": "all-linear"}'),
        ("more", '{"ep": 1e3}'),
        ("more", '{"rollout": "asleep:abc"}'),
        ("more", '{"rollout": "asleep"}'),
        ("more", '{"reference": 1000000}'),
        ("more", '{"reference": "16-bit:0"}'),
        ("more", '{"offload": "nosuch"}'),
        ("more", '{"offload_sizes": "bucket:x"}'),
        ("more", '{"update": "fp32"}'),
        ("more", '{"dora": 1}'),
        ("more", '{"imbalance": "2"}'),
        ("more", '{"cp": 2, "was": {"cp": {"cp": ["awake:2", 2]}}}'),
        ("measured", '{"step_s": "1"}'),
        ("left", '{"gpu": "h200"}'),
        ("left", '{"model": "<script>"}'),
        ("left", '{"zero": [3]}'),
        ("measured", '{"step_s": NaN}'),
        ("same", "somebody/else"),
        ("same", "llama3-8b"),
        ("measured", '{"name": 1}'),
    ],
)
def test_a_link_holds_only_what_the_page_writes(name: str, text: str) -> None:
    note = next(control for control in CONTROLS if control.name == name)
    assert isinstance(note, Note)
    with pytest.raises(ValueError, match=r"the link|is not allowed|is missing|is unknown"):
        control_value(note, text)


@pytest.mark.parametrize("name", ["config", "more", "measured"])
def test_a_note_of_lists_in_each_other_is_refused_before_it_is_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where CPython's reader of JSON raises an error, a browser's Python would end."""
    note = next(control for control in CONTROLS if control.name == name)
    assert isinstance(note, Note)
    monkeypatch.setattr(json, "loads", lambda *_: pytest.fail("read"))
    with pytest.raises(ValueError, match="the link"):
        control_value(note, '{"a": ' + "[" * 100 + "]" * 100 + "}")


@pytest.mark.parametrize(
    "more",
    [
        {"cp": 2, "ep": 8, "imbalance": 1.5, "node_size": 4, "micro_batches": 3, "update": "fused"},
        {"lora_targets": "q_proj,v_proj", "lora_dropout": 0.05, "dora": True, "base_format": "fp32", "dropout": 0},
        {"reference": "16-bit:3", "rollout": "asleep:0.5", "eval_batch": 8, "eval_kept": 0, "eval_logits": True},
        {"reference": "fp32", "rollout": "generate", "runtime": "deepspeed", "framework": "megatron"},
        {"offload": "shards", "offload_sizes": "bucket:100,live:5", "quantization_block": 64, "keep_logits": False},
    ],
)
def test_a_link_holds_every_word_that_files_set(more: dict[str, Any]) -> None:
    note = next(control for control in CONTROLS if control.name == "more")
    assert control_value(note, json.dumps(more)) == json.dumps(more)


def test_a_check_box_is_allowed_each_of_its_ways_once() -> None:
    line = worded(EngineError("offload", "nosuch", ("none", "optimizer", "gradients", "parameters", "shards")))
    assert line.endswith("allowed: off, on")


def test_words_of_notes_are_words_of_a_setup() -> None:
    for word in MORE:
        words: dict[str, Any] = {word: object()}
        with pytest.raises(EngineError) as caught:
            setup("gpt2", **words)
        assert caught.value.what != "word"


def test_the_table_of_full_training_counts_what_fsdp_does_and_its_cells_open_the_same_numbers() -> None:
    page = (Path(__file__).parents[2] / "docs/plan/index.md").read_text("utf-8")
    [text] = re.findall(r"^/// plans \| full\n(.*?)^///$", page, re.MULTILINE | re.DOTALL)
    options = yaml.safe_load(text)
    assert options["with"] == {"gpus": 8, "zero": 3}
    assert "mixed precision" in options["caption"]
    cells = [*plans.block("full", text).iter("a")]
    assert len(cells) == len(options["models"]) * len(options["cards"])
    for cell in cells[::7]:
        letters = cell.attrib["href"].removeprefix("#state=1.plan.")
        packed = base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
        opened = ACT.compute(at(**json.loads(zlib.decompress(packed, -15))["controls"]))
        assert f" {opened.headline.value} GB, {opened.readings['Verdict'].lower()}" in "".join(cell.itertext())
        assert "--precision mixed-bf16" in opened.command


def test_what_a_table_of_plans_cannot_show_is_told_with_its_line(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.page("# Page\n\n/// plans | lora\ncaption: Plans\n///\n\n/// plans | lora\ncaption: [\n///\n")
    few, bad = site.defects()
    assert "docs/index.md:3: the block takes caption, cards, models, with; it has caption." in few
    assert "docs/index.md:8: not valid YAML" in bad


def test_every_title_of_a_plan_without_numbers_has_its_mark() -> None:
    for controls in ({"method": "qlora", "gpus": 8, "tp": 8}, {"precision": "fp8", "gpu": "t4"}):
        view = ACT.compute(at(**controls))
        assert view.failure is not None
        assert view.failure.title in plans.MARKS

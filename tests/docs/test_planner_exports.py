"""The planner's other outputs: command, link, exports and changed files say the numbers of the page."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import shlex
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, seed, settings
from hypothesis import strategies as st

from book import plans
from docs.acts.plan.act import ACT
from docs.acts.plan.beside import GROUP
from docs.acts.plan.choices import CONTROLS, words_of
from docs.acts.plan.give import BESIDES, INSTALL, NAMES, PROGRAM, exports
from docs.acts.plan.rewritten import UNSAID, rewrite
from docs.acts.plan.take import read
from docs.acts.plan.tips import suggest
from docs.acts.plan.view import SAID, duration
from explorable.live import Choice, Slider, State, Toggle
from explorable.live.runtime.acts import LoadedAct
from ironlaw import GB, EngineError, setup
from ironlaw.cli import main
from ironlaw.files.together import UNUSED
from ironlaw.models.config_json import essentials, published
from tests.conftest import tries
from tests.docs.acts import loaded
from tests.docs.planner import AXOLOTL, START, at, sent


@pytest.fixture(scope="module")
def act() -> LoadedAct:
    return loaded("plan")


def test_the_command_gives_the_same_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    for state in (
        START,
        at(model="Qwen/Qwen2.5-7B", method="full", gpus=8, zero=3, batch=2, chunked=True, compiled=True),
    ):
        view = ACT.compute(state)
        words = view.command.removeprefix("python -m ironlaw ").split()
        assert main([*words, "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert f"{answer['memory_bytes']['device_total'] / GB:.1f}" == view.headline.value


@pytest.mark.parametrize(
    ("cards", "controls", "expected"),
    [
        (96, {}, {"dp": 96}),
        (12, {}, {"dp": 12}),
        (24, {"tp": 8}, {"dp": 3, "tp": 8}),
        (6, {"pp": 3}, {"dp": 2, "pp": 3}),
        (3, {}, {"dp": 3}),
        (96, {"tp": 4, "pp": 2}, {"dp": 12, "tp": 4, "pp": 2}),
    ],
)
def test_any_number_of_cards_is_carried_by_control_link_command_and_file(
    cards: int, controls: dict[str, Any], expected: dict[str, int], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    state = at(gpus=cards, method="full", zero=3, **controls)
    words = words_of(state)
    assert {name: words[name] for name in expected} == expected
    view = ACT.compute(state)
    assert main([*shlex.split(view.command)[3:], "--json"]) == 0 or view.failure
    assert f"{json.loads(capsys.readouterr().out)['memory_bytes']['device_total'] / GB:.1f}" == view.headline.value
    letters = plans.link(state, START).removeprefix("#state=1.plan.")
    linked = json.loads(zlib.decompress(base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4)), -15))
    assert linked["controls"]["gpus"] == cards
    machines = max(cards // 8, 1)
    line = f"torchrun --nnodes {machines} --nproc-per-node {cards // machines} train.py"
    heard = read([line], at(**controls))
    assert heard.controls["gpus"] == cards
    (tmp_path / "run.sh").write_text(line)
    (tmp_path / "config.json").write_text(
        json.dumps({"architectures": ["x"], **published()["Qwen/Qwen3-8B"]["config"]})
    )
    files = [str(tmp_path / name) for name in ("run.sh", "config.json")]
    main(["plan", *files, "--gpu", "h100-sxm", "--json"])
    assert f" --dp {cards} " in f"{json.loads(capsys.readouterr().out)['command']} "


def test_a_file_for_deepspeed_of_a_plan_without_its_buffers_says_so_and_read_again_has_them() -> None:
    by_hand = at(method="full", gpus=8, zero=3)
    texts = exports(by_hand)
    assert BESIDES in texts[""]
    heard = read([texts["deepspeed.json"]], by_hand)
    again = State("run", {**by_hand.controls, **heard.controls})
    assert words_of(again)["offload_sizes"]
    assert BESIDES not in exports(again).get("", "")


@pytest.mark.parametrize(
    ("named", "stands", "launched"),
    [
        ("meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B"),
        ("meta-llama/llama-3.1-70b", "meta-llama/Llama-3.1-70B", "meta-llama/Llama-3.1-70B"),
        ("meta-llama/Meta-Llama-3-8B", "meta-llama/Meta-Llama-3-8B", "meta-llama/Meta-Llama-3-8B"),
        ("NousResearch/Meta-Llama-3-8B", "meta-llama/Meta-Llama-3-8B", "YOUR_MODEL"),
        ("Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-7B", "YOUR_MODEL"),
        ("google/gemma-2-9b-it", "google/gemma-2-9b", "YOUR_MODEL"),
        ("Qwen2.5-7B", "Qwen/Qwen2.5-7B", "Qwen/Qwen2.5-7B"),
    ],
)
def test_a_launch_line_names_the_readers_model_and_never_another_of_its_sizes(
    named: str, stands: str, launched: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = f"base_model: {named}\nadapter: lora\nmicro_batch_size: 1\nbf16: true\ngradient_checkpointing: true\n"
    for text in (named, config, f"torchrun sft.py --model_name_or_path {named} --use_peft --bf16"):
        heard = read([text], START)
        state = State("run", {**START.controls, **heard.controls})
        assert state.controls["model"] == stands
        said = [line for line in heard.said if f"has the sizes of {stands}, which stands here" in line]
        assert said == [line for line in heard.said if line.startswith(named) and launched == "YOUR_MODEL"]
        assert bool(said) == (launched == "YOUR_MODEL")
        texts = exports(state)
        assert f" --model_name_or_path {launched} " in texts["torchrun"]
        assert ("a model of the sizes of" in texts["For an issue (Markdown)"]) == bool(said)
        # Whoever chooses another model of the list has that one.
        chosen = State("run", {**state.controls, "model": "Qwen/Qwen3-8B"})
        assert " --model_name_or_path Qwen/Qwen3-8B " in exports(chosen)["torchrun"]
    (tmp_path / "axolotl.yaml").write_text(config)
    main(["plan", str(tmp_path / "axolotl.yaml"), "--gpu", "h100-sxm", "--export", "torchrun"])
    line = capsys.readouterr().out
    assert any(f" --model_name_or_path {name} " in line for name in (launched, "YOUR_MODEL"))


def test_the_pages_model_is_not_launched_for_one_that_it_does_not_know_until_the_reader_takes_it() -> None:
    heard = read([AXOLOTL.replace("NousResearch/Meta-Llama-3-8B", "somebody/unheard-of")], START)
    state = State("run", {**START.controls, **heard.controls, "method": "lora"})
    assert " --model_name_or_path YOUR_MODEL " in exports(state)["torchrun"]
    taken = next(one for one in suggest(state) if one.title.startswith("My model is"))
    confirmed = State("run", {**state.controls, **taken.controls})
    assert " --model_name_or_path meta-llama/Meta-Llama-3-8B " in exports(confirmed)["torchrun"]


def test_the_checkpoint_and_the_configuration_of_a_reader_are_not_launched_under_anothers_name() -> None:
    named = read(["google/gemma-2-9b-it"], START).controls
    config = json.dumps({"architectures": ["x"], **published()["Qwen/Qwen3-8B"]["config"]})
    heard = read([config], State("run", {**START.controls, **named}))
    state = State("run", {**START.controls, **named, **heard.controls})
    assert " --model_name_or_path YOUR_MODEL " in exports(state)["torchrun"]
    assert "sizes of" not in exports(state)["For an issue (Markdown)"]


def test_how_to_get_the_program_of_the_shell_line_is_said_as_the_page_on_it_says_it() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/own_code.md").read_text("utf-8")
    install = page.partition("## Install")[2].partition("## ")[0]
    assert INSTALL in install.splitlines()
    assert ("It is not on PyPI yet" in install) == ("on no package index yet" in PROGRAM)
    assert INSTALL in PROGRAM
    assert ACT.program == PROGRAM
    assert INSTALL in exports(START)[""]


def plans_drawn() -> st.SearchStrategy[dict[str, Any]]:
    """Controls of plans, of all kinds that the page offers."""
    each: dict[str, st.SearchStrategy[Any]] = {"model": st.sampled_from([*published()][::7])}
    for control in CONTROLS:
        if isinstance(control, Choice) and control.name not in each:
            each[control.name] = st.sampled_from([option.value for option in control.options])
        elif isinstance(control, Toggle):
            each[control.name] = st.booleans()
        elif isinstance(control, Slider) and control.integer:
            most = {"gpus": 96, "tp": 8, "pp": 8}.get(control.name, min(int(control.maximum), 4096))
            each[control.name] = st.integers(int(control.minimum), most)
    return st.fixed_dictionaries({}, optional=each).map(_used_up)


def _used_up(controls: dict[str, Any]) -> dict[str, Any]:
    """As many cards as the groups of a plan use up."""
    return {**controls, "gpus": controls.get("gpus", 1) * controls.get("tp", 1) * controls.get("pp", 1)}


@seed(30)
@settings(max_examples=tries(200))
@given(plans_drawn())
def test_page_link_command_line_and_exports_never_say_two_numbers(controls: dict[str, Any]) -> None:
    state = at(**controls)
    view = ACT.compute(state)
    assume(view.headline.value != "–")
    # The link, as a page reads it.
    letters = plans.link(state, START).partition("#state=1.plan.")[2]
    packed = base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
    linked = json.loads(zlib.decompress(packed, -15)) if letters else {}
    opened = ACT.compute(State("run", {**START.controls, **linked.get("controls", {})}))
    assert (opened.headline, opened.readings, opened.tables) == (view.headline, view.readings, view.tables)
    # The command line, and the two exports that hold numbers.
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        main([*shlex.split(view.command)[3:], "--json"])
    answer = json.loads(printed.getvalue())
    texts = exports(state)
    exported = json.loads(texts["plan.json"])
    assert exported["estimate"] == answer
    assert exported["command"] == view.command
    assert f"`{view.command}`" in texts["For an issue (Markdown)"]
    assert f"{answer['memory_bytes']['device_total'] / GB:.1f}" == view.headline.value
    assert SAID[answer["verdict"]] == view.readings["Verdict"]
    assert duration(answer["calibrated"]["step_s"]["expected"]) == view.readings["A step"]
    assert f"| **all** | {answer['memory_bytes']['device_total'] / 1e9:,.2f} |" in texts["For an issue (Markdown)"]


def test_the_command_of_torchrun_names_a_model_of_the_hub_and_leaves_out_the_readers_own() -> None:
    assert " --model_name_or_path Qwen/Qwen3-8B " in exports(at(model="Qwen/Qwen3-8B"))["torchrun"]
    config = json.dumps(essentials(published()["Qwen/Qwen3-8B"]["config"]))
    assert " --model_name_or_path YOUR_MODEL " in exports(at(model="pasted", config=config))["torchrun"]


@pytest.mark.parametrize(
    ("controls", "told"),
    [
        ({}, "No fsdp.yaml: one card has nobody to divide with."),
        ({"method": "full", "gpus": 8}, "No deepspeed.json: the cards divide nothing."),
        ({"method": "full", "gpus": 8, "tp": 8}, "No accelerate.yaml: this page writes none for groups"),
        ({"method": "full", "gpus": 8, "zero": 3, "precision": "bf16"}, "No deepspeed.json: here FSDP divides"),
        ({"method": "full", "gpus": 8, "zero": 1, "precision": "deepspeed"}, "No fsdp.yaml: here DeepSpeed divides"),
        ({"method": "qlora", "more": '{"base_format": "16-bit"}'}, "No torchrun: TRL makes FP32 of what"),
        (
            {"method": "full", "gpus": 8, "zero": 3, "more": '{"offload_sizes": "bucket:1000000"}'},
            "No accelerate.yaml: it has no settings for the sizes of DeepSpeed's buffers",
        ),
        ({"offload": True}, "No torchrun: its programs have no settings for all"),
        ({"method": "full", "gpus": 8, "zero": 3}, ""),
    ],
    ids=str,
)
def test_what_is_not_written_for_a_plan_is_told_with_the_reason(controls: dict[str, Any], told: str) -> None:
    texts = exports(at(**controls))
    missing = "\n".join(line for line in texts[""].splitlines() if line.startswith("No "))
    assert told in missing if told else not missing
    named = {line.removeprefix("No ").partition(":")[0] for line in missing.splitlines()}
    files = {"torchrun", "accelerate.yaml", "deepspeed.json", "fsdp.yaml"}
    assert named == files - texts.keys()


@pytest.mark.parametrize("said", ["pref_loss: orpo", "pref_loss: sigmoid", "finetuning_type: full"])
def test_why_there_is_no_launch_line_for_preferences_holds_for_every_program(said: str) -> None:
    stage = "dpo" if "loss" in said else "kto"
    text = f"model_name_or_path: gpt2\nstage: {stage}\n{said}\ncutoff_len: 512\n"
    why = exports(State("plan", {**START.controls, **read([text], START).controls}))[""]
    line = next(line for line in why.splitlines() if line.startswith("No torchrun: "))
    assert all(program in line for program in ("trl", "llamafactory-cli", "axolotl"))
    assert not {"DPO", "KTO", "TRL"} & set(line.split())


def test_what_is_said_of_a_file_to_take_holds_where_no_file_was_given() -> None:
    assert "above" not in exports(at(method="full", gpus=8, zero=3))[""]


@pytest.mark.parametrize("zero", [2, 3])
@pytest.mark.parametrize("precision", ["", "mixed-bf16", "deepspeed"])
def test_texts_exported_from_one_plan_are_read_together_as_that_plan(zero: int, precision: str) -> None:
    state = at(method="full", gpus=8, zero=zero, precision=precision)
    texts = exports(state)
    for other in ("torchrun", "accelerate.yaml", "fsdp.yaml"):
        if other not in texts:
            continue
        heard = read([texts[other], texts["deepspeed.json"]], state)
        again = words_of(State("run", {**state.controls, **heard.controls}))
        divided = precision != "deepspeed"
        assert (UNUSED in heard.said) is divided
        assert not [line for line in heard.said if "not counted" in line.lower()]
        # DeepSpeed's own buffers are in its file, and in no control.
        expected = {**words_of(state), **({} if divided else {"offload_sizes": again["offload_sizes"]})}
        assert setup(**again) == setup(**expected)


def test_a_file_of_deepspeed_that_a_text_names_still_disagrees_with_fsdp() -> None:
    engine = json.dumps({"zero_optimization": {"stage": 3}})
    line = "torchrun --nproc-per-node 8 sft.py --model_name_or_path gpt2 --fsdp full_shard --deepspeed deepspeed.json"
    with pytest.raises(EngineError, match="disagree about runtime"):
        read([line, engine], START)


def test_files_follow_the_controls(act: LoadedAct) -> None:
    heard = read([AXOLOTL], START)
    state = State("run", {**START.controls, **heard.controls, "batch": 1, "checkpointing": "none"})
    changed = act.rewrite([AXOLOTL], sent(state))
    assert isinstance(changed, dict)
    lines = str(changed["axolotl"]).splitlines()
    assert {"-micro_batch_size: 2", "+micro_batch_size: 1", "+gradient_checkpointing: false"} <= set(lines)
    unchanged = act.rewrite([AXOLOTL], sent(State("run", {**START.controls, **heard.controls})))
    assert unchanged == {}


LLAMA = "meta-llama/Meta-Llama-3-8B"
ENGINE = {"bf16": {"enabled": True}, "zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 16}
FILES = {
    "axolotl, everything": "base_model: NousResearch/Meta-Llama-3-8B\nmicro_batch_size: 4\nsequence_len: 2048\n"
    "bf16: true\noptimizer: adamw_torch\ngradient_checkpointing: false\n",
    "axolotl, LoRA": "base_model: NousResearch/Meta-Llama-3-8B\nadapter: lora\nlora_r: 16\nmicro_batch_size: 4\n"
    "sequence_len: 4096\nbf16: true\n",
    "axolotl, QLoRA": f"{AXOLOTL}eval_batch_size: 64\n",
    "LLaMA-Factory": f"model_name_or_path: {LLAMA}\nstage: sft\nfinetuning_type: lora\nlora_rank: 8\nbf16: true\n"
    "per_device_train_batch_size: 16\nper_device_eval_batch_size: 128\ncutoff_len: 4096\nval_size: 0.1\n",
    "TRL": f"model_name_or_path: {LLAMA}\ndataset_name: a/b\nper_device_train_batch_size: 16\nbf16: true\n"
    "use_peft: true\nmax_length: 2048\ndtype: bfloat16\nper_device_eval_batch_size: 128\n",
    "Trainer's command": f"torchrun --nproc_per_node 8 run_clm.py --model_name_or_path {LLAMA} --bf16 "
    "--per_device_train_batch_size 8 --fsdp full_shard --block_size 4096\n",
    "TRL's command": f"torchrun --nproc_per_node 8 sft.py --model_name_or_path {LLAMA} --dataset_name a/b --bf16 "
    "--per_device_train_batch_size 16 --gradient_accumulation_steps 2 --use_peft --per_device_eval_batch_size 64\n",
    "DeepSpeed": json.dumps(ENGINE),
    "DeepSpeed, both": json.dumps({**ENGINE, "gradient_accumulation_steps": 2}, indent=2),
    "DeepSpeed, all": json.dumps({**ENGINE, "gradient_accumulation_steps": 2, "train_batch_size": 256}, indent=2),
}
LAYOUT = {"dp", "tp", "pp", "zero", "offload"}
"""Words that no setting of a training's own file says."""
OF_A_SCRIPT = {"method", "lora_rank", "precision", "optimizer", "loss", "execution", "sequence", "checkpointing"}
"""Words that DeepSpeed's file leaves to its script."""


@pytest.mark.parametrize("kind", FILES)
def test_a_changed_file_says_what_each_tip_promised(kind: str, tmp_path: Path) -> None:
    """Applied and read again; what the file has no setting for is told beside the change."""
    text, driven = FILES[kind], kind.startswith("DeepSpeed")
    before = at(gpu="rtx-4090", **({"gpus": 8, "method": "full"} if driven else {}))
    stood = State("run", {**before.controls, **read([text], before).controls})
    tips = [tip for tip in suggest(stood) if tip.title]
    assert len(tips) >= 3
    for tip in tips:
        promised = State("run", {**stood.controls, **tip.controls})
        changed = dict(ACT.reader.rewrite([text], promised))  # type: ignore[union-attr, misc]
        told = changed.pop(UNSAID, "")
        (tmp_path / "yours").write_text(text)
        for difference in changed.values():
            here = difference.replace("+++ changed", "+++ yours", 1)
            subprocess.run(["git", "apply", "-p0"], input=here, text=True, cwd=tmp_path, check=True)
        after = State("run", {**stood.controls, **read([(tmp_path / "yours").read_text()], stood).controls})
        words = [words_of(state) for state in (promised, after)]
        if (made := [setup(**one) for one in words])[0] == made[1]:
            continue
        if tip.group == GROUP:
            assert not told or told == f"not {tip.title.removeprefix('Take back: ')}"
            continue
        missed = {word for word in {**words[0], **words[1]} if words[0].get(word) != words[1].get(word)}
        if made[0].adaptation.base == made[1].adaptation.base:  # 16 bits are the usual format, said or not
            missed -= {"base_format"}
        passes = {"accumulate", "batch", "micro_batches"} if promised.controls["pp"] != 1 else set()
        # TRL keeps adapters in FP32, whatever the rest is: only a script of one's own tells peft otherwise.
        adapters = {"precision", "adapter_format"} if kind.startswith("TRL") else set()
        # Of Liger's kernels axolotl alone switches each by itself.
        norms = set() if kind.startswith("axolotl") else {"rms_norm"}
        assert missed <= LAYOUT | passes | adapters | norms | (OF_A_SCRIPT if driven else set()), (tip.title, missed)
        assert told or driven, tip.title


def test_batches_of_deepspeeds_file_agree_after_a_change() -> None:
    text = FILES["DeepSpeed, all"]
    state = State("run", {**START.controls, **read([text], START).controls, "batch": 4})
    changed = "\n".join(ACT.reader.rewrite([text], state).values())  # type: ignore[union-attr, misc]
    assert '+  "train_micro_batch_size_per_gpu": 4' in changed
    assert '+  "train_batch_size": 64' in changed


@pytest.mark.parametrize(("saves", "waits"), [("lora_modules_to_save: [embed_tokens]\n", True), ("", False)])
def test_no_export_has_a_verdict_that_the_page_has_not(saves: str, waits: bool) -> None:
    text = f"model_name_or_path: gpt2\nfinetuning_type: lora\ncutoff_len: 512\nbf16: true\n{saves}"
    given = State("plan", {**START.controls, **read([text], START).controls})
    texts, data = exports(given), json.loads(exports(given)[NAMES["json"]])
    assert ("- Without what is not counted; as it stands: fits" in texts[NAMES["markdown"]]) is waits
    assert ("- Verdict: fits" in texts[NAMES["markdown"]]) is not waits
    assert (data["verdict"], data.get("open")) == ((None, ["besides"]) if waits else ("fits", None))
    assert (data["estimate"]["fits"], data["estimate"]["verdict"]) == ((None, None) if waits else (True, "fits"))


def test_files_of_dpo_count_pairs_where_the_plan_counts_sequences() -> None:
    text = "model_name_or_path: gpt2\nstage: dpo\nfinetuning_type: lora\nper_device_train_batch_size: {}\n"
    given = {**START.controls, **read([text.format(4)], START).controls}
    assert given["batch"] == 8
    assert rewrite([text.format(4)], State("plan", given)) == {}
    changed = rewrite([text.format(4)], State("plan", {**given, "batch": 16}))["LLaMA-Factory"]
    assert "+per_device_train_batch_size: 8" in changed
    assert UNSAID in rewrite([text.format(4)], State("plan", {**given, "batch": 3}))
    engine = json.dumps({"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}}, indent=2)
    both = [text.format(4), engine]
    given = {**START.controls, **read(both, START).controls, "gpus": 8}
    assert given["batch"] == 8
    diffs = rewrite(both, State("plan", {**given, "batch": 16}))
    assert "+per_device_train_batch_size: 8" in diffs["LLaMA-Factory"]
    assert '+  "train_micro_batch_size_per_gpu": 8' in diffs["DeepSpeed"]


@pytest.mark.parametrize(("batch", "pairs"), [(8, 4), (42, 21), (3, None)])
def test_files_for_programs_count_pairs_where_the_plan_does(batch: int, pairs: int | None) -> None:
    text = "model_name_or_path: gpt2\nstage: dpo\npref_loss: simpo\nfinetuning_type: full\ncutoff_len: 512\n"
    engine = json.dumps({"zero_optimization": {"stage": 3}, "bf16": {"enabled": True}})
    given = State("plan", {**START.controls, **read([text, engine], START).controls, "gpus": 8, "batch": batch})
    texts = exports(given)
    assert NAMES["torchrun"] not in texts
    assert f"No {NAMES['torchrun']}: " in texts[""]
    assert f"--batch {batch}" in texts[NAMES["command"]]
    if pairs is None:
        assert NAMES["deepspeed"] not in texts
        assert "these sequences are no whole ones" in texts[""]
    else:
        assert json.loads(texts[NAMES["deepspeed"]])["train_micro_batch_size_per_gpu"] == pairs


def test_an_optimizer_that_deepspeed_makes_is_not_changed_in_the_script() -> None:
    engine = json.dumps({"zero_optimization": {"stage": 2}, "optimizer": {"type": "AdamW"}}, indent=2)
    both = ["model_name_or_path: gpt2\nfinetuning_type: full\noptim: adamw_torch\n", engine]
    given = {**START.controls, **read(both, START).controls, "gpus": 8, "optimizer": "adamw-8bit"}
    assert list(rewrite(both, State("plan", given))) == [UNSAID]


def test_trl_is_told_that_a_reference_has_answered_before() -> None:
    text = "model_name_or_path: gpt2\nbeta: 0.1\nmax_length: 512\n"
    given = {**START.controls, **read([text], START).controls}
    assert json.loads(str(given["more"]))["reference"] == "fp32"
    without = {one: value for one, value in json.loads(str(given["more"])).items() if one != "reference"}
    changed = rewrite([text], State("plan", {**given, "more": json.dumps(without) if without else ""}))
    assert "+precompute_ref_log_probs: true" in changed["TRL"]
    assert UNSAID not in changed


def test_cards_that_groups_do_not_use_up_are_told_in_the_pages_words() -> None:
    said = ACT.exports(at(gpus=1, tp=64)) if ACT.exports else {}
    assert list(said) == [""]
    assert said[""].startswith("“Cards in all: 1” is not allowed with “Cards that share every matrix")

"""The planner joins files, choices and links to one plan: in any order, and told where they leave something open."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

import pytest

from docs.acts.plan.act import ACT
from docs.acts.plan.choices import MODEL, PASTED, is_left, is_more, model_of, setup_of, words_of
from docs.acts.plan.give import exports
from docs.acts.plan.labels import spell
from docs.acts.plan.left import TWO_MODELS
from docs.acts.plan.take import read
from docs.acts.plan.tips import suggest
from docs.acts.plan.view import SAID
from explorable.live import State
from explorable.live.runtime.acts import LoadedAct
from ironlaw import EngineError, estimate, setup
from ironlaw.files import Facts
from ironlaw.models.config_json import published
from tests.docs.acts import loaded
from tests.docs.planner import AXOLOTL, OUT_OF_MEMORY, START, at, sent
from tests.docs.planner_texts import COMMAND, FULL, LLAMA, NANO_GPT, QWEN, RUN, ZERO_3, header_of
from tests.docs.test_planner_changes import suggested


@pytest.fixture(scope="module")
def act() -> LoadedAct:
    return loaded("plan")


def test_what_a_reader_has_moved_since_a_file_was_read_stays_when_a_log_comes() -> None:
    first = {**START.controls, **read([AXOLOTL], START).controls}
    moved = State("run", {**first, "batch": 4, "sequence": 8192, "gpus": 8}, stood=first)
    heard = read([AXOLOTL, "{'train_runtime': 60.0, 'train_steps_per_second': 2.0}"], moved)
    assert (heard.controls["batch"], heard.controls["sequence"]) == (4, 8192)
    assert any(line.startswith("Kept as you have set it: “Sequences at once, per card: 4”") for line in heard.said)
    # What the new text says itself counts.
    other = read([AXOLOTL, AXOLOTL.replace("micro_batch_size: 2", "micro_batch_size: 16")], moved)
    assert (other.controls["batch"], other.controls["sequence"]) == (16, 8192)
    # A page in which nothing was read before has moved nothing.
    assert read([AXOLOTL], State("run", {**START.controls, "batch": 4})).controls["batch"] == 2


def test_what_cards_divide_is_kept_where_another_file_says_how_many_there_are() -> None:
    heard = read(['{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}}'], START)
    assert heard.controls["zero"] == 3


FSDP = f'{COMMAND} --fsdp "full_shard auto_wrap"'


SHARDED = "base_model: NousResearch/Meta-Llama-3-8B\nbf16: auto\nmicro_batch_size: 1\nfsdp: [full_shard, auto_wrap]\n"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([FULL], {"method": "full", "checkpointing": "full", "sequence": 6000}),
        (["torchrun --nproc_per_node 4 train.py --bf16"], {"method": "full", "checkpointing": "none", "dp": 4}),
        ([COMMAND], {"method": "full", "checkpointing": "none", "dp": 8, "zero": 0}),
        ([FSDP], {"method": "full", "zero": 3, "precision": "mixed-bf16"}),
        ([SHARDED, "torchrun --nproc_per_node 8 train.py"], {"method": "full", "zero": 3, "precision": "mixed-bf16"}),
        ([f"deepspeed --num_gpus 8 {RUN} --deepspeed ds.json", ZERO_3], {"method": "full", "zero": 3, "dp": 8}),
        ([f"torchrun --nproc_per_node 4 run_clm.py --model_name_or_path {QWEN} --block_size 4096 --fp16 "
          "--deepspeed ds_z3.json", ZERO_3],
         {"model": QWEN, "sequence": 4096, "precision": "mixed", "method": "full", "zero": 3}),
    ],
    ids=range(7),
)  # fmt: skip
@pytest.mark.parametrize(
    "moved", [{}, {"chunked": True, "offload": True, "optimizer": "lion", "accumulate": 3}], ids=str
)
def test_what_a_run_is_not_told_stands_as_its_program_has_it(
    texts: list[str], expected: dict[str, Any], moved: dict[str, Any]
) -> None:
    """Not as the page has it by default, or a hand before: LoRA, every block recomputed, kernels of another plan."""
    heard = read(texts, at(**moved))
    state = State("run", {**at(**moved).controls, **heard.controls})
    words = words_of(state)
    assert {name: words[name] for name in expected} == expected
    plain = ("adamw", "full", "none", 1)
    assert (words["optimizer"], words["loss"], words["offload"], words["accumulate"]) == plain
    assert ACT.compute(state).headline.value != "–"
    told = " ".join(heard.said)
    assert ("everything is trained" in told) is (texts != [FULL])
    assert ("is recomputed" in told) is True


AUTO = """{"zero_optimization": {"stage": 3, "stage3_prefetch_bucket_size": "auto", "offload_optimizer":
{"device": "cpu"}, "offload_param": {"device": "cpu"}}, "bf16": {"enabled": true}}"""


@pytest.mark.parametrize(
    "text",
    [
        '{"zero_optimization": {"stage": 0}, "bf16": {"enabled": true}}',
        '{"zero_optimization": {"stage": 1}, "bf16": {"enabled": true}}',
        '{"zero_optimization": {"stage": 2}, "fp16": {"enabled": true}}',
        AUTO,
        "distributed_type: FSDP\nmixed_precision: bf16\nfsdp_config: {}\n",
    ],
)
@pytest.mark.parametrize("method", ["full", "lora"])
def test_a_file_and_choices_make_one_plan_in_any_order(text: str, method: str) -> None:
    """What a file leaves open, such as what is trained, decides with it what it says: formats, buffers, offloading."""
    chosen: dict[str, Any] = {"method": method, "model": "Qwen/Qwen2.5-1.5B", "gpu": "a100-80", "gpus": 8}
    for first in ({}, {"method": "full"}):
        before = at(**first)
        after = State("run", {**before.controls, **read([text], before).controls, **chosen})
        moved = at(**chosen)
        last = State("run", {**moved.controls, **read([text], moved).controls})
        assert words_of(after) == words_of(last)
        assert "as your files have them" in ACT.compute(last).tables["answer"].caption


@pytest.mark.parametrize(
    ("said", "on_t4"), [("bf16: auto\n", "16"), ("", "16"), ("fp16: auto\n", "16"), ("bf16: auto\nfp16: false\n", "32")]
)
@pytest.mark.parametrize("trains", ["", "adapter: lora\nlora_r: 16\n", "adapter: qlora\nload_in_4bit: true\n"])
@pytest.mark.parametrize("later", [False, True])
def test_formats_that_a_file_leaves_to_the_card_are_those_of_the_card(
    said: str, on_t4: str, trains: str, later: bool
) -> None:
    """axolotl's `auto`: BF16 where the card has it, else FP16, if the file does not refuse that (`resolve_dtype`)."""
    text = f"base_model: Qwen/Qwen2.5-0.5B\nsequence_len: 1024\nmicro_batch_size: 1\n{trains}{said}"
    for card, form in (("h100-sxm", "bf16"), ("t4", f"fp{on_t4}"), ("v100-32", f"fp{on_t4}")):
        before = START if later else at(gpu=card)
        state = State("run", {**before.controls, **read([text], before).controls, "gpu": card})
        asked, view = setup_of(state), ACT.compute(state)
        assert asked.precision.compute.name == form
        assert (asked.precision.weights.name == form) is (not trains or form == "fp32")
        assert view.headline.value not in ("–", "")
        assert "as your files have them" in view.tables["answer"].caption
        is_more(str(state.controls["more"]))
        told = " ".join(read([text], before).said)
        assert ("BF16, on a card without it in FP16" in told) is ("bf16" not in said)


def test_formats_left_to_the_card_agree_with_those_that_another_file_says() -> None:
    text, launch = "base_model: Qwen/Qwen2.5-0.5B\nmicro_batch_size: 1\nbf16: auto\n", "mixed_precision: fp16\n"
    state = State("run", {**START.controls, **read([text, f"distributed_type: MULTI_GPU\n{launch}"], START).controls})
    assert setup_of(state).precision.compute.name == "fp16"


def test_a_loss_in_pieces_that_is_chosen_later_leaves_evaluation_as_the_files_program_has_it() -> None:
    """axolotl calls Liger's kernel itself, which makes the logits whole outside of training."""
    text, liger = f"{AXOLOTL}eval_batch_size: 8\n", "liger_fused_linear_cross_entropy: true\n"
    later, said = (State("run", {**START.controls, **read([one], START).controls}) for one in (text, text + liger))
    assert not setup_of(later).evaluation.whole  # type: ignore[union-attr]
    assert words_of(State("run", {**later.controls, "chunked": True})) == words_of(said)
    assert setup_of(said).evaluation.whole  # type: ignore[union-attr]


def test_every_setting_that_stands_and_no_file_says_is_named() -> None:
    """A file that divides, or a bare launch, says nothing of what is trained and how."""
    for text in (ZERO_3, "torchrun --nproc_per_node 8 train.py"):
        heard = read([text], at(sequence=4096, chunked=True, optimizer="lion"))
        line = next(line for line in heard.said if "standing here" in line)
        for name in ("model", "method", "rank", "batch", "checkpointing"):
            assert name not in heard.controls
            assert spell(name, START.controls[name]).strip("“”") in line
        assert "“Tokens of a sequence: 4,096”" in line
        assert "“Loss in pieces (Liger, cut cross-entropy): on”" in line
        assert "“Optimizer: lion”" in line
        assert "torch.compile" not in line  # which stands as most scripts have it
        state = State("run", {**START.controls, **heard.controls, "gpus": 8})
        assert ACT.compute(state).headline.value != "–"
    assert "Rank" not in " ".join(read([ZERO_3], at(method="full")).said)
    assert "Trains" not in " ".join(read([FULL], START).said)


def test_what_somebody_gives_last_takes_the_place_of_what_was_there_of_its_kind() -> None:
    two = COMMAND.replace("batch_size 1", "batch_size 2")
    for first, second in ((COMMAND, two), (two, COMMAND), (FULL + "per_device_train_batch_size: 4\n", two)):
        heard = read([first, second], START)
        assert list(heard.labels) == ["", "command"]
        assert heard.controls == read([second], START).controls
        assert [line for line in heard.said if "counts no more" in line]
    # What completes each other stays: a launch and a file, a JSON of DeepSpeed, all of a checkpoint's headers.
    launch = "torchrun --nproc_per_node 8 train.py"
    assert list(read([launch, FULL, ZERO_3], START).labels) == ["command", "LLaMA-Factory", "DeepSpeed"]
    assert list(read([FULL, ZERO_3, launch], START).labels) == ["LLaMA-Factory", "DeepSpeed", "command"]
    header = header_of("openai-community/gpt2")
    assert list(read([header, header], START).labels) == ["safetensors", "safetensors"]
    both, last = (dict(read([text], START).controls) for text in (f"{two}\n{COMMAND}", COMMAND))
    assert (both.pop("left"), last.pop("left")) == ('{"besides": "both"}', ""), "which of them runs nobody says"
    assert {**both, "uncounted": 0} == {**last, "uncounted": 0}
    # Of a paste with several things the rest goes on counting.
    assert list(read([OUT_OF_MEMORY + AXOLOTL, FULL], START).labels) == ["out of memory", "LLaMA-Factory"]


@pytest.mark.parametrize(
    ("texts", "moved", "title", "closes"),
    [
        ([ZERO_3], {}, "This page's model, not yours", {"model": QWEN}),
        ([ZERO_3], {"gpu": "t4"}, "This page's model, not yours", {"left": ""}),
        ([AXOLOTL.replace("NousResearch/Meta-Llama-3-8B", "somelab/Wonder-9B")], {"model": QWEN},
         "This page's model, not yours", {"model": LLAMA}),
        ([f"{COMMAND} --deepspeed ds.json"], {}, "Without the file that divides", {"zero": 2}),
        ([f"{COMMAND} --deepspeed ds.json"], {}, "Without the file that divides", {"left": ""}),
        ([f"accelerate launch --config_file fsdp.yaml {RUN}"], {}, "Without the file that divides", {"zero": 3}),
    ],
    ids=range(6),
)  # fmt: skip
def test_no_verdict_stands_where_files_leave_open_on_what_it_rests_until_the_reader_says_it(
    act: LoadedAct, texts: list[str], moved: dict[str, Any], title: str, closes: dict[str, Any]
) -> None:
    """Neither green nor red, in the whole view and in a frame, and in words of the plan as it stands."""
    state = State("run", {**at(**moved).controls, **read(texts, at(**moved)).controls})
    view = ACT.compute(state)
    assert view.failure is None
    assert view.success
    assert (view.success.title, view.success.marked) == (title, False)
    assert ACT.compute(State(state.context, state.controls, moving=True)).success == view.success
    stands = (str(state.controls["model"]) or MODEL) if "model" in title else "without ZeRO"
    assert stands in view.success.what
    verdict = estimate(**words_of(state)).verdict
    assert ("As it stands it fits" in view.success.what) == (verdict == "fits")
    assert view.readings["Verdict"] == title
    assert view.summary.startswith(title)
    # One click, or a hand that moves the control, closes it.
    first: Any = act.suggest(sent(state), True)
    assert first["next"]["controls"] == {"left": ""}
    then = ACT.compute(State("run", {**state.controls, **closes}))
    assert then.readings["Verdict"] in SAID.values()
    assert (then.success or then.failure).title == then.readings["Verdict"]  # type: ignore[union-attr]


def test_texts_that_disagree_are_told_by_their_kinds() -> None:
    deepspeed = json.dumps({"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}})
    with pytest.raises(EngineError) as caught:
        read([AXOLOTL, deepspeed], START)
    assert str(caught.value) == (
        "these texts disagree about micro batch: axolotl says 2; DeepSpeed says 4. Change one of them, or take it away"
    )


BESIDE_ADAPTERS = "lora_modules_to_save:\n  - embed_tokens\n  - lm_head\n"


@pytest.mark.parametrize(
    ("besides", "gpu", "waits"),
    [
        (BESIDE_ADAPTERS, "a100-80", True),
        (BESIDE_ADAPTERS, "rtx-4060", False),
        ("use_galore: true\n", "a100-80", False),
        ("use_galore: true\n", "rtx-4060", True),
        (f"{BESIDE_ADAPTERS}use_galore: true\n", "a100-80", True),
        (f"{BESIDE_ADAPTERS}use_galore: true\n", "rtx-4060", True),
        ("qat:\n  weight_dtype: int4\n", "a100-80", True),
        ("---\nmax_layers = 64\n", "rtx-4060", True),
    ],
)
def test_a_verdict_waits_for_what_is_not_counted_where_that_could_change_it(
    act: LoadedAct, besides: str, gpu: str, waits: bool
) -> None:
    """What takes more may break what fits, and what takes less may mend what does not."""
    heard = read([f"{AXOLOTL}\n{besides}"], at(gpu=gpu))
    state = State("run", {**at(gpu=gpu).controls, **heard.controls})
    is_left(str(state.controls["left"]))
    title = "Without what is not counted"
    assert (ACT.compute(state).readings["Verdict"] == title) == waits
    changes = suggested(act, state)
    assert (changes[0]["title"] == "I train without what is not counted") == waits
    if waits and gpu == "a100-80":
        assert not any(one["text"].endswith(("Then it fits.", "Still fits.")) for one in changes)
    elif not waits and gpu != "a100-80":
        assert "and more for what is not counted" in ACT.compute(state).failure.remedy  # type: ignore[union-attr]


def test_torchtitans_selective_recomputation_is_told_and_one_card_shares_no_sequence() -> None:
    begins = "[titan] INFO - Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=8, cp=1, tp=1\n"
    begins += "[titan] INFO - Model llama3 8B size: 8,030,261,248 total parameters\n"
    begins += "[titan] INFO - Applied selective activation checkpointing to the model\n"
    begins += (
        "[titan] INFO - step: 10  loss:  9.9834  memory: 66.01GiB(83.03%)  tps: 6,260  tflops: 295.72  mfu: 29.90%\n"
    )
    heard = read([begins], START)
    assert "Its selective recomputation is not counted." in heard.said
    assert json.loads(str(heard.controls["left"])) == {"besides": "less"}
    assert "cp" not in str(heard.controls["more"])


def test_what_is_trained_beside_adapters_counts_nothing_without_them() -> None:
    text = AXOLOTL.replace("adapter: qlora\n", "adapter:\n").replace("load_in_4bit: true\n", "")
    assert "qlora" not in text
    assert not read([f"{text}\n{BESIDE_ADAPTERS}"], START).controls["left"]


@pytest.mark.parametrize(("sequence", "says"), [(4_096, "Fits"), (11_264, "Uncertain, probably yes")])
def test_no_verdict_stands_alone_beside_the_readers_own_message_that_it_failed(sequence: int, says: str) -> None:
    plan = at(model=QWEN, gpu="rtx-4090", method="lora", sequence=sequence, batch=1, checkpointing="full")
    assert ACT.compute(plan).summary.startswith(f"{says}: ")
    heard = read([OUT_OF_MEMORY], plan)
    state = State("run", {**plan.controls, **heard.controls})
    title = says.partition(",")[0]
    assert ACT.compute(state).summary.startswith(f"{title}, though your message says that it failed: ")
    # Of another plan the message says nothing.
    moved = State("run", {**state.controls, "sequence": sequence + 1})
    assert ACT.compute(moved).summary.startswith(f"{says}: ")


def test_a_hand_that_chooses_the_model_that_stands_as_an_example_is_believed() -> None:
    """Of a log alone nothing says the model; whoever has chosen one has said it, also the one that stood there."""
    assert START.controls["model"] != MODEL
    assert ACT.compute(START).headline == ACT.compute(at(model=MODEL)).headline
    for before, title in ((START, "This page's model, not yours"), (at(model=MODEL), None)):
        state = State("run", {**before.controls, **read([NANO_GPT], before).controls})
        verdict = ACT.compute(state).readings["Verdict"]
        assert (verdict == title) if title else (verdict in SAID.values())
        # A hand that chooses it afterwards closes the question.
        assert ACT.compute(State("run", {**state.controls, "model": MODEL})).readings["Verdict"] in SAID.values()


def test_a_file_that_completes_another_closes_what_that_leaves_open() -> None:
    for texts, moved in (
        ([ZERO_3, json.dumps(published()[QWEN]["config"])], {}),
        ([f"{COMMAND} --deepspeed ds.json", ZERO_3], {}),
        ([ZERO_3], {"model": QWEN}),
        ([OUT_OF_MEMORY], {"model": QWEN}),
    ):
        assert read(texts, at(**moved)).controls["left"] == ""
    both = read(["torchrun --nproc_per_node 8 train.py --deepspeed ds.json"], START).controls["left"]
    assert json.loads(str(both)) == {"model": START.controls["model"], "zero": 0}


def test_what_files_say_is_joined_once_for_a_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    joinings: list[Facts] = []
    once = Facts.joined

    def join(mine: Facts, other: Facts) -> Facts:
        joinings.append(other)
        return once(mine, other)

    monkeypatch.setattr(Facts, "joined", join)
    read([AXOLOTL, ZERO_3], START)
    # Each of the two files is joined to those before it.
    assert len(joinings) == 2


def config_of(name: str) -> str:
    """A model's configuration, as somebody has it."""
    return json.dumps({"architectures": ["X"], **published()[name]["config"]})


SMALL, BIG = "meta-llama/Llama-3.2-3B", "meta-llama/Llama-3.1-70B"


NAMES_BIG = {
    "The command names": f"torchrun --nproc_per_node 8 train.py --model_name_or_path {BIG} --bf16",
    "The axolotl file names": f"base_model: {BIG}\nmicro_batch_size: 1\n",
    "You named": f"https://huggingface.co/{BIG}",
}


@pytest.mark.parametrize("who", NAMES_BIG)
def test_files_that_disagree_about_the_model_get_no_verdict_until_the_reader_takes_one(who: str) -> None:
    heard = read([config_of(SMALL), NAMES_BIG[who]], START)
    state = State("run", {**START.controls, **heard.controls})
    is_left(str(state.controls["left"]))
    view = ACT.compute(state)
    assert view.success
    assert view.success.title == view.readings["Verdict"] == TWO_MODELS
    assert f"{who} llama3.1-70b; the numbers are those of config.json." in view.success.what
    ways = list(islice(suggest(state), 2))
    chosen = [State("run", {**state.controls, **way.controls}) for way in ways]
    assert [model_of(str(one.controls["model"]), str(one.controls["config"])) for one in chosen] == [
        "meta-llama/Llama-3.1-70B",
        model_of(str(state.controls["model"]), str(state.controls["config"])),
    ]
    assert {ACT.compute(one).readings["Verdict"] for one in chosen} <= set(SAID.values())
    # Whichever is taken, its name is the reader's to write.
    assert not any(f"--model_name_or_path {one.controls['model']} " in str(exports(one)) for one in chosen)


def test_a_checkpoint_too_is_held_against_the_model_that_a_file_names() -> None:
    heard = read([header_of(QWEN), NAMES_BIG["The command names"]], START)
    view = ACT.compute(State("run", {**START.controls, **heard.controls}))
    assert view.success
    assert "the numbers are those of the checkpoint" in view.success.what


@pytest.mark.parametrize("named", [SMALL, f"https://huggingface.co/{SMALL}-Instruct", "somelab/Wonder-9B"])
def test_a_name_that_agrees_or_that_nobody_knows_disagrees_with_no_configuration(named: str) -> None:
    config = json.loads(config_of(SMALL))
    for vocabulary in (config["vocab_size"], config["vocab_size"] + 8):
        text = json.dumps({**config, "vocab_size": vocabulary})
        beside = named if "3B" in named else f"base_model: {named}\nmicro_batch_size: 1\n"
        assert read([text, beside], START).controls["left"] == ""


NOTES = ({"named": "llama3.1-70b"}, {"model": PASTED, "named": "<b>", "by": "command"})


@pytest.mark.parametrize("note", NOTES, ids=str)
def test_a_link_names_no_other_model_than_those_that_are_known(note: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="not what this page wrote"):
        is_left(json.dumps(note))


def test_nanogpts_settings_and_command_become_one_plan_whose_note_is_the_pages_own() -> None:
    text = "batch_size = 12\nblock_size = 1024\ngradient_accumulation_steps = 5 * 8\n"
    launch = "torchrun --standalone --nproc_per_node=8 train.py config/train_gpt2.py --batch_size=4"
    for texts in ([text, launch], [f"{text}\n{launch}\n"]):
        heard = read(texts, at(gpu="t4", accumulate=3))
        state = State("run", {**START.controls, **heard.controls, "gpu": "t4"})
        words = words_of(state)
        expected = {"model": "openai-community/gpt2", "batch": 4, "accumulate": 5, "dp": 8, "precision": "amp-fp16"}
        assert {name: words[name] for name in expected} == expected
        is_more(str(state.controls["more"]))
        assert not state.controls["left"]
        assert ACT.compute(state).headline.value != "–"


@pytest.mark.parametrize(
    "text",
    [
        "model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\nfinetuning_type: full\ncutoff_len: 2048\nbf16: true\n",
        "model_name_or_path: Qwen/Qwen2.5-7B\ndataset_name: a/b\nmax_length: 2048\nbf16: true\n",
    ],
)
def test_what_divides_a_files_weights_decides_their_formats(text: str) -> None:
    """A Trainer's `bf16: true` is autocast on one card, and FSDP's mixed precision where FSDP divides."""
    stood = State("plan", {**START.controls, **read([text], START).controls})
    assert words_of(stood)["precision"] == "amp-bf16"
    divided = State("plan", {**stood.controls, "gpus": 8, "zero": 3})
    assert words_of(divided)["precision"] == "mixed-bf16"


def test_cards_that_no_longer_share_experts_keep_all_of_them() -> None:
    """Fewer cards, another model or adapters after a change that divided the experts."""
    routed = at(model="Qwen/Qwen3-30B-A3B", method="full", gpus=16, zero=3, more='{"ep": 16}')
    assert words_of(routed)["ep"] == 16
    for moved in ({"gpus": 8}, {"model": "Qwen/Qwen3-8B"}, {"method": "lora"}):
        words = words_of(State("plan", {**routed.controls, **moved}))
        assert "ep" not in words
        assert setup(**words).layout.expert == 1

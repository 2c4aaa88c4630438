"""A shell's text is read as bash reads it, and a training is found among its commands."""

from __future__ import annotations

import shlex
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.core.errors import EngineError
from ironlaw.files import parts, read
from ironlaw.files.diffs import edited
from ironlaw.files.shell import OpenQuoteError, commands, filled
from ironlaw.files.words import Understood, words_of

RUN = "torchrun --nproc_per_node 8 run_clm.py --model_name_or_path Qwen/Qwen2.5-1.5B --bf16"
MORE = "--block_size 4096 --per_device_train_batch_size 16"


def _words(text: str) -> list[list[str]]:
    return [[word.text for word in command.words] for command in commands(text)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a exp#3 'b c' # d", [["a", "exp#3", "b c"]]),
        ("a \\\r\n  --b 1 \\\n> --c", [["a", "--b", "1", "--c"]]),
        ("a `# a note` \\\n b", [["a", "b"]]),
        ("a `\n --b 1", [["a", "--b", "1"]]),
        ("cd x && A=1 b |& tee c; d || e & f", [["cd", "x"], ["A=1", "b"], ["tee", "c"], ["d"], ["e"], ["f"]]),
        ("a > out.txt 2>&1 --b < /dev/null --c", [["a", "--b", "--c"]]),
        ("a --model <name> --b", [["a", "--model", "<name>", "--b"]]),
        ('a "b \\" $C" --d=$(e f (g) "h") `i j`', [["a", 'b " $C', '--d=$(e f (g) "h")', "`i j`"]]),
        ("$ a\n(env) me@host:~/x$ b\nPS C:\\x> c\n!d", [["a"], ["b"], ["c"], ["d"]]),
        ("a \u2014\u0062lock_size 3 \u2013 x", [["a", "--block_size", "3", "\u2013", "x"]]),
        ("a 'b c", [["a", "'b c"]]),
        ("a\u00a0b\u3000--c\u20281\x85\x1c\n\u2003d", [["a", "b", "--c", "1"], ["d"]]),
    ],
)
def test_a_text_is_read_as_its_shell_reads_it(text: str, words: list[list[str]]) -> None:
    assert _words(text) == words


def test_an_open_quotation_mark_is_an_error_where_asked() -> None:
    with pytest.raises(OpenQuoteError):
        [*commands("a 'b", strict=True)]


@given(st.lists(st.text(st.sampled_from("ab-=./_'\" \\$#;&|<>()`\n\t,"), max_size=8), min_size=1, max_size=6))
def test_words_that_python_quotes_come_back_whole(words: list[str]) -> None:
    """`shlex.join` is the known answer."""
    text = shlex.join(["run", *words])
    assert _words(text) == [["run", *words]]
    for command in commands(text):
        assert [shlex.split(text[word.start : word.end]) for word in command.words] == [[w.text] for w in command.words]


def _understood(*texts: str) -> Understood:
    return words_of([one for text in texts for _, one in parts(text)], {"gpu": "h100-sxm"})


@pytest.mark.parametrize(
    "text",
    [
        f"{RUN} --run_name exp#3 {MORE}",
        f"{RUN} \\\n `# note` \\\n {MORE}",
        f"{RUN} True {MORE}".replace(" --block", " \u2014block").replace(" --per", " \u2014per"),
        f"{RUN} {MORE} --report_to wandb tensorboard > log.txt 2>&1",
        f"cd examples && {RUN} {MORE} |& tee log",
        f"!pip install -q trl\n!{RUN} {MORE}",
        f"nvidia-smi\n{RUN} {MORE}",
        f"set -e\nexport TOKENIZERS_PARALLELISM=false\nfor seed in 1 2; do\n  {RUN} {MORE}\ndone",
        f"Mon Nov 30 17:43:38 UTC 2026\n{RUN} {MORE}",
        f"CMD {RUN} {MORE}",
        f"srun --nodes=1 bash -c '{RUN} {MORE}'",
    ],
)
def test_a_command_has_all_its_options_whatever_stands_around_it(text: str) -> None:
    understood = _understood(text)
    assert {name: understood.words[name] for name in ("batch", "sequence", "dp")} == {
        "batch": 16,
        "sequence": 4096,
        "dp": 8,
    }
    assert understood.missing == ()
    assert understood.besides is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{RUN} \\\n # note\n {MORE}", "options behind the command's end"),
        (f"{RUN} \\\n # note \\\n {MORE}", "options behind the command's end"),
        (f"{RUN}\n {MORE}", "options behind the command's end"),
        (f"{RUN} {MORE} @args.txt", "1 of its options"),
        (f"{RUN} {MORE} [other options]", "2 of its options"),
        (f"{RUN} {MORE} ...", "1 of its options"),
        (f"{RUN} {MORE} `cat args.txt`", "what the shell's variables hold"),
        (f"{RUN} {MORE} && {RUN} --block_size 512", "another run in the same text"),
        (f"{RUN} {MORE}\nargs = dict(\n  max_length=4096,\n)", "this may set something"),
    ],
)
def test_a_verdict_waits_for_what_may_be_meant(text: str, told: str) -> None:
    understood = _understood(text)
    assert any(told in line for line in understood.missing), understood.missing
    assert understood.besides == "both"


@pytest.mark.parametrize("text", [f"Here is what I run:\n{RUN}", f"![logo](x.png)\n{RUN}"])
def test_no_verdict_waits_for_prose(text: str) -> None:
    understood = _understood(text)
    assert [line for line in understood.missing if "line 1 on: this text is of no known kind" in line]
    assert understood.besides is None


FACTORY = (
    "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\nstage: sft\nfinetuning_type: lora\nlora_rank: 8\nlora_target: all\n"
    "cutoff_len: 2048\nper_device_train_batch_size: 1\nbf16: true\n"
)


def test_options_beside_a_file_of_settings_count_before_it() -> None:
    for command in (
        "llamafactory-cli train lf.yaml per_device_train_batch_size=64 cutoff_len=8192",
        "llamafactory-cli train lf.yaml --per_device_train_batch_size 64 --cutoff_len 8192",
    ):
        for texts in ((FACTORY, command), (f"{FACTORY}---\n{command}",)):
            words = _understood(*texts).words
            assert (words["batch"], words["sequence"]) == (64, 8192)


def test_a_change_is_written_into_the_command_that_it_is_for() -> None:
    change = {"execution": "compiled"}
    for before, after in (("", " && echo done"), ("cd x; ", " |& tee log"), ("", " &"), ("python -V\n", " # as told")):
        text = f"{before}{RUN} {MORE}{after}"
        assert edited(text, change) == f"{before}{RUN} {MORE} --torch_compile True{after}"
    nested = f"srun --nodes=1 bash -c '{RUN} {MORE}'"
    assert edited(nested, change) == f"{nested[:-1]} --torch_compile True'"
    two = f"{RUN} --block_size 512 && {RUN} --block_size 1024"
    assert edited(two, {"sequence": 256}) == f"{RUN} --block_size 512 && {RUN} --block_size 256"


def test_a_long_command_is_refused_and_a_short_one_is_read_in_time() -> None:
    with pytest.raises(EngineError, match="at most 50000 characters"):
        read(f"{RUN} {'x' * 50_000}")
    for piece in ("${", "$(", "`", "`#", "\\", "'a' ", "# ", "a@", "--x=", "> ", "&& "):
        assert read(f"{RUN} --run_name x {piece * (20_000 // len(piece))}").kind == "command"


@pytest.mark.parametrize(
    "text",
    [
        f"{RUN} {'1 ' * 24_000}",
        f"{'( ' * 20_000}{RUN}",
        f"{RUN} {'$a ' * 15_000}",
        f"{'A=b ' * 12_000}{RUN}",
        f"srun {'A=1 ' * 12_000}{RUN}",
    ],
)
def test_a_command_of_many_words_is_read_in_a_time_that_grows_with_them(text: str) -> None:
    """Each took 5 to 20 s when every word had looked at all others."""
    began = time.process_time()
    read(text)
    assert time.process_time() - began < 5


TRAIN = "train.py --model_name_or_path Qwen/Qwen2.5-7B --bf16 --max_length 2048"


def test_a_deepspeed_file_that_accelerate_is_told_by_name_is_waited_for() -> None:
    own = '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": "auto"}}'
    for launch in ("--use_deepspeed --deepspeed_config_file ds.conf", "--deepspeed_config_file=ds.json"):
        command = f"accelerate launch {launch} --num_processes 4 {TRAIN}"
        alone, whole = _understood(command), _understood(command, own)
        assert (alone.besides, "zero" in alone.words) == ("both", False)
        assert (whole.besides, whole.words["zero"]) == (None, 3)


def test_an_fsdp_file_is_waited_for_and_its_settings_are_read() -> None:
    command = f"torchrun --nproc_per_node 8 {TRAIN} --fsdp"
    assert _understood(f"{command} 'full_shard auto_wrap' --fsdp_config fsdp.json").besides == "both"
    settings = f"{command} 'full_shard auto_wrap' --fsdp_config '{{\"offload_params\": true}}'"
    assert _understood(settings).words == _understood(f"{command} 'full_shard auto_wrap offload'").words
    assert _understood(settings).words["offload"] == "shards"
    with pytest.raises(EngineError, match="its settings, or a JSON file of them"):
        read(f"{command} full_shard --fsdp_config mine")


@pytest.mark.parametrize(
    ("launch", "stage"), [("trl dpo", "dpo"), ("trl kto", "kto"), ("accelerate launch orpo.py", "dpo")]
)
def test_a_trainer_of_pairs_that_cuts_completions_is_none_of_grpo(launch: str, stage: str) -> None:
    cuts = "max_prompt_length 512 --max_completion_length 512"
    facts = read(f"{launch} --model_name_or_path Qwen/Qwen2.5-7B --bf16 --{cuts}").facts
    assert (facts.stage, facts.sequence, facts.rollout) == (stage, 1024, None)
    file = "model_name_or_path: Qwen/Qwen2.5-7B\nmax_completion_length: 2048\nper_device_train_batch_size: 2\n"
    words = _understood(file, f"{launch} --config own.yaml").words
    assert (words["sequence"], words.get("rollout")) == (1024, None)


@pytest.mark.parametrize(
    "aside",
    [
        '{"add_bos_token": false, "model_max_length": 131072, "tokenizer_class": "Qwen2Tokenizer"}',
        '{"bos_token_id": 1, "temperature": 0.6, "max_length": 4096, "transformers_version": "4.51.0"}',
    ],
)
def test_what_lies_beside_a_models_configuration_says_nothing_of_a_training(aside: str) -> None:
    understood = _understood(f"torchrun {TRAIN}\n{aside}")
    assert (understood.words["sequence"], understood.besides) == (2048, None)
    assert "it says nothing of a training" in understood.missing[-1]
    with pytest.raises(EngineError, match="it says nothing of a training"):
        read(aside)


@pytest.mark.parametrize(
    "option",
    ["train_batch_size 64", "train_micro_batch_size_per_gpu 4", "max_train_length 9", "train_type lora", "train_lora",
     "no_lora", "text_max_length 9", "data_max_length 9", "config_overrides n_embd=1600"],
)  # fmt: skip
def test_an_option_that_may_matter_is_told_whatever_it_begins_with(option: str) -> None:
    understood = _understood(f"python {TRAIN} --{option}")
    assert understood.missing == (f"Not understood of the command, and not counted: --{option.split()[0]}.",)
    assert understood.besides == "both"


def test_options_that_change_nothing_hold_no_verdict_back() -> None:
    more = "--train_on_inputs False --train_file x --dataset_name y --data_path z --group_by_length --config_name gpt2"
    understood = _understood(f"python {TRAIN} {more} --max_train_samples 3 --no_save --max_steps 0 --dtype None")
    assert (understood.missing, understood.besides) == ((), None)


def test_a_server_of_generations_is_no_training() -> None:
    text = (
        f"srun --nodes=4 accelerate launch --num_processes 32 train_grpo.py {TRAIN[9:]} --num_generations 8 &\n"
        "srun --nodes=1 --ntasks=1 trl vllm-serve --model Qwen/Qwen2.5-7B &\nwait\n"
    )
    understood = _understood(text)
    assert (understood.words["dp"], understood.besides) == (32, None)


def test_a_change_leaves_comments_within_a_command_alone() -> None:
    text = f"{RUN} `# --per_device_train_batch_size 2` --max_length 1024"
    assert edited(text, {"batch": 16}) == f"{text} --per_device_train_batch_size 16"


SCRIPT = """#!/bin/bash
GPUS=8
export MODEL="Qwen/Qwen2.5-7B"  # which one
ARGS=(
    --bf16  # a format
    --model_name_or_path $MODEL
    --run_name "a b"
)
MORE="
  --block_size 4096 \\
  --per_device_train_batch_size 16
"
torchrun --nproc_per_node $GPUS run_clm.py "${ARGS[@]}" $MORE
"""


def test_variables_that_a_text_gives_one_value_are_filled_in() -> None:
    assert filled(SCRIPT).count("\n") == SCRIPT.count("\n")
    understood = _understood(SCRIPT)
    words = {"model": "qwen2.5-7b", "dp": 8, "sequence": 4096, "batch": 16}
    assert {name: understood.words[name] for name in words} == words
    assert (understood.missing, understood.besides) == ((), None)
    for text in (SCRIPT, f"{SCRIPT}\n---\nnum_processes: 8\ndistributed_type: MULTI_GPU\n"):
        [part] = [part for part, one in parts(text) if one.kind == "command"]
        assert 'torchrun --nproc_per_node $GPUS run_clm.py "${ARGS[@]}" $MORE' in part, "where a change is written"


@pytest.mark.parametrize(
    "more",
    ["GPUS=4\n", "read -r GPUS\n", "export NPROC_PER_NODE=4\n"],
)
def test_a_verdict_waits_for_a_variable_with_no_value_or_two(more: str) -> None:
    assert _understood(more + SCRIPT).besides == "both"


@given(st.text(st.sampled_from("ab-=.'\" \\$#;&|<>(){}`@%\n\r\t\u00a0\u2028\x1c\x85"), max_size=60))
def test_every_text_is_read_to_its_end(text: str) -> None:
    filled(text)
    ends = [end for command in commands(text) for word in command.words for end in (word.start, word.end)]
    assert ends == sorted(ends)
    assert all(word.start < word.end for command in commands(text) for word in command.words)


@pytest.mark.parametrize(
    ("array", "value"),
    [("b#c # g) h\n--i", "b#c --i"), ("#b\n--c 1 # )\n--d", "--c 1 --d"), ("-b #", "${A[@]}")],
)
def test_comments_in_an_array_go_to_the_end_of_their_line(array: str, value: str) -> None:
    assert filled(f"A=({array})\nrun ${{A[@]}}\n").splitlines()[-1] == f"run {value}"


def test_what_is_filled_in_is_bounded() -> None:
    began = time.process_time()
    doubles = "".join(f"V{n}=$V{n + 1}$V{n + 1}$V{n + 1}\n" for n in range(2_000)) + f"V2000={'x' * 1_000}\n"
    many = f"A={'x' * 50_000}\n" + "$A " * 40_000
    for text in (
        doubles + "$V0",
        many,
        "A=(\n" * 30_000,
        'A="\n' * 30_000,
        "A='" * 50_000,
        "${A" * 50_000,
        "A=(" + "# --lr 1e-5\n" * 4_000 + "$(b)",
    ):
        assert len(filled(text)) <= len(text) + 200_000 + 50_000
    assert time.process_time() - began < 10


LONG = "--per_device_train_batch_size 8 --max_seq_length 4096"
SHORT = 'GC="--gradient_checkpointing true"\n'


@pytest.mark.parametrize(
    "before",
    [
        f'if [ "$LONG" = 1 ]; then\n{SHORT}fi\n',
        f"low() {{\n{SHORT}}}\n",
        f"{SHORT}unset GC\n",
        f'{SHORT}read -p "which? " GC\n',
        f"{SHORT}printf -v GC x\n",
        f'{SHORT}export "GC=$1"\n',
        f"{SHORT}source cluster.env\n",
        f"cat > job.sh <<EOF\n{SHORT}EOF\n",
        "GC=(--tf32 true --gradient_checkpointing true)\n",
        f" {SHORT}",
    ],
)
def test_a_variable_that_may_hold_something_else_is_not_filled_in(before: str) -> None:
    text = f"{before}torchrun --nproc_per_node 8 train.py --model_name_or_path Qwen/Qwen2.5-7B --bf16 {LONG} $GC\n"
    assert _understood(text).besides == "both"
    assert "$GC" in filled(text)


def test_a_variable_that_is_set_after_its_use_is_none_there() -> None:
    text = f"torchrun {TRAIN} --per_device_train_batch_size ${{B:-1}}\nB=64\npython eval.py --batch $B\n"
    assert _understood(text).words["batch"] == 1


def test_an_array_keeps_what_stands_between_quotation_marks() -> None:
    text = f'ARGS=(\n  --run_name "run #1"  # a name\n  --bf16 true\n)\ntorchrun {TRAIN[:46]} "${{ARGS[@]}}"\n'
    assert filled(text).splitlines()[-1].endswith('--run_name "run #1" --bf16 true')
    assert read(filled(text)).facts.compute == "bf16"

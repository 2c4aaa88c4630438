"""What strangers may hand in, made up at random: a record, a command line, a page, an expression, a paste.

    python -m tests.fuzz.tries KIND SEED SECONDS

Prints how many were tried. A try that is neither taken nor refused as its kind refuses, or takes longer than its kind
may, ends with 1 and the seed that makes it again, alone.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import logging
import random
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown import Markdown

    from explorable.shared.locate import Constructs

ROOT = Path(__file__).parents[2]

MOST_S = 20.0
"""Seconds of one try. It is far more than any takes on a busy machine; what has no end takes longer."""
ODD = [
    "",
    " ",
    "-1",
    "0",
    "1",
    "nan",
    "1e999",
    "9" * 400,
    "\x00",
    "\u202e",
    "٣",
    "'",
    '"',
    "[" * 300,
    "../../x",
    "8",
    "64",
    "a=b",
]
Try = Callable[[random.Random], None]


def a_record(dice: random.Random) -> None:
    """A committed record with some of its bytes, values or places changed: read, or refused in a line."""
    from gpu_bench.record import load
    from gpu_bench.record.store import RESULTS
    from tests.gpu_bench.record.mutations import falsified_at, places

    text = dice.choice(sorted(RESULTS.rglob("*.json"))).read_text(encoding="utf-8")
    if dice.random() < 0.5:
        whole = json.loads(text)
        place = dice.choice(sorted(places(whole), key=str))
        text = dice.choice([way[2] for way in falsified_at(whole, place)] or [text])
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(dice.choice([0, 0, 1, 5])):
        at = dice.randrange(len(data))
        data[at : at + dice.choice([0, 1, 40])] = dice.randbytes(dice.choice([0, 1, 8]))
    try:
        faults = load.faults(load.parse(bytes(data)))
    except load.RecordError as error:
        faults = [str(error)]
    assert [fault for fault in faults if "\n" in fault] == []


def a_command_line(dice: random.Random) -> None:
    """A command with options and values that fit or do not: an answer, or one line and exit code 2."""
    from ironlaw.cli import COMMANDS, main
    from ironlaw.cli.options import OPTIONS

    values = [
        "gpt2",
        "llama2-7b",
        "h100-sxm",
        "bf16",
        "adamw",
        "full",
        "every:2",
        "chunked:4",
        "amp-bf16",
        "flash",
        *ODD,
    ]
    words = [dice.choice([*COMMANDS, "nothing", ""])]
    for _ in range(dice.randrange(7)):
        words.append(
            dice.choice([*(option.flag for option in OPTIONS.values()), "--json", "--help", "--none", "-x", *ODD])
        )
        if dice.random() < 0.8:
            words.append(dice.choice([*values, str(dice.randrange(10 ** dice.randrange(1, 12)))]))
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as left:
            code = int(left.code or 0)
    said = err.getvalue()
    assert code in (0, 1, 2), (words, code)
    assert code != 2 or (said.startswith("error: ") and said.count("\n") == 1 and not out.getvalue()), (words, said)


def a_page(dice: random.Random) -> None:
    """Markdown made of its own parts: what is wrong is found in a line of it, and it becomes a page."""
    from explorable.finish.scripts import scripts
    from explorable.shared.sources import mistakes

    parts = ["/// act | x", "///", "```live", "```", "~~~", "---", "title: *a", "a: &a [1]", "`{engine} 1 | count`"]
    parts += ["{engine} x", "![]()", "[^n]", "<!--", "-->", "<script>", "</script>", "$$", "| a |", "    ", "> ", "- "]
    parts += ["$\\frac{1", "!!! note", '=== "A"', "{: #a .b }", "[^n]: ", "<div markdown>", "</div>", "<a href="]
    parts += ["# A", "=" * 40, "`" * 30, "[" * 200, *ODD]
    text = "".join(dice.choice(parts) + dice.choice(["\n", "\n", " ", ""]) for _ in range(dice.randrange(120)))
    lines = len(text.splitlines()) + 1
    converter, known = _converter()
    for line, what, _ in mistakes(text, known):
        assert 1 <= line <= lines, (line, what)
    html = converter.reset().convert(text)
    assert not re.search("[\ue000-\uf8ff]", html), "a stamp reaches the reader"
    found = list(scripts(html, ()))
    assert all(0 <= one.start < len(html) for one in found)
    assert found or not re.search(r"<script[\s>]", html), html


@functools.cache
def _converter() -> tuple[Markdown, Constructs]:
    """The site's own Markdown, with the constructs of its tool."""
    from markdown import Markdown
    from mkdocs.config import load_config

    from explorable.shared.locate import Constructs, LocateExtension

    # What is wrong with a page is told in the log.
    logging.disable(logging.CRITICAL)
    config = load_config(str(ROOT / "mkdocs.yml"))
    locate = LocateExtension()
    locate.known = Constructs(("live",), ("act",), ("engine",))
    return Markdown(
        extensions=[*config.markdown_extensions, locate], extension_configs=config.mdx_configs
    ), locate.known


def an_expression(dice: random.Random) -> None:
    """An expression of an inline number: a value, or a mistake of its author."""
    from explorable.measured.errors import MeasuredError
    from explorable.measured.values.expressions import Evaluator
    from ironlaw import vocabulary

    def expression(depth: int) -> str:
        if depth == 0 or dice.random() < 0.2:
            return dice.choice(
                [
                    "1",
                    "2.5",
                    "'gpt2'",
                    "9" * 20,
                    "model",
                    "x",
                    "()",
                    "(1, 2)",
                    "model('gpt2').parameters",
                    "None",
                    "1e300",
                ]
            )
        one, two = expression(depth - 1), expression(depth - 1)
        return dice.choice(
            [
                f"({one} {dice.choice(['+', '-', '*', '/', '//', '%', '**', '<', 'in', 'and', '@'])} {two})",
                f"-{one}",
                f"{one}[{two}]",
                f"{one}.__class__",
                f"sum({one} for x in {two})",
                f"quantity({one}, {two!r})",
                f"max({one}, {two})",
                f"{one}({two})",
                f"(lambda: {one})()",
                f"{one}.parameters",
            ]
        )

    with contextlib.suppress(MeasuredError):
        Evaluator(vocabulary).evaluate(expression(3))


def a_paste(dice: random.Random) -> None:
    """What somebody pastes of a run, a file or a log or both, with values and lines that fit or do not."""
    from ironlaw.answers.estimate import prepare
    from ironlaw.config.setup import setup
    from ironlaw.core.errors import EngineError
    from ironlaw.files import parts, trainers
    from ironlaw.files.words import words_of

    values = ["1", "2", "true", "bf16", "lora", "full", "[a]", "[[a]]", "{a: b}", ".inf", ".nan", "1.2.3", ",", "..."]
    values += ["0x" + "f" * 400, "9" * 5000, "1e999", "!!set {a}", "2024-99-99", "&a 1", "*a", "auto", "gpt2", *ODD]
    keys = ["fsdp", "fsdp_config", "dtype", "optim", "adapter", "lora_target_modules", "attn_implementation", "bf16"]
    keys += ["flash_attn", "distributed_type", "deepspeed_config", "mixed_precision", "model_type", "? [a]"]
    keys += [key for one in trainers.DIALECTS for key in (*one.models, *sorted(one.marks))]
    keys += [key for one in trainers.DIALECTS for key, _ in one.keys.values()]
    blocks = ["zero_optimization", "data_types", "bf16", "__metadata__", "model.embed", "train_batch_size"]
    inner = ["stage", "grad_accum_dtype", "enabled", "offload_param", "device", "shape", "data_offsets"]
    jsons = ["1", "null", '"bf16"', '["a"]', "{}", "1e999", "NaN", "9" * 5000, "[0, 2]", '"\\ud800"']

    def block() -> str:
        pairs = ", ".join(f'"{dice.choice(inner)}": {dice.choice(jsons)}' for _ in range(dice.randrange(4)))
        return f'"{dice.choice(blocks)}": {dice.choice([f"{{{pairs}}}", dice.choice(jsons)])}'

    def lines() -> str:
        x, y = dice.choice(values), dice.choice(values)
        option = dice.choice(["nnodes", "nproc-per-node", "tensor-model-parallel-size", *keys])
        return dice.choice(
            [
                "".join(f"{dice.choice(keys)}: {dice.choice(values)}\n" for _ in range(dice.randrange(1, 9))),
                f"{{{', '.join(block() for _ in range(dice.randrange(1, 4)))}}}",
                f"torchrun --{option} {x} --nproc-per-node={y} t.py --{dice.choice(keys)} {x}",
                f"CUDA out of memory. Tried to allocate {x} GiB. total capacity of {y} MiB of which {x} GiB is free",
                f"NVIDIA-SMI\n|   {x}  NVIDIA H100 80GB HBM3   On  |\n| {x}MiB / {y}MiB |",
                f"iter 1: loss 1.0, time {x}ms, mfu {y}%",
                f"step: 1 memory: {x}GiB(1%) tps: {y} mfu: {x}%",
                f"step 1/2 | x | {x} ms | {y}% bf16 MFU | {y} tok/s",
                f"elapsed time per iteration (ms): {x}\nglobal batch size: {y}",
                f"{{'train_runtime': {x}, 'train_steps_per_second': '{y}'}}",
                f"1/2 [00:00<00:00, {x}{dice.choice(['s/it', 'it/s'])}]",
                dice.choice(ODD),
            ]
        )

    text = "\n".join(lines() for _ in range(dice.randrange(1, 4)))
    try:
        found = words_of([reading for _, reading in parts(text)], {"gpu": "h100-sxm"} if dice.random() < 0.8 else {})
        prepare(setup(**{"model": "gpt2", **found.words}))()
        said = ""
    except EngineError as error:
        said = str(error)
    assert "\n" not in said


def a_script(dice: random.Random) -> None:
    """A shell's text of pieces that follow each other in any order, many of one kind too."""
    from ironlaw.core.errors import EngineError
    from ironlaw.files import parts
    from ironlaw.files.words import words_of

    pieces = [
        "A=(",
        'B="',
        "export C='",
        "$(",
        "${A[@]}",
        "$B",
        "`",
        "\\\n",
        "#",
        "# a b\n",
        ")",
        "}",
        "'",
        '"',
        "\n",
        " ",
    ]
    pieces += [
        "\u00a0",
        "\u2028",
        "\x85",
        "\r",
        ">",
        "2>&1",
        "<<E\n",
        "a@b:~$ ",
        "PS C:>",
        "&&",
        "|",
        ";",
        "for i in x; do ",
    ]
    pieces += ["torchrun", " train.py", " --bf16", " --max_length 4096", "python -m trl sft", "accelerate launch", *ODD]
    text = "".join(dice.choice(pieces) * dice.choice([1, 1, 1, 2, 9, 999]) for _ in range(dice.randrange(1, 40)))
    try:
        words_of([reading for _, reading in parts(text)])
        said = ""
    except EngineError as error:
        said = str(error)
    assert "\n" not in said


KINDS: dict[str, Try] = {
    "record": a_record,
    "command-line": a_command_line,
    "page": a_page,
    "expression": an_expression,
    "paste": a_paste,
    "script": a_script,
}


def run(kind: str, seed: int, seconds: float) -> int:
    """Try for so many seconds, at least once. The number `seed` and those after it each make one try."""
    until, tries = time.monotonic() + seconds, 0
    while tries == 0 or time.monotonic() < until:
        began = time.process_time()
        try:
            KINDS[kind](random.Random(seed + tries))
        except BaseException as error:
            print(f"{kind}: seed {seed + tries}: {type(error).__name__}: {error}")
            return 1
        if (took := time.process_time() - began) > MOST_S:
            print(f"{kind}: seed {seed + tries}: took {took:.0f} s")
            return 1
        tries += 1
    print(f"{kind}: {tries} tries from seed {seed}")
    return 0


if __name__ == "__main__":
    raise SystemExit(run(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))

"""The command line: `python -m gpu_bench list | run | show | plan | pack | unpack | validate | doctor | …`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from gpu_bench import BENCHMARK_VERSION
from gpu_bench.cases.first_hour import HOURS, hour_of
from gpu_bench.cases.suites import SUITES, find_cases, with_fields
from gpu_bench.machine import provenance
from gpu_bench.machine.chips import chip_of
from gpu_bench.predict import outlook, room
from gpu_bench.record import compare, load, report, tables
from gpu_bench.record.store import RESULTS
from gpu_bench.run import archive, forecast, job, runner

MOST_FAULTS = 20
"""Faults of a file that are told."""
_RETRIES = {"local": 0, "ray": 2}
"""How often a repeat is begun again whose process or machine was taken away. On one machine a killed worker is mostly
the case's own fault; among many machines some die."""


class _Parser(argparse.ArgumentParser):
    """Bad input is one line and exit status 2."""

    def error(self, message: str) -> NoReturn:
        """Print the line and end."""
        self.exit(2, f"gpu_bench: {message}\n")


def _budgets(text: str) -> tuple[float, ...]:
    return tuple(_seconds(part) for part in text.split(","))


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds; allowed: more than 0")
    return value


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a count; allowed: 0, 1, 2, ...")
    return int(text)


_SHARED: dict[str, dict[str, Any]] = {
    "--suite": {"default": "all", "help": f"all, or one of: {', '.join(SUITES)}"},
    "--case": {"action": "append", "default": [], "help": "only this case; can be given several times"},
    "--device": {"choices": ("auto", "cpu", "cuda"), "default": "auto"},
    "--gpu": {"required": True, "help": "a GPU by the engine's name, e.g. h200"},
    "--out": {"type": Path, "default": RESULTS, "help": "folder of the records (default: gpu_bench/results)"},
    "--committed": {"type": Path, "default": RESULTS, "help": "records to compare with"},
    "--budget-seconds": {"type": _seconds, "help": "start nothing that would end later than this"},
    "--wait-for-quiet": {
        "type": _seconds, "default": 0.0, "metavar": "SECONDS",
        "help": "patience for a quiet machine: wait before repeats, and measure spoiled ones again",
    },
    "--format": {"choices": ("text", "markdown"), "default": "text"},
    "paths": {"nargs": "*", "type": Path, "default": [RESULTS], "help": "records or folders of them"},
}  # fmt: skip
"""Arguments that several commands have."""


def _parser() -> _Parser:
    parser = _Parser(prog="python -m gpu_bench", description=__doc__, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=BENCHMARK_VERSION)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(do: Callable[[argparse.Namespace], int], about: str, *shared: str) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = commands.add_parser(do.__name__[1:], help=about, allow_abbrev=False)
        made.set_defaults(do=do)
        for name in shared:
            made.add_argument(name, **_SHARED[name])
        return made

    command(_list, "print the suites and their cases")
    run = command(
        _run, "measure, and write one record per case", "--case", "--device", "--out", "--budget-seconds",
        "--wait-for-quiet",
    )  # fmt: skip
    run.add_argument("--suite", help=f"one of: {', '.join({**HOURS, **SUITES})}")
    told = "change a field of the cases, e.g. batch=33, or batch=24,33 for both; their names say so"
    run.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help=told)
    told = "only see whether the machinery works: one repeat of each check"
    run.add_argument("--checks", action="store_true", help=told)
    run.add_argument("--again", action="store_true", help="measure even what has a finished record")
    told = "local: this machine, one case at a time; ray: a Ray cluster (RAY_ADDRESS, or this machine), one per GPU"
    run.add_argument("--executor", choices=("local", "ray"), default="local", help=told)
    command(_show, "print a record as a page").add_argument("record", type=Path, help="its file, or a folder of them")
    _add_hour(command)
    command(_validate, "check records", "paths")
    command(_doctor, "say whether this machine is fit to measure", "--device")
    card = command(_card, "measure what this card reaches, for the site's page", "--device")
    card.add_argument("--out", type=Path, help="what to write, e.g. card.json (default: print it)")
    card.add_argument("--contributor", default="", metavar="NAME", help="who gives the file away; needs --link")
    card.add_argument("--link", default="", metavar="URL", help="a page of yours, https://…")
    command(
        _predict, "print what the engine predicts for a GPU", "--gpu", "--suite", "--case", "--format"
    ).set_defaults(suite="ladder")
    shown = command(_report, "print records as tables", "paths")
    shown.add_argument("--format", choices=("text", "markdown", "csv", "json"), default="text")
    compared = command(_compare, "say which numbers moved beyond noise: 0 none, 1 some", "--format")
    compared.add_argument("old", type=Path, metavar="OLD", help="a record or a folder of them")
    compared.add_argument("new", type=Path, metavar="NEW", help="likewise")
    compared.add_argument("--all", action="store_true", help="also what did not move")
    admitted = command(_admit, "take in what another machine measured", "--committed")
    admitted.add_argument("measured", type=Path, metavar="FOLDER", help="its records; anything else there is refused")
    admitted.add_argument("--out", type=Path, required=True, help="folder for the proposal")
    given = ("--suite", "--case", "--device", "--committed", "--budget-seconds", "--wait-for-quiet")
    proposed = command(_job, "what a GPU runner does: measure, compare, propose", *given)
    proposed.add_argument("--out", type=Path, required=True, help="folder for what was measured and the proposal")
    proposed.add_argument("--unfit-too", action="store_true", help="measure although the doctor warns")
    proposed.add_argument("--apply", action="store_true", help="copy the proposal over the committed records")
    commands.metavar = " | ".join(commands.choices)
    return parser


def _add_hour(command: Callable[..., argparse.ArgumentParser]) -> None:
    """What a rented machine needs: a plan for its time, and a way to bring everything home."""
    planned = command(_plan, "print what a budget has room for", "--gpu", "--case", "--format")
    told = "time for measuring, of one command or of each of several"
    planned.add_argument("--budget", type=_budgets, required=True, metavar="SECONDS[,SECONDS…]", help=told)
    planned.add_argument("--suite", help="a suite or an hour (default: the first hour for a card of that size)")
    packed = command(_pack, "put all that was measured into an archive", "--out")
    packed.add_argument("archive", type=Path, help="what to write, e.g. results.tar.gz")
    packed.add_argument("--split-mib", type=_count, default=0, metavar="N", help="in pieces of at most so many MiB")
    told = "leave compiled kernels out beyond this (default: 60)"
    packed.add_argument("--most-mib", type=_count, default=60, metavar="N", help=told)
    opened = command(_unpack, "validate what an archive holds, and file it")
    opened.add_argument("archives", type=Path, nargs="+", help="the archive, or all its pieces")
    opened.add_argument("--into", type=Path, default=RESULTS, help="folder of the records (default: gpu_bench/results)")
    told = "bring compiled kernels too: programs, so only from one's own machine"
    opened.add_argument("--compiled", action="store_true", help=told)


def _list(_: argparse.Namespace) -> int:
    for suite, cases in SUITES.items():
        print(suite)
        for case in cases:
            least = f", {case.minimum_memory / 1e9:.0f} GB" if case.minimum_memory else ""
            needs = f"GPU{least}" if case.device == "cuda" else "CPU or GPU"
            print(f"  {case.name:44} {case.extent}, {needs}")
    return 0


def _run(options: argparse.Namespace) -> int:
    if options.suite is None and not options.case:
        raise ValueError(f"nothing to run: give --suite or --case; suites: {', '.join(SUITES)}")
    if options.out.exists() and not options.out.is_dir():
        raise ValueError(f"--out '{options.out}' is a file; allowed: a folder")
    if options.executor == "ray" and options.wait_for_quiet:
        raise ValueError("--wait-for-quiet looks at this machine only; allowed with --executor local")
    cases = with_fields(find_cases(options.suite, tuple(options.case)), options.set)
    settings = runner.Settings(
        device=options.device,
        out=options.out,
        again=options.again,
        budget_s=options.budget_seconds,
        patience_s=options.wait_for_quiet,
        command=options.typed,
        executor=options.executor,
        retries=_RETRIES[options.executor],
        checks_only=options.checks,
    )
    return runner.run(cases, settings)


def _plan(options: argparse.Namespace) -> int:
    gpu = outlook.device_name(options.gpu)
    chip = chip_of(gpu)
    assert chip is not None, "every GPU that has a name is in the engine"
    suite = options.suite or (None if options.case else hour_of(chip.nominal_gb))
    cases = find_cases(suite, tuple(options.case))
    unfit = {case.name: why for _, case in cases if (why := room.why_not(case, gpu)) is not None}
    able = [(key, case) for key, case in cases if case.name not in unfit]
    at = {factor: forecast.forecast(able, gpu, options.budget, factor) for factor in (1.0, forecast.SLOWER)}
    ends = {factor: {one.case.name: one.ends for one in planned} for factor, planned in at.items()}
    rows = [
        (
            f"{one.suite}/{one.case.name}",
            "check, then " + one.case.reason if one.case.check else one.case.reason,
            tables.number(one.starts, 0),
            tables.number(one.ends, 0),
            tables.number(ends[forecast.SLOWER][one.case.name], 0),
        )
        for one in at[1.0]
    ]
    budget = " + ".join(f"{seconds:.0f}" for seconds in options.budget)
    title = f"{suite or 'What is named'}: what {budget} s on a {gpu} finish, by prediction"
    head = ("case", "why", "starts at s", "ends at s", f"ends at s, {forecast.SLOWER} x as slow")
    print(tables.render(tables.Table(title, head, tuple(rows), 2), options.format), end="\n\n")
    for name, why in unfit.items():
        print(f"LEFT OUT {name}: {why}")
    first, slower = (sum(one.ends is not None and not one.case.check for one in planned) for planned in at.values())
    print(
        f"{first} of {sum(not case.check for _, case in able)} cases end in time, {slower} if everything takes "
        f"{forecast.SLOWER} x as long; checks not counted"
    )
    return 0


def _show(options: argparse.Namespace) -> int:
    print("\n\n".join(report.page(record) for _, record in load.valid([options.record])) or "no records")
    return 0


def _pack(options: argparse.Namespace) -> int:
    packed = archive.pack(options.out, options.archive, options.split_mib * 2**20, options.most_mib * 2**20)
    for file in packed.files:
        print(f"{file}: {file.stat().st_size:,} B")
    left = f"; {packed.left_out} compiled files had no room" if packed.left_out else ""
    print(f"{packed.records} records, {packed.parts} of unfinished cases, {packed.compiled} compiled files{left}")
    return 0


def _unpack(options: argparse.Namespace) -> int:
    done = archive.unpack(options.archives, options.into, compiled=options.compiled)
    for name in done.filed:
        print(f"filed {name}")
    for name in done.kept:
        print(f"kept the newer {name}")
    for line in done.refused:
        print(f"refused {line}")
    print(
        f"{len(done.filed)} records filed in {options.into}, {len(done.kept)} kept, {len(done.refused)} refused; "
        f"{done.parts} of unfinished cases, {done.compiled} compiled files"
    )
    return 1 if done.refused else 0


def _validate(options: argparse.Namespace) -> int:
    files = load.record_files(options.paths)
    faulty = 0
    for file in files:
        faults = load.file_faults(file)
        faulty += bool(faults)
        for fault in faults[:MOST_FAULTS]:
            print(_visible(f"{file}: {fault}"))
        if len(faults) > MOST_FAULTS:
            print(_visible(f"{file}: {len(faults) - MOST_FAULTS:,} more"))
    print(f"{len(files)} records, {faulty} faulty")
    return 1 if faulty else 0


def _report(options: argparse.Namespace) -> int:
    found = report.load(options.paths)
    rows = [row for record in found for row in report.flat_rows(record)]
    match options.format:
        case "csv":
            print(tables.to_csv(rows), end="")
        case "json":
            print(tables.to_json(rows), end="")
        case form:
            print("\n\n".join(tables.render(table, form) for table in report.tables(found)) or "no records")
    return 0


def _compare(options: argparse.Namespace) -> int:
    changes = compare.compare(options.old, options.new)
    moved = compare.beyond_noise(changes)
    shown = changes if options.all else moved
    if shown:
        title = "All numbers" if options.all else "New, or moved beyond noise"
        print(tables.render(compare.table(shown, title), options.format), end="\n\n")
    print(compare.summary(changes))
    return 1 if moved else 0


def _job(options: argparse.Namespace) -> int:
    cases = find_cases(options.suite, tuple(options.case))
    return job.run(
        cases,
        job.JobSettings(
            device=options.device,
            committed=options.committed,
            out=options.out,
            budget_s=options.budget_seconds,
            patience_s=options.wait_for_quiet,
            unfit_too=options.unfit_too,
            apply=options.apply,
            command=options.typed,
        ),
    )


def _admit(options: argparse.Namespace) -> int:
    return job.admit(options.measured, job.JobSettings("auto", options.committed, options.out, command=options.typed))


def _predict(options: argparse.Namespace) -> int:
    cases = find_cases(options.suite, tuple(options.case))
    print(tables.render(outlook.prediction_table(cases, options.gpu), options.format))
    return 0


def _doctor(options: argparse.Namespace) -> int:
    # Only this command needs PyTorch in this process.
    from gpu_bench.machine import doctor

    return doctor.report(options.device)


def _card(options: argparse.Namespace) -> int:
    # Only this command and the doctor need PyTorch in this process.
    from gpu_bench.measure import card

    given = card.contributor(options.contributor, options.link)
    if options.out and not options.out.parent.is_dir():
        raise ValueError(f"--out '{options.out}': there is no folder '{options.out.parent}'; allowed: a file in one")
    text = card.measure(options.device, given, lambda line: print(f"gpu_bench: {line}", file=sys.stderr))
    if options.out is None:
        print(text, end="")
    else:
        options.out.write_text(text, encoding="utf-8")
        print(f"{options.out}: {len(text.encode()):,} B")
    return 0


def _visible(text: str) -> str:
    """The text with control characters written out: a file's name must not command a terminal."""
    return "".join(one if one.isprintable() or one == "\n" else repr(one)[1:-1] for one in text)


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit status: 0 done, 1 something failed, 2 bad input."""
    options = _parser().parse_args(arguments)
    options.typed = provenance.recorded_command(arguments)
    if sys.stdout is None:  # closed before it began
        print("gpu_bench: the output cannot be written: it is closed", file=sys.stderr)
        return 2
    try:
        status: int = options.do(options)
        sys.stdout.flush()
        return status
    except (ValueError, runner.RunError) as error:
        print(f"gpu_bench: {_visible(str(error))}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader of the output has closed it, as in `list | head`; nothing more can be written there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        name = f" '{_visible(str(error.filename))}'" if error.filename else ""
        rest = "; what is finished is kept, and the same command goes on" if options.command in ("run", "job") else ""
        print(f"gpu_bench: {error.strerror or type(error).__name__}{name}{rest}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("gpu_bench: interrupted; the same command goes on where it stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

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

_RETRIES = {"local": 0, "ray": 2}
"""On one machine a killed worker is mostly the case's own fault; among many machines some die."""


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


def _parser() -> _Parser:
    parser = _Parser(prog="python -m gpu_bench", description=__doc__, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=BENCHMARK_VERSION)
    known = (
        "list | run | show | plan | pack | unpack | validate | doctor | card | predict | report | compare | job | admit"
    )
    commands = parser.add_subparsers(dest="command", metavar=known, required=True)
    commands.add_parser("list", help="print the suites and their cases", allow_abbrev=False)
    run = commands.add_parser("run", help="measure, and write one record per case", allow_abbrev=False)
    run.add_argument("--suite", help=f"one of: {', '.join({**HOURS, **SUITES})}")
    run.add_argument("--case", action="append", default=[], help="only this case; can be given several times")
    run.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    run.add_argument("--out", type=Path, default=RESULTS, help="folder of the records (default: gpu_bench/results)")
    run.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="change a field of the cases, e.g. batch=33, or batch=24,33 for both; their names say so",
    )
    run.add_argument(
        "--checks", action="store_true", help="only see whether the machinery works: one repeat of each check"
    )
    run.add_argument("--again", action="store_true", help="measure even what has a finished record")
    run.add_argument("--budget-seconds", type=_seconds, help="start nothing that would end later than this")
    run.add_argument(
        "--wait-for-quiet",
        type=_seconds,
        default=0.0,
        metavar="SECONDS",
        help="patience for a quiet machine: wait before repeats, and measure spoiled ones again",
    )
    run.add_argument(
        "--executor",
        choices=("local", "ray"),
        default="local",
        help="local: this machine, one case at a time; ray: a Ray cluster (RAY_ADDRESS, or this machine), one per GPU",
    )
    run.add_argument(
        "--retries",
        type=_count,
        metavar="N",
        help="begin a repeat again, up to N times, whose process or machine was taken away (local: 0, ray: 2)",
    )
    shown_one = commands.add_parser("show", help="print a record as a page", allow_abbrev=False)
    shown_one.add_argument("record", type=Path, help="its file, or a folder of them")
    _add_hour(commands)
    validate = commands.add_parser("validate", help="check records", allow_abbrev=False)
    validate.add_argument("paths", nargs="*", type=Path, default=[RESULTS], help="records or folders of them")
    doctor = commands.add_parser("doctor", help="say whether this machine is fit to measure", allow_abbrev=False)
    doctor.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    _add_card(commands)
    told = commands.add_parser("predict", help="print what the engine predicts for a GPU", allow_abbrev=False)
    told.add_argument("--gpu", required=True, help="a GPU by the engine's name, e.g. h200")
    told.add_argument("--suite", default="ladder", help=f"all, or one of: {', '.join(SUITES)}")
    told.add_argument("--case", action="append", default=[], help="only this case; can be given several times")
    told.add_argument("--format", choices=("text", "markdown"), default="text")
    shown = commands.add_parser("report", help="print records as tables", allow_abbrev=False)
    shown.add_argument("paths", nargs="*", type=Path, default=[RESULTS], help="records or folders of them")
    shown.add_argument("--format", choices=("text", "markdown", "csv", "json"), default="text")
    compared = commands.add_parser(
        "compare", help="say which numbers moved beyond noise: 0 none, 1 some", allow_abbrev=False
    )
    compared.add_argument("old", type=Path, metavar="OLD", help="a record or a folder of them")
    compared.add_argument("new", type=Path, metavar="NEW", help="likewise")
    compared.add_argument("--format", choices=("text", "markdown"), default="text")
    compared.add_argument("--all", action="store_true", help="also what did not move")
    admitted = commands.add_parser("admit", help="take in what another machine measured", allow_abbrev=False)
    admitted.add_argument("measured", type=Path, metavar="FOLDER", help="its records; anything else there is refused")
    admitted.add_argument("--out", type=Path, required=True, help="folder for the proposal")
    admitted.add_argument("--committed", type=Path, default=RESULTS, help="records to compare with")
    _add_job(commands.add_parser("job", help="what a GPU runner does: measure, compare, propose", allow_abbrev=False))
    return parser


def _add_hour(commands: Any) -> None:
    """What a rented machine needs: a plan for its time, and a way to bring everything home."""
    planned = commands.add_parser("plan", help="print what a budget has room for", allow_abbrev=False)
    planned.add_argument(
        "--budget",
        type=_budgets,
        required=True,
        metavar="SECONDS[,SECONDS…]",
        help="time for measuring, of one command or of each of several",
    )
    planned.add_argument("--gpu", required=True, help="a GPU by the engine's name, e.g. h200")
    planned.add_argument("--suite", help="a suite or an hour (default: the first hour for a card of that size)")
    planned.add_argument("--case", action="append", default=[], help="only this case; can be given several times")
    planned.add_argument("--format", choices=("text", "markdown"), default="text")
    packed = commands.add_parser("pack", help="put all that was measured into an archive", allow_abbrev=False)
    packed.add_argument("archive", type=Path, help="what to write, e.g. results.tar.gz")
    packed.add_argument("--out", type=Path, default=RESULTS, help="folder of the records (default: gpu_bench/results)")
    packed.add_argument("--split-mib", type=_count, default=0, metavar="N", help="in pieces of at most so many MiB")
    packed.add_argument(
        "--most-mib", type=_count, default=60, metavar="N", help="leave compiled kernels out beyond this (default: 60)"
    )
    opened = commands.add_parser("unpack", help="validate what an archive holds, and file it", allow_abbrev=False)
    opened.add_argument("archives", type=Path, nargs="+", help="the archive, or all its pieces")
    opened.add_argument("--into", type=Path, default=RESULTS, help="folder of the records (default: gpu_bench/results)")
    opened.add_argument(
        "--compiled", action="store_true", help="bring compiled kernels too: programs, so only from one's own machine"
    )


def _add_card(commands: Any) -> None:
    card = commands.add_parser("card", help="measure what this card reaches, for the site's page", allow_abbrev=False)
    card.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    card.add_argument("--out", type=Path, help="what to write, e.g. card.json (default: print it)")
    card.add_argument("--contributor", default="", metavar="NAME", help="who gives the file away; needs --link")
    card.add_argument("--link", default="", metavar="URL", help="a page of yours, https://…")


def _add_job(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--suite", default="all", help=f"all, or one of: {', '.join(SUITES)}")
    parser.add_argument("--case", action="append", default=[], help="only this case; can be given several times")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--out", type=Path, required=True, help="folder for what was measured and the proposal")
    parser.add_argument("--committed", type=Path, default=RESULTS, help="records to compare with")
    parser.add_argument("--budget-seconds", type=_seconds, help="start nothing that would end later than this")
    parser.add_argument("--wait-for-quiet", type=_seconds, default=0.0, metavar="SECONDS", help="as in run")
    parser.add_argument("--unfit-too", action="store_true", help="measure although the doctor warns")
    parser.add_argument("--apply", action="store_true", help="copy the proposal over the committed records")


def _list() -> int:
    for suite, cases in SUITES.items():
        print(suite)
        for case in cases:
            least = f", {case.minimum_memory / 1e9:.0f} GB" if case.minimum_memory else ""
            needs = f"GPU{least}" if case.device == "cuda" else "CPU or GPU"
            print(f"  {case.name:44} {case.extent}, {needs}")
    return 0


def _run(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    if options.suite is None and not options.case:
        raise ValueError(f"nothing to run: give --suite or --case; suites: {', '.join(SUITES)}")
    if options.out.exists() and not options.out.is_dir():
        raise ValueError(f"--out '{options.out}' is a file; allowed: a folder")
    if options.executor == "ray" and options.wait_for_quiet:
        raise ValueError("--wait-for-quiet looks at this machine only; allowed with --executor local")
    retries = _RETRIES[options.executor] if options.retries is None else options.retries
    cases = with_fields(find_cases(options.suite, tuple(options.case)), options.set)
    settings = runner.Settings(
        device=options.device,
        out=options.out,
        again=options.again,
        budget_s=options.budget_seconds,
        patience_s=options.wait_for_quiet,
        command=provenance.recorded_command(arguments),
        executor=options.executor,
        retries=retries,
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


def _show(path: Path) -> int:
    print("\n\n".join(report.page(record) for _, record in load.valid([path])) or "no records")
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


def _validate(paths: Sequence[Path]) -> int:
    files = load.record_files(paths)
    faulty = 0
    for file in files:
        faults = load.file_faults(file)
        faulty += bool(faults)
        for fault in faults:
            print(f"{file}: {fault}")
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


def _job(options: argparse.Namespace, arguments: Sequence[str]) -> int:
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
            command=provenance.recorded_command(arguments),
        ),
    )


def _admit(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    typed = provenance.recorded_command(arguments)
    asked = job.JobSettings("auto", options.committed, options.out, command=typed)
    return job.admit(options.measured, asked)


def _predict(options: argparse.Namespace) -> int:
    cases = find_cases(options.suite, tuple(options.case))
    print(tables.render(outlook.prediction_table(cases, options.gpu), options.format))
    return 0


def _doctor(device: str) -> int:
    from gpu_bench.machine import doctor

    return doctor.report(device)


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


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit status: 0 done, 1 something failed, 2 bad input."""
    options = _parser().parse_args(arguments)
    commands: dict[str, Callable[[], int]] = {
        "list": _list,
        "run": lambda: _run(options, arguments),
        "show": lambda: _show(options.record),
        "plan": lambda: _plan(options),
        "pack": lambda: _pack(options),
        "unpack": lambda: _unpack(options),
        "validate": lambda: _validate(options.paths),
        "doctor": lambda: _doctor(options.device),
        "card": lambda: _card(options),
        "predict": lambda: _predict(options),
        "report": lambda: _report(options),
        "compare": lambda: _compare(options),
        "job": lambda: _job(options, arguments),
        "admit": lambda: _admit(options, arguments),
    }
    try:
        return commands[options.command]()
    except (ValueError, runner.RunError) as error:
        print(f"gpu_bench: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader of the output has closed it, as in `list | head`; nothing more can be written there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        name = f" '{error.filename}'" if error.filename else ""
        rest = "; what is finished is kept, and the same command goes on" if options.command in ("run", "job") else ""
        print(f"gpu_bench: {error.strerror or type(error).__name__}{name}{rest}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("gpu_bench: interrupted; the same command goes on where it stopped", file=sys.stderr)
        return 130


def _run_main() -> int:
    status = main(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    return status


if __name__ == "__main__":
    sys.exit(_run_main())

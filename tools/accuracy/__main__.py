"""`python -m tools.accuracy`: print the report and write it as JSON. Colors on a terminal, plain text in a pipe."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

from tools.accuracy.calculators import CALCULATORS, medians, saved_activations
from tools.accuracy.experience import NAMES, Experience, Figures, experience, plain_experience
from tools.accuracy.methods import methods, reasons_to_wait
from tools.accuracy.regimes import regimes
from tools.accuracy.report import GROUPS, TARGETS, Report, plain, reason, report
from tools.accuracy.reserved import judged

WIDTH = 110


def main(arguments: list[str] | None = None) -> int:
    """Print the report; 0 also where a target is missed, because the report is the result."""
    parser = argparse.ArgumentParser(prog="python -m tools.accuracy", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the report as JSON")
    parser.add_argument("--rows", action="store_true", help="also print every row")
    options = parser.parse_args(arguments)
    made = report()
    print("\n".join(_lines(made, rows=options.rows, color=sys.stdout.isatty())))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        content = {**plain(made), "calibration": plain_experience(experience())}
        options.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        print(f"\nwritten: {options.json}")
    return 0


def _lines(made: Report, *, rows: bool, color: bool) -> list[str]:
    def paint(text: str, code: int) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if color else text

    lines = [paint(f"{'group':<52}{'rows':>6}{'median':>9}{'p90':>9}{'signed':>9}   target", 1)]
    for summary in made.groups:
        target, met = TARGETS.get(summary.group), summary.met
        goal = "" if target is None else f"{target.median:.0%} / {target.p90:.0%} {'met' if met else 'missed'}"
        figures = f"{summary.count:>6}{summary.median:>9.1%}{summary.p90:>9.1%}{summary.signed:>+9.1%}"
        lines.append(
            f"{GROUPS[summary.group]:<52}{figures}   {goal if met is None else paint(goal, 32 if met else 31)}"
        )
    for name, summary in made.halves:
        figures = f"{summary.count:>6}{summary.median:>9.1%}{summary.p90:>9.1%}{summary.signed:>+9.1%}"
        lines.append(f"{f'{GROUPS[summary.group]}, {name}':<52}{figures}")
    lines += ["", paint(f"{'source':<64}{'group':<15}{'rows':>5}{'median':>9}{'signed':>9}", 1)]
    for title, summary in made.sources:
        figures = f"{summary.group:<15}{summary.count:>5}{summary.median:>9.1%}{summary.signed:>+9.1%}"
        lines.append(f"{title[:62]:<64}{figures}")
    for group in TARGETS:
        lines += ["", paint(f"Worst of {GROUPS[group]}", 1)]
        for c in made.worst(group):
            lines.append(
                f"{c.error:>+8.1%}  {c.published:.4g} published, {c.predicted:.4g} predicted {c.unit}: {c.row.name}"
            )
            lines += textwrap.wrap(reason(c), WIDTH, initial_indent=" " * 10, subsequent_indent=" " * 10)
    lines += ["", *_experience(experience(), paint)]
    lines += ["", paint("Constants", 1)]
    lines += [f"  {c.name}: {c.value}; {c.origin}; rows of this report: {c.rows}" for c in made.constants]
    lines += ["", paint("Other calculators, median error on the allocator's peaks", 1)]
    names = ("this engine", *(calculator.name for calculator in CALCULATORS))
    lines += [
        f"  {name:<32}{error:>8.1%}" if error is not None else f"  {name:<32}      no row"
        for name, error in zip(names, medians(), strict=True)
    ]
    lines += ["", paint("GPT-2 124M, batch 4, 1,024 tokens: MiB saved for backward (bf16, autocast, fp32)", 1)]
    lines += [f"  {a.who:<40}{a.bf16:>8,.0f}{a.autocast:>8,.0f}{a.fp32:>8,.0f}" for a in saved_activations()]
    lines += [
        "",
        *_methods(paint),
        "",
        *_regimes(paint),
        "",
        *_reserved(paint),
        "",
        paint("Published values that the engine cannot be asked for", 1),
    ]
    lines += [f"  {values:>5} values of {count:>4} rows: {why}" for why, values, count in reasons_to_wait()]
    if rows:
        lines += ["", paint("Rows", 1)]
        for c in made.comparisons:
            lines.append(f"{c.error:>+8.1%}  {c.published:>12.5g} {c.predicted:>12.5g} {c.unit:<6} {c.row.name}")
    return lines


def _methods(paint: Callable[[str, int], str]) -> list[str]:
    names = [calculator.name.split()[0][:9] for calculator in CALCULATORS]
    head = f"{'method and stack':<48}{'rows':>6}{'asked':>6}{'median':>8}{'p90':>8}{'covered':>9}"
    lines = [paint(head + "".join(f"{name:>10}" for name in names), 1)]
    for x in methods():
        figures = "".join(f"{_percent(value, 1):>8}" for value in (x.median, x.p90)) + f"{_percent(x.coverage, 0):>9}"
        rivals = "".join(f"{_percent(one.median if one else None, 0):>10}" for one in x.rivals)
        lines.append(f"{f'{x.method}, {x.stack}, {x.level}'[:46]:<48}{x.rows:>6}{x.asked:>6}{figures}{rivals}")
    return lines


def _regimes(paint: Callable[[str, int], str]) -> list[str]:
    head = (
        f"{'times by devices, seconds, fullness':<36}{'rows':>6}{'sources':>9}{'signed':>9}{'p90':>8}{'expected':>10}"
    )
    lines = [paint(f"{head}{'p90':>8}{'covered':>9}", 1)]
    for r in regimes(experience().judged):
        errors = f"{r.physics:>+9.1%}{r.physics_p90:>8.1%}{r.calibrated:>10.1%}{r.calibrated_p90:>8.1%}"
        lines.append(f"{r.what:<36}{r.rows:>6}{r.sources:>9}{errors}{r.coverage:>9.0%}")
    return lines


def _reserved(paint: Callable[[str, int], str]) -> list[str]:
    lines = [
        paint(
            f"{'reserved memory of played steps':<48}{'models':>7}{'rows':>6}{'median':>8}{'p90':>8}{'covered':>9}", 1
        )
    ]
    for half in judged():
        figures = f"{half.models:>7}{half.rows:>6}{half.median:>8.1%}{half.p90:>8.1%}{half.covered:>9.0%}"
        lines.append(f"{half.what:<48}{figures}")
    return lines


def _percent(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}%}"


def _experience(made: Experience, paint: Callable[[str, int], str]) -> list[str]:
    head = f"{'experience, on sources not seen':<44}{'rows':>6}{'physics':>9}{'p90':>8}{'expected':>10}{'p90':>8}"
    head += f"{'carried':>9}{'hindsight':>11}{'covered':>9}{'by source':>11}"
    lines = [paint(head, 1), *(_figures(NAMES[f.kind], f) for f in made.totals), ""]
    lines += [_figures(f"{f.source}, {f.kind}", f) for f in made.sources]
    lines += ["", paint("Goals", 1)]
    for goal in made.goals:
        verdict = paint("met", 32) if goal.met else paint("missed", 31)
        lines.append(f"  {goal.name}: {goal.wanted}; reached {goal.reached}: {verdict}")
        lines += textwrap.wrap(goal.where, WIDTH, initial_indent=" " * 10, subsequent_indent=" " * 10)
    return lines


def _figures(name: str, f: Figures) -> str:
    carried, hindsight = (f"{x:.1%}" if x is not None else "" for x in (f.carried, f.hindsight))
    errors = f"{f.physics:>9.1%}{f.physics_p90:>8.1%}{f.calibrated:>10.1%}{f.calibrated_p90:>8.1%}"
    return (
        f"{name[:42]:<44}{f.rows:>6}{errors}{carried:>9}{hindsight:>11}{f.coverage:>9.0%}{f.coverage_of_sources:>11.0%}"
    )


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:  # the reader of the pipe has closed it
        sys.stderr.close()

"""Search every setting of every mission, and write down the best of each: `python -m tools.missions`.

The pages compare a reader's setting with it. Searching takes seconds, too long for a page. A test searches again.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from docs.acts.missions import audit_score, race_score, wall_score
from docs.acts.missions.facts import Found, Levers, Setting, Track, settings, words
from docs.acts.missions.search import UnsolvedError, found
from docs.acts.missions.tracks import tracks
from explorable import live

TRACKS = tracks()
FILE = Path(__file__).parents[1] / "docs/acts/missions/found.py"
HEADER = '''"""What the search over every setting found. Written by `python -m tools.missions`; do not edit."""

from __future__ import annotations

from .facts import Found

FOUND: dict[str, dict[str, Found]] = {
'''

Results = dict[str, dict[str, tuple[Found, list[dict[str, live.Value]]]]]
"""By track and part: the best, and the settings within 5 % of it."""


def parts_of(track: Track) -> Iterator[tuple[str, Levers, Callable[[Setting], float | None]]]:
    """Every part of a track: its name, its levers, its score."""
    yield "audit", track.audit.levers, partial(audit_score.score, track.audit)
    yield "race", track.race.levers, partial(race_score.score, track.race)
    yield "wall", track.wall.levers, partial(wall_score.score, track.wall)


def search() -> Results:
    """By track and part: the best, and the settings within 5 % of it."""
    results: Results = {}
    for track in TRACKS:
        results[track.name] = {}
        for part, levers, score in parts_of(track):
            try:
                results[track.name][part] = found(levers, score)
            except UnsolvedError:
                raise UnsolvedError(f"{track.name} {part}: {in_the_way(levers, judge(track, part))}") from None
    return results


def judge(track: Track, part: str) -> Callable[[Setting], tuple[float, str]]:
    """A function that gives the score that a setting of a part would have, and the obstacle that refuses it."""
    return {
        "audit": partial(audit_score.judged, track.audit),
        "race": partial(race_score.judged, track.race),
        "wall": partial(wall_score.judged, track.wall),
    }[part]


def in_the_way(levers: Levers, judged: Callable[[Setting], tuple[float, str]]) -> str:
    """How many settings of a part each obstacle stops."""
    counted = Counter(why for _, why in map(judged, settings(levers)))
    listed = ", ".join(f"{name} {count}" for name, count in counted.most_common())
    return f"none of {counted.total()} settings solves it: {listed}"


def text(results: Results) -> str:
    """The module that holds the results."""
    lines = [HEADER]
    for track, parts in results.items():
        lines.append(f'    "{track}": {{\n')
        for part, (best, _) in parts.items():
            setting = ", ".join(f'"{name}": {_literal(value)}' for name, value in best.setting.items())
            lines += [f'        "{part}": Found(\n', f"            {float(f'{best.score:.9g}')},\n"]
            lines += [
                f"            {{{setting}}},\n",
                f"            {best.feasible},\n            {best.total},\n        ),\n",
            ]
        lines.append("    },\n")
    return "".join(lines) + "}\n"


def trainings(track: Track, setting: Setting) -> str:
    """In how many of its trainings a setting reaches the loss of its wall."""
    wall = track.wall
    trials = wall_score.trained(wall, wall.plan(setting), str(setting["rate"]))
    return f"reaches the loss in {trials.kept} of {len(trials.runs)} trainings, {wall_score.NEEDED} are needed"


def betrayed(track: Track) -> tuple[int, int]:
    """How many plans fail in the training that the page draws and pass most others, and of how many.

    Only plans count that keep all other limits.
    """
    wall = track.wall
    plans = ((one, wall.plan(one)) for one in settings(wall.levers))
    all_trials = [
        wall_score.trained(wall, plan, str(one["rate"])) for one, plan in plans if not wall_score.limited(wall, plan)
    ]
    lost = (trials for trials in all_trials if wall_score.final_loss(trials.shown) > trials.limit)
    return sum(trials.kept > len(trials.runs) / 2 for trials in lost), len(all_trials)


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def main() -> None:
    """Search, write, and say what was found; exit with 2 where no setting solves a part."""
    try:
        results = search()
    except UnsolvedError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    FILE.write_text(text(results), encoding="utf-8")
    for track in TRACKS:
        for part, levers, _ in parts_of(track):
            best, winning = results[track.name][part]
            counted = f"{best.feasible} of {best.total} settings count ({best.feasible / best.total:.1%})"
            print(f"{track.name} {part}: {counted}, {len(winning)} win; best:")
            print(f"    {words(levers, best.setting)}")
            if part == "wall":
                print(f"    {trainings(track, best.setting)}")
                count, total = betrayed(track)
                print(f"    {count} of {total} plans within the other limits fail as drawn and pass most other seeds")


if __name__ == "__main__":
    main()

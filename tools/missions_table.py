"""A table of the missions for a note: `python -m tools.missions_table [FILE]`.

For each track and part: what refuses the settings that would be better than the best found, how the start
fails, the best found, the fewest changes that lead from the start into the winning set, and the seconds a script
needs to the end. Those come from FILE, which the browser tests write with `FULL=1 MISSIONS_TIMES=FILE`.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from docs.acts.missions.facts import Levers, Setting, Track, position, settings, start_of
from docs.acts.pipeline_race.act import act as race
from docs.acts.scaling_wall.act import act as wall
from docs.acts.state_audit.act import act as audit
from explorable import live
from tools.missions import TRACKS, Results, judge, parts_of, search

ACTS = {"audit": audit, "race": race, "wall": wall}
OBSTACLES = {
    "memory": "memory",
    "refused": "the mission's rules",
    "rate": "speed",
    "slow": "speed",
    "network": "the network",
    "exploded": "a loss that explodes",
    "loss": "the loss",
}
"""Obstacles in words. `mfu` is left out: a setting with more MFU than the best found is not refused for too little."""
COLUMNS = (
    "Mission",
    "What refuses the better settings",
    "As it begins",
    "Best found",
    "Fewest changes that win",
    "Seconds",
)


def binding(levers: Levers, judged: Callable[[Setting], tuple[float, str]], best: float) -> str:
    """What refuses the settings that would be better, and how many of them each."""
    refusals = Counter(
        OBSTACLES[why] for worth, why in map(judged, settings(levers)) if why in OBSTACLES and worth > best
    )
    if not refusals:
        return "nothing: no setting would be better"
    return f"{', '.join(f'{why} {count}' for why, count in refusals.most_common())}, of {refusals.total()}"


def naive(track: Track, part: str) -> str:
    """How the setting with which a mission begins fails; in a race also the longest pole, the stage that works most."""
    act = ACTS[part](track.name)
    state = act.default_state()
    opened = live.State(state.context, state.controls, prediction=1.0, revealed=True)
    view = act.compute(opened)
    value = f"{view.headline.value} {view.headline.unit}".strip()
    pole = track.race.boxes[track.race.stages(state.controls).longest] if part == "race" else ""
    return f"{view.failure.title if view.failure else 'solved'}: {value}{f', {pole} the longest pole' if pole else ''}"


def worth(track: Track, part: str, score: float) -> str:
    """A score with what it counts."""
    unit = {"audit": f"{track.audit.sample}, in Adam's updates", "race": track.race.worth[0], "wall": "% MFU"}[part]
    return f"{score:.3g} {unit}"


def changes(levers: Levers, winning: list[dict[str, live.Value]]) -> str:
    """The fewest changes from the start that lead into the winning set."""
    start = start_of(levers)
    moved = [[lever for lever in levers if setting[lever.name] != start[lever.name]] for setting in winning]
    fewest, setting = min(zip(moved, winning, strict=True), key=lambda pair: len(pair[0]))
    return "; ".join(position(lever, setting[lever.name]) for lever in fewest)


def seconds(file: Path | None) -> dict[str, str]:
    """By mission and part, `cloud 1`: the longest time by mouse and by keyboard."""
    found: dict[str, dict[str, float]] = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file else ():
        play = json.loads(line)
        times = found.setdefault(play["name"], {})
        times[play["by"]] = max(times.get(play["by"], 0.0), play["seconds"])
    return {name: ", ".join(f"{by} {time:.1f}" for by, time in sorted(times.items())) for name, times in found.items()}


def rows(results: Results, times: dict[str, str]) -> Iterator[tuple[str, ...]]:
    """A row for each track and part."""
    for track in TRACKS:
        for number, (part, levers, _) in enumerate(parts_of(track), 1):
            best, winning = results[track.name][part]
            yield (
                f"{track.title} {number}, {part}",
                binding(levers, judge(track, part), best.score),
                naive(track, part),
                f"{worth(track, part, best.score)} ({best.feasible} of {best.total} count, {len(winning)} win)",
                changes(levers, winning),
                times.get(f"{track.name} {number}", "not played"),
            )


def main() -> None:
    """Print the table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m tools.missions_table", description="The missions in one table.")
    parser.add_argument("times", nargs="?", type=Path, help="what the browser tests wrote with MISSIONS_TIMES")
    times = parser.parse_args().times
    if times is not None and not times.is_file():
        parser.error(f"times: there is no file {str(times)!r}; FULL=1 MISSIONS_TIMES={times} writes one")
    print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS))
    for row in rows(search(), seconds(times)):
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()

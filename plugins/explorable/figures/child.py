"""The build's child process that draws figures, JSON lines in and out.

    {"figure": "/site/docs/chapter/figures/a_plot.py", "engine": "/site/queues"}
    {"svg": "<?xml …", "alternative": "…", "readings": [], "moving": null}
    {"story": "/site/docs/chapter/story.py", "engine": "/site/queues"}
    {"stops": [{"page": "memory", "cards": 1, …}]}

A figure with `CONTROLS` is answered with all its states as one text, as the page's file has them, and the default one
in front. A figure that cannot be drawn is
answered by `{"error": …, "line": …}`, with the line of its own file.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import tostring

from matplotlib import rc_context

from explorable.book import current
from explorable.figures.drawing import Drawing
from explorable.figures.moving import WIDTH, Control, Drag, first, states
from explorable.figures.sketch import Sketch
from explorable.shared.serving import serve
from explorable.shared.svg import INK, drawn, embedded, settings

_COLOR = re.compile(r"#[0-9a-f]{6}\b")


def respond(request: dict[str, Any]) -> dict[str, Any]:
    """Answer one request."""
    path = Path(request.get("figure") or request["story"])
    root = str(Path(request["engine"]).parent) if request["engine"] else ""
    if root and root not in sys.path:
        sys.path.insert(0, root)
    try:
        if "story" in request:
            return {"stops": [{**asdict(stop), "fits": stop.fits} for stop in _loaded(path).stops()]}
        with rc_context(settings(path.stem, 9.8)):
            return _drawn(path)
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
        return {"error": f"{type(error).__name__}: {error}", "line": line}


def _loaded(path: Path) -> Any:
    """A Python file as a module."""
    name = f"figures.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _drawn(path: Path) -> dict[str, Any]:
    module = _loaded(path)
    controls: tuple[Control, ...] = getattr(module, "CONTROLS", ())
    if not controls:
        return {**_frame(module.draw()), "moving": None}
    frames = [_frame(module.draw(**state)) for state in states(controls)]
    if len({len(frame["readings"]) for frame in frames}) > 1:
        raise ValueError("every state of a figure has the same number of readings")
    drag: Drag | None = getattr(module, "DRAG", None)
    if drag is not None and drag.control not in {control.name for control in controls if not control.buttons}:
        raise ValueError(f"DRAG sets {drag.control!r}, which is no slider of this figure")
    plain = [{**asdict(one), "values": list(one.values), "words": list(one.words)} for one in controls]
    moving = {"controls": plain, "states": _states(frames), "drag": drag and asdict(drag)}
    return {**frames[first(controls)], "moving": {**moving, "first": first(controls)}}


def _states(frames: Sequence[Mapping[str, Any]]) -> str:
    """All states of a moving figure as JSON: [picture, words, readings] each, in the order of `moving.states`."""
    told = []
    for frame in frames:
        picture = "".join(tostring(child, "unicode") for child in embedded(frame["svg"], "", width=WIDTH))
        readings = [[one["label"], one["value"], one["unit"]] for one in frame["readings"]]
        told.append([picture, frame["alternative"], readings])
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def _frame(drawing: Drawing) -> dict[str, Any]:
    """One drawing as plain data."""
    if not isinstance(drawing, Drawing):
        raise TypeError(f"draw() must return a Drawing, not a {type(drawing).__name__}")
    if not drawing.alternative.strip():
        raise ValueError("the alternative text is empty; say what the picture shows")
    svg = drawing.figure.svg() if isinstance(drawing.figure, Sketch) else drawn(drawing.figure)
    if others := sorted(set(_COLOR.findall(svg)) - set(INK.values())):
        raise ValueError(f"the color {others[0]} is the same in light and dark; take one of INK: {', '.join(INK)}")
    words = " ".join(drawing.alternative.split())
    return {"svg": svg, "alternative": words, "readings": list(map(asdict, drawing.readings))}


if __name__ == "__main__":
    current()  # its colors
    serve(respond)

"""Check one act without building the site: `python -m plugins.live.check docs/acts/optimizer_memory_tax`.

It does what the build does for an act: load it, compute every option, draw the charts. A problem is told as the build
tells it, with exit code 2.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from plugins.live.build.measured import Evidence
from plugins.live.build.rooms import MAIN
from plugins.live.build.runner import ActDefect, Runner
from plugins.live.config import LiveConfig
from plugins.shared.cache import Cache
from plugins.shared.child import ROOT


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the act whose folder is named. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m plugins.live.check", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="the folder of the act, e.g. docs/acts/optimizer_memory_tax")
    folder: Path = parser.parse_args(arguments).folder.resolve()
    if not (folder / MAIN).is_file():
        print(f"{os.path.relpath(folder)}: there is no {MAIN}; name the folder of an act", file=sys.stderr)
        return 2
    options, name = LiveConfig(), folder.name.replace("_", "-")
    options.load_dict({})
    options.validate()
    evidence = Evidence(ROOT / options.records, ROOT)
    shown = os.path.relpath(folder.parent)
    with tempfile.TemporaryDirectory() as made:
        runner = Runner(Cache(None), Path(made) / "bytecode", options.time_limit_s, folder.parent, shown, evidence)
        try:
            act = runner.act(name)
        except ActDefect as error:
            print(error.defect, file=sys.stderr)
            return 2
        finally:
            runner.close()
    print(f"{shown}/{folder.name}: no mistake found; charts drawn: {', '.join(act.charts) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

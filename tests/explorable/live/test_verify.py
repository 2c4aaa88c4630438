"""`make verify` finds a snippet that is steady at build and gives a reader something else, and no other."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.explorable.live.conftest import Site

ROOT = Path(__file__).parents[3]
SAME = {
    "sum": "total = 20 + 1\ntotal",
    "later": "print('twice', 2 * total)",
    "engine": "from ironlaw import model\nmodel('gpt2').parameters",
    "fails": "1 / 0",
    "drawn": "type('Square', (), {'_repr_svg_': lambda self: '<svg/>'})()",
}
OTHER = {
    "platform": "import sys\nsys.platform",
    "size": "import sys\nsys.maxsize",
    "hash": "hash(2**40)",
    "machine": "import platform\nplatform.machine()",
    "folder": "import importlib\nimportlib.import_module('gpu_bench').__name__",
    "thread": "import threading\nthread = threading.Thread(target=print, args=('ran',))\nthread.start()\nthread.join()",
    "host": "open('/proc/sys/kernel/hostname').read()",
}


@pytest.mark.full
def test_what_differs_is_named(site: Site) -> None:
    fences = [
        f'```live name="{name}"{" error=" + chr(34) + "expected" + chr(34) if name == "fails" else ""}\n{code}\n```\n'
        for name, code in {**SAME, **OTHER}.items()
    ]
    site.write("index.md", "# Home\n\n" + "\n".join(fences))
    assert site.build(), site.messages
    command = ["node", "tools/verify.mjs", str(site.root / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    named = {
        name for name in {**SAME, **OTHER} if f"docs/index.md: snippet '{name}' gives another output" in done.stderr
    }
    assert named == set(OTHER), done.stderr
    assert done.returncode == 1

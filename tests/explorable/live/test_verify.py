"""`explorable verify` finds a snippet that is steady at build and gives a reader something else, and no other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from explorable import cli
from explorable.verify import NODE
from tests.explorable.live.conftest import Site

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
    command = [sys.executable, "-m", "explorable", "verify", str(site.root / "site")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    named = {
        name for name in {**SAME, **OTHER} if f"docs/index.md: snippet '{name}' gives another output" in done.stderr
    }
    assert named == set(OTHER), done.stderr
    assert done.returncode == 1


@pytest.mark.parametrize("there", [True, False], ids=["no site", "no Node.js"])
def test_what_is_missing_is_one_line(
    there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: "node" if there else None)
    assert cli.main(["verify", str(tmp_path)]) == 2
    said = f"{tmp_path} holds no site with snippets; give the folder of a built one" if there else NODE
    assert capsys.readouterr().err == f"explorable: {said}\n"

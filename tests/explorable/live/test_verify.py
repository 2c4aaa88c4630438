"""`explorable verify` finds a snippet that is steady at build and gives a reader something else, and no other."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from explorable import cli
from explorable.node import MARK, Node, NodeError
from explorable.verify import NODE, _hosts
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


def built(folder: Path) -> Path:
    """A site as small as `verify` reads one."""
    live = folder / "assets/live"
    (live / "exercises").mkdir(parents=True)
    (live / "wheels").mkdir()
    (live / "wheels/pyodide-lock-ab.json").write_text('{"packages": {}}', "utf-8")
    facts = {"packages": [], "later": [], "files": ["assets/live/wheels/pyodide-lock-ab.json"]}
    (live / "release.json").write_text(json.dumps(facts), "utf-8")
    return folder


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("release.json", "{}", "release.json: it lacks 'files'"),
        ("release.json", "[" * 100_000, "release.json: it is nested too deeply"),
        ("release.json", '{"packages": [], "later": [], "files": 5}', "release.json: files is 5; it must be a list"),
        ("release.json", '{"packages": [], "later": [], "files": []}', "release.json names no lock file"),
        ("release.json", '{"packages": [], "later": [], "files": ["a/pyodide-lock-b.json"]}', "No such file"),
        (
            "release.json",
            '{"packages": [], "later": [], "files": ["/pyodide-lock-b.json", "b.whl"]}',
            "outside the site",
        ),
        ("wheels/pyodide-lock-ab.json", "{", "pyodide-lock-ab.json: Expecting"),
        ("wheels/pyodide-lock-ab.json", '{"packages": {"a": {}}}', "packages.a lacks 'file_name'"),
        (
            "exercises/a-solution-0.json",
            "{}",
            "a-solution-0.json is the solution of an exercise whose tests are missing",
        ),
        ("page.html", "<live-snippet><img></live-snippet>", "page.html: an element of a snippet lacks 'src'"),
    ],
)
def test_what_no_build_writes_is_one_line(
    file: str, text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = built(tmp_path)
    (site / "assets/live" / file).write_text(text, "utf-8")
    assert cli.main(["verify", str(site)]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_tags_that_do_not_end_are_read_once() -> None:
    assert list(_hosts("<live-snippet " * 200_000)) == []
    assert list(_hosts("a<live-snippet>b</live-snippet>c<live-snippet></live-snippet>")) == [
        "<live-snippet>b</live-snippet>",
        "<live-snippet></live-snippet>",
    ]


def program(folder: Path, text: str) -> Node:
    node = shutil.which("node")
    assert node
    (folder / "program.mjs").write_text(text, "utf-8")
    return Node(node, folder / "program.mjs", {})


def test_what_a_program_prints_is_no_answer_and_one_that_loops_is_stopped(tmp_path: Path) -> None:
    says = f"process.stdout.write('5\\n\\n{MARK}{{\"answer\": 6}}\\n', () => {{ for (;;); }})"
    with program(tmp_path, says) as running:
        assert running.answer(20) == 6
        with pytest.raises(NodeError, match=r"stopped after 0\.5 s"):
            running.answer(0.5)
    with program(tmp_path, "process.exit(3)") as running, pytest.raises(NodeError, match="with status 3"):
        running.answer(20)

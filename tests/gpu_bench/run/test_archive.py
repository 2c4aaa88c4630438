"""The archive: what leaves one machine arrives at the next, and nothing else does."""

from __future__ import annotations

import contextlib
import gc
import gzip
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from gpu_bench.__main__ import main
from gpu_bench.machine import provenance
from gpu_bench.record import store
from gpu_bench.record.store import write_json
from gpu_bench.run import archive
from gpu_bench.run.archive import COMPILED, PARTS, pack, unpack
from gpu_bench.run.isolation import compiler_caches


def _packed(record_file: Path, tmp_path: Path, split: int = 0) -> tuple[Path, ...]:
    out = tmp_path / "out"
    shutil.copytree(record_file.parents[1], out)
    for name in (
        ".parts/trial/case--device.partial",
        ".parts/trial/case--device.0123.kept",
        ".compiled/inductor/a/b.py",
    ):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text('{"context": {}, "parts": []}', encoding="utf-8")
    return pack(out, tmp_path / "home.tar.gz", split, 2**20).files


def test_records_repeats_and_compiled_kernels_survive_in_pieces(record_file: Path, tmp_path: Path) -> None:
    files = _packed(record_file, tmp_path, split=2000)
    assert len(files) > 1
    assert all(file.stat().st_size <= 2000 for file in files)
    done = unpack(files, tmp_path / "new", compiled=True)
    assert [*done.filed] == [f"trial/{record_file.name}"]
    assert (done.parts, done.compiled, done.refused) == (2, 1, ())
    assert (tmp_path / "new/trial" / record_file.name).read_bytes() == record_file.read_bytes()
    assert unpack(files, tmp_path / "new").kept == done.filed, "an archive that comes twice changes nothing"


def test_what_would_be_refused_on_arrival_is_not_packed(record_file: Path, tmp_path: Path) -> None:
    _packed(record_file, tmp_path)
    (tmp_path / "out/trial/linked--cpu.json").symlink_to(record_file)
    files = pack(tmp_path / "out", tmp_path / "again.tar.gz", 0, 2**20).files
    assert [*unpack(files, tmp_path / "new").filed] == [f"trial/{record_file.name}"]


def test_a_full_disk_leaves_no_archive_and_no_piece_of_one(record_file: Path, tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for split in (0, 1000):
        # With pieces the first fits, and a folder is in the place of the second.
        with contextlib.ExitStack() as undo:
            if split:
                (tmp_path / "home.tar.gz.001").mkdir()
            else:
                resource.setrlimit(resource.RLIMIT_FSIZE, (500, limits[1]))
                undo.callback(resource.setrlimit, resource.RLIMIT_FSIZE, limits)
            with pytest.raises(OSError, match=r"home\.tar\.gz"):
                pack(record_file.parents[1], tmp_path / "home.tar.gz", split, 2**20)
        assert [path for path in tmp_path.glob("*home*") if path.is_file()] == []


def test_an_archive_takes_the_place_of_no_link_pipe_or_device(record_file: Path, tmp_path: Path) -> None:
    """As root, an archive called /dev/null once took the device away from the machine."""
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(tmp_path / "elsewhere")
    for target in (pipe, link):
        with pytest.raises(OSError, match="is there already and is no regular file"):
            pack(record_file.parents[1], target, 0, 2**20)
    assert pipe.is_fifo()
    assert link.is_symlink()


_COMPILE = """
import torch
from torch._dynamo.utils import counters
torch._inductor.config.cpp_cache_precompile_headers = False
torch._inductor.config.compile_threads = 1
assert torch.compile(lambda x: x + x, dynamic=False)(torch.ones(8)).tolist() == [2.0] * 8
print(counters["inductor"]["fxgraph_cache_miss"], counters["inductor"]["fxgraph_cache_hit"])
"""


@pytest.mark.full
def test_what_was_compiled_on_one_machine_is_found_on_the_next(record_file: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    shutil.copytree(record_file.parents[1], first)

    def compiled(out: Path) -> str:
        environment = {**os.environ, **compiler_caches(out / COMPILED)}
        done = subprocess.run([sys.executable, "-c", _COMPILE], env=environment, capture_output=True, text=True)
        return done.stdout.strip() or done.stderr

    assert compiled(first) == "1 0"
    assert unpack(pack(first, tmp_path / "home.tar.gz", 0, 2**30).files, second, compiled=True).compiled > 0
    shutil.rmtree(first)
    assert compiled(second) == "0 1"


def test_compiled_programs_come_only_when_asked_for(record_file: Path, tmp_path: Path) -> None:
    files = _packed(record_file, tmp_path)
    assert unpack(files, tmp_path / "new").compiled == 0
    assert not (tmp_path / "new/.compiled").exists()


def test_a_record_that_was_changed_on_the_way_is_refused(record_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(record_file.parents[1], out)
    file = out / "trial" / record_file.name
    record = json.loads(file.read_text(encoding="utf-8"))
    record["samples"]["step_s"][1] = record["samples"]["step_s"][0]
    file.write_text(json.dumps(record), encoding="utf-8")
    done = unpack(pack(out, tmp_path / "home.tar.gz", 0, 0).files, tmp_path / "new")
    assert done.filed == ()
    assert "those of an earlier one" in done.refused[0]
    assert not list((tmp_path / "new").rglob("*.json"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"context": {}}',
        '{"context": {}, "parts": null}',
        '{"context": {}, "parts": [1]}',
        '{"context": {}, "parts": [{}]}',
        '{"context": 1, "parts": []}',
        "[" * 100_000,
    ],
)
def test_repeats_that_no_run_has_written_are_left_out_with_a_line(
    text: str, record_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    shutil.copytree(record_file.parents[1], out)
    for name, content in (("bad", text), ("good", '{"context": {}, "parts": [{"status": "ok"}]}')):
        store.write_bytes(out / f".parts/trial/{name}--device.partial", content.encode())
    files = pack(out, tmp_path / "home.tar.gz", 0, 0).files
    assert main(["unpack", *map(str, files), "--into", str(tmp_path / "new")]) == 1
    said = capsys.readouterr().out.splitlines()
    assert "refused .parts/trial/bad--device.partial: it does not hold what a run leaves" in said
    assert [path.name for path in (tmp_path / "new/.parts").rglob("*.partial")] == ["good--device.partial"]


@pytest.mark.parametrize(
    "name", ["../evil.json", "/etc/x.json", "conftest.py", ".gitattributes", "trial/x--y.html", ".compiled/../../x"]
)
def test_what_the_tool_does_not_pack_is_not_unpacked(name: str, tmp_path: Path) -> None:
    archive = tmp_path / "bad.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        member = tarfile.TarInfo(name)
        member.size = 2
        tar.addfile(member, io.BytesIO(b"{}"))
    with pytest.raises(ValueError, match="which `pack` does not write"):
        unpack([archive], tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_links_and_broken_archives_are_one_line(tmp_path: Path) -> None:
    archive = tmp_path / "link.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        member = tarfile.TarInfo("trial/a--b.json")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(member)
    with pytest.raises(ValueError, match="does not write"):
        unpack([archive], tmp_path / "new")
    archive.write_bytes(b"no archive")
    with pytest.raises(ValueError, match="cannot be read"):
        unpack([archive], tmp_path / "new")
    with pytest.raises(ValueError, match="does not exist"):
        unpack([tmp_path / "none"], tmp_path / "new")


def _header(name: str = ".compiled/a", kind: bytes = tarfile.REGTYPE, size: int = 0) -> bytes:
    """A file's header, which the bytes of the file follow."""
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, size
    return member.tobuf(tarfile.GNU_FORMAT)


def _named(lines: bytes, kind: bytes = tarfile.XHDTYPE) -> bytes:
    """Lines that say something about the file whose header follows."""
    return _header("p", kind, len(lines)) + lines + bytes(-len(lines) % 512)


BOMBS = {
    "a name of 2 MiB": (_named(b"2097152 path=".ljust(2**21, b"a")), "a name of 2,097,152 B; allowed: 4,096 B"),
    "20,000 digits": (_named(b"1" * 20_000), "a name of 20,000 B; allowed: 4,096 B"),
    "a comment of 1 MB": (_named(b"1040012 comment=".ljust(1_040_012, b"a")) + _header(), "a name of 1,040,012 B"),
    "GNU's long name of 1 MiB": (_named(b"a" * 2**20, tarfile.GNUTYPE_LONGNAME), "which `pack` does not write"),
    "lines about all files": (_named(b"10 a=bcde\n", tarfile.XGLTYPE), "which `pack` does not write"),
    "a file with holes": (_header(kind=tarfile.GNUTYPE_SPARSE), "which `pack` does not write"),
    "a name of less than nothing": (_header("p", tarfile.XHDTYPE, -1024), "a file of -1,024 B"),
    "5,000 names of one file": (_named(b"10 a=bcde\n") * 5000, "two names of one file"),
    "half a file": (_header(size=5000), "unexpected end of data"),
    "a file of less than nothing": (_header(size=-1024), "a file of -1,024 B"),
    "100,001 files": (_header() * 100_001, "more than 100,000 files"),
    "a file of 3 GiB": (_header(size=3 * 2**30), "more than 2,147,483,648 B"),
    "a folder in 300 others": (_header(".compiled/" + "a/" * 300 + "x"), "which `pack` does not write"),
}
"""Archives that are small and cost much: their bytes, and what refuses them."""
TEN_SECONDS = frozenset({"100,001 files"})
"""Those whose test takes as long."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.full] if name in TEN_SECONDS else []) for name in BOMBS]
)
def test_a_small_archive_that_costs_much_is_refused(name: str, tmp_path: Path) -> None:
    content, why = BOMBS[name]
    archive = tmp_path / "bomb.tar.gz"
    archive.write_bytes(gzip.compress(content + bytes(1024), 1))
    with pytest.raises(ValueError, match=why):
        unpack([archive], tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_lines_about_files_cost_their_bytes_alone(tmp_path: Path) -> None:
    """As many digits as are allowed before each of 1,000 files: Python's `tarfile` until 3.11.10 takes 16 s for them.

    It is not asked, and no more is read than there is; what was read of a file is forgotten with it.
    """
    stream = io.BytesIO((_named(b"1" * 4096) + _header()) * 1000 + bytes(1024))
    kept = []
    for number, _ in enumerate(archive._files(stream)):
        if number in (1, 999):
            kept.append(sum(type(one) is tarfile.TarInfo for one in gc.get_objects()))
    assert stream.tell() == 1000 * (512 + 4096 + 512) + 512
    assert kept[0] == kept[1]


def test_a_long_name_arrives(record_file: Path, tmp_path: Path) -> None:
    """Names above 100 characters stand before the header, where Python's `tarfile` puts them."""
    out, name = tmp_path / "out", ".compiled/" + "/".join("abcdefghi" * 9 for _ in range(4))
    shutil.copytree(record_file.parents[1], out)
    store.write_bytes(out / name, b"long")
    assert unpack(pack(out, tmp_path / "home.tar.gz", 0, 2**20).files, tmp_path / "new", compiled=True).compiled == 1
    assert (tmp_path / "new" / name).read_bytes() == b"long"


@pytest.mark.parametrize(
    ("home", "commit"),
    [
        ({"git_commit": "c" * 40, "dirty": False}, "c" * 40),
        ({"git_commit": "c" * 40, "dirty": True}, None),
        ({"git_commit": "c" * 40, "dirty": False, "sources": "0" * 16}, None),
    ],
)
def test_a_record_of_a_machine_without_git_gets_the_commit_of_the_same_sources_at_home(
    home: dict[str, Any], commit: str | None, record_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = json.loads(record_file.read_text(encoding="utf-8"))
    record["provenance"] |= {"git_commit": None, "dirty": None}
    file = tmp_path / "out" / "trial" / record_file.name
    write_json(file, record)
    files = pack(tmp_path / "out", tmp_path / "home.tar.gz", 0, 2**20).files
    monkeypatch.setattr(provenance, "git_state", lambda: {"sources": record["provenance"]["sources"], **home})
    assert unpack(files, tmp_path / "new").refused == ()
    filed = json.loads((tmp_path / "new/trial" / file.name).read_text(encoding="utf-8"))
    assert filed["provenance"]["git_commit"] == commit
    assert filed["provenance"]["dirty"] is (None if commit is None else False)
    assert {**filed, "provenance": None} == {**record, "provenance": None}, "nothing else changes"


def _left(folder: Path, repeats: int) -> Path:
    """An archive of one unfinished case with so many finished repeats."""
    part = folder / PARTS / "ladder" / "x.partial"
    part.parent.mkdir(parents=True)
    part.write_text(json.dumps({"context": {}, "parts": [{"status": "ok", "n": one} for one in range(repeats)]}))
    pack(folder, folder / "left.tar.gz", 0, 0)
    return folder / "left.tar.gz"


def test_an_earlier_archive_after_a_later_one_takes_no_finished_repeats_away(tmp_path: Path) -> None:
    early, late, home = _left(tmp_path / "early", 1), _left(tmp_path / "late", 3), tmp_path / "home"
    for one in (early, late, early):
        unpack([one], home)
    kept = json.loads((home / PARTS / "ladder" / "x.partial").read_text())
    assert len(kept["parts"]) == 3


def test_no_file_is_filed_through_a_symbolic_link(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    (home / PARTS).mkdir(parents=True)
    elsewhere.mkdir()
    (elsewhere / "x.partial").write_text("precious")
    (home / PARTS / "ladder").symlink_to(elsewhere)
    with pytest.raises(ValueError, match="is a symbolic link, which is not followed"):
        unpack([_left(tmp_path / "left", 1)], home)
    assert (elsewhere / "x.partial").read_text() == "precious"

"""A site that is built can be finished again: nothing changes but what was wrong."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from explorable import manifest
from explorable.cli import main
from explorable.finish.prepared import complete, unfit
from explorable.manifest import CACHE, FILE, Manifest, PageFacts, Prepared, ReleaseFacts
from tests.explorable.strict_build import build_strictly

CONFIG = """site_name: Tiny
site_url: https://example.org/
theme: {name: material, font: false}
plugins: [search, {explorable: {book: book.adapter, parts: []}}]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("finished")
    (made / "docs").mkdir()
    (made / "docs/index.md").write_text("# Home\n", "utf-8")
    (made / "mkdocs.yml").write_text(CONFIG, "utf-8")
    build_strictly(made, [])
    return made


def contents(site: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}


def finished(folder: Path) -> int:
    return main(["finish", str(folder / "site"), "--manifest", str(folder / FILE)])


def test_finishing_again_changes_nothing(folder: Path) -> None:
    before = contents(folder / "site")
    page = before[folder / "site/index.html"].decode()
    assert page.count("Content-Security-Policy") == 1
    assert finished(folder) == 0
    assert contents(folder / "site") == before


def test_what_is_wrong_is_said_with_its_place_and_exit_code_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = folder / "site/index.html"
    right = page.read_text("utf-8")
    page.write_text(right.replace("</body>", "<script>alert(1)</script></body>"), "utf-8")
    assert finished(folder) == 1
    assert "docs/index.md: on line " in capsys.readouterr().err
    page.write_text(right, "utf-8")


@pytest.mark.parametrize("left", [None, "{", "{}", '{"root": "/", "pages": {}, "release": null, "book": "no_such"}'])
def test_a_folder_or_a_manifest_that_is_none_is_one_line(
    left: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if left is not None:
        (tmp_path / "index.html").write_text("", "utf-8")
        (tmp_path / "manifest.json").write_text(left, "utf-8")
    assert main(["finish", str(tmp_path), "--manifest", str(tmp_path / "manifest.json")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_site_that_was_not_prepared_is_told_what_zensical_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needed = "With Zensical: explorable prepare, zensical build, explorable finish, after each edit\n"
    for folder, said in (
        (tmp_path, f"explorable: {tmp_path / 'manifest.json'} is missing; build the site first. {needed}"),
        (
            tmp_path / "none",
            f"explorable: {tmp_path / 'none'} holds no site; give the folder of one that was built. {needed}",
        ),
    ):
        (tmp_path / "index.html").write_text("", "utf-8")
        assert main(["finish", str(folder), "--manifest", str(tmp_path / "manifest.json")]) == 2
        assert capsys.readouterr().err == said


def test_a_manifest_is_read_as_it_was_written() -> None:
    release = ReleaseFacts("1", "ab", ["explorable_live"], [], ["assets/live/live.js"], [])
    given = Manifest(
        "/book", pages={"index.html": PageFacts("docs/index.md", "Home")}, scripts=["x.js"], release=release
    )
    assert manifest.read(given.text()) == given
    assert json.loads(given.text())["pages"]["index.html"]["title"] == "Home"


def test_what_leads_out_of_a_site_and_pages_that_are_none_are_told_before_anything_is_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    private = tmp_path / "private.html"
    private.write_text("<html><head></head></html>", "utf-8")
    site = folder / "site"
    before = contents(site)
    link, latin, pipe = site / "linked.html", site / "old.html", site / "\x1b[31mpipe.txt"
    link.symlink_to(private)
    os.mkfifo(pipe)
    (folder_named := site / "zoo.html").mkdir()
    latin.write_bytes(b"<html>Z\xfcrich</html>")
    try:
        assert finished(folder) == 2
    finally:
        link.unlink()
        latin.unlink()
        pipe.unlink()
        folder_named.rmdir()
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith(f"{link}: it is a symbolic link to '{private}', which is not followed.")
    assert told[1] == f"{site}/\\x1b[31mpipe.txt: it is a pipe or a device, of which a site has none. Remove it."
    assert told[2].startswith(f"{latin}: a file is not UTF-8")
    assert told[3].startswith(f"{folder_named}: ")
    assert private.read_text("utf-8") == "<html><head></head></html>"
    assert contents(site) == before


@pytest.mark.parametrize("elsewhere", ["", ".", "../beside", "sub/../../beside"])
def test_nothing_outside_a_site_is_taken_for_what_it_does_not_publish(elsewhere: str, tmp_path: Path) -> None:
    site, beside = tmp_path / "site", tmp_path / "beside"
    for made in (site / "sub", site / "acts", beside, tmp_path / "files"):
        made.mkdir(parents=True)
    (beside / "act.py").write_text("ACT = 1\n", "utf-8")
    (site / "index.html").write_text("<html></html>", "utf-8")
    left = Prepared({}, [], [], [], "files", [], [], [], unpublished=[elsewhere, "acts"])
    complete(site, Manifest(str(tmp_path)), left)
    assert (beside / "act.py").exists()
    assert (site / "index.html").exists()
    assert not (site / "acts").exists()


def left(folder: Path, **changed: object) -> tuple[Path, Path]:
    """A site and the manifest of its build, in which something has changed."""
    (folder / "site").mkdir()
    (folder / "site/index.html").write_text("<html><head></head></html>", "utf-8")
    (folder / CACHE / "files/assets").mkdir(parents=True)
    (folder / CACHE / "files/assets/a.js").write_text("1", "utf-8")
    prepared = Prepared({}, [], [], [], f"{CACHE}/files", [], [], [], [])
    release = ReleaseFacts("1", "ab", [], [], [], [])
    told = json.loads(Manifest(str(folder), release=release, prepared=prepared, book="{}").text())
    for path, value in changed.items():
        part, _, name = path.rpartition("__")
        (told[part] if part else told)[name] = value
    (folder / FILE).write_text(json.dumps(told), "utf-8")
    return folder / "site", folder / FILE


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("root", 5, "root is 5; it must be a text"),
        ("root", "a\0", "it must be without the character NUL"),
        ("prepared__files", 5, "prepared.files is 5; it must be a text"),
        ("prepared__files", "/etc/apt", f"prepared.files is '/etc/apt'; it must be a folder in {CACHE}"),
        ("prepared__files", f"{CACHE}/../../docs", f"it must be a folder in {CACHE}"),
        ("prepared__styles", "a.css", 'prepared.styles is "a.css"; it must be a list'),
        ("prepared__modules", [5], "prepared.modules (entry 1) is 5; it must be a text"),
        ("prepared__unpublished", {}, "prepared.unpublished is {}; it must be a list"),
        ("prepared__other", 1, "prepared.other is unknown"),
        ("release__started", None, "release.started is null; it must be a list"),
        ("release__started", ["gone.js"], "gone.js: No such file or directory"),
        ("pages", {"a": {"title": "A"}}, "pages.a lacks 'source'"),
        ("book", '{"id": 5}', "id is 5; it must be a text"),
        ("book", '{"a":' * 200_000, "it is nested too deeply"),
    ],
)
def test_what_no_build_leaves_is_one_line_with_what_is_allowed(
    path: str, value: object, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site, file = left(tmp_path, **{path: value})
    (site / "assets/live").mkdir(parents=True)
    assert main(["finish", str(site), "--manifest", str(file)]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("gone", [True, False])
def test_files_that_cannot_come_into_a_site_are_told_before_anything_is_written(
    gone: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site, file = left(tmp_path)
    if gone:
        shutil.rmtree(tmp_path / CACHE / "files")
    else:
        (site / "assets").write_text("a file", "utf-8")
    before = contents(site)
    assert main(["finish", str(site), "--manifest", str(file)]) == 2
    told = capsys.readouterr().err
    assert ("there is no such folder" if gone else f"{site / 'assets'}: it must be a folder") in told
    assert told.count("\n") == 1
    assert contents(site) == before


@pytest.mark.parametrize("inside", ["", "files"])
def test_a_folder_of_prepared_files_that_lies_elsewhere_is_not_copied(inside: str, tmp_path: Path) -> None:
    """Neither where it is a link itself nor where a folder above it is one."""
    private, site, cache = tmp_path / "private", tmp_path / "site", tmp_path / CACHE
    (private / "files").mkdir(parents=True)
    site.mkdir()
    link = cache / inside if inside else cache
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(private / inside if inside else private)
    told = list(unfit(site, Manifest(str(tmp_path)), Prepared({}, [], [], [], f"{CACHE}/files", [], [], [], [])))
    assert told == [
        f"{link}: it is a symbolic link to '{link.readlink()}', which is not followed; prepare the book again"
    ]


def test_an_empty_address_of_a_style_is_told(tmp_path: Path) -> None:
    (tmp_path / CACHE / "files").mkdir(parents=True)
    left = Prepared({}, [], [], [], f"{CACHE}/files", [""], [], ["a.js", ""], [])
    told = [line for line in unfit(tmp_path, Manifest(str(tmp_path)), left) if "empty address" in line]
    assert [line.split()[1] for line in told] == ["prepared.styles", "prepared.scripts"]

"""Results are found again by content, and by nothing else."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorable.shared.cache import Cache, cached_file, digest, fingerprint
from explorable.shared.installed import Imported


def test_a_result_is_found_again(tmp_path: Path) -> None:
    Cache(tmp_path).put("key", {"a": [1, 2.5, None]}, Imported())
    assert Cache(tmp_path).get("key") == {"a": [1, 2.5, None]}


def test_an_unknown_key_has_no_result(tmp_path: Path) -> None:
    assert Cache(tmp_path / "missing").get("key") is None


def test_a_corrupt_entry_counts_as_absent(tmp_path: Path) -> None:
    (tmp_path / "key.json").write_text('{"half": ')
    assert Cache(tmp_path).get("key") is None


def test_a_cache_without_a_folder_keeps_nothing() -> None:
    cache = Cache(None)
    cache.put("key", 1, Imported())
    assert cache.get("key") is None


def test_a_write_leaves_no_temporary_file(tmp_path: Path) -> None:
    Cache(tmp_path).put("key", 1, Imported())
    assert sorted("".join(path.suffixes) for path in tmp_path.iterdir()) == [
        ".json",
        ".json.sum",
        ".needs",
        ".needs.sum",
    ]


@given(st.lists(st.text()), st.lists(st.text()))
def test_different_parts_have_different_hashes(left: list[str], right: list[str]) -> None:
    assert (digest(*left) == digest(*right)) == (left == right)


def test_a_fingerprint_changes_with_a_source_and_not_with_byte_code(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1")
    before = fingerprint([tmp_path])
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_bytes(b"code")
    assert fingerprint([tmp_path]) == before
    (tmp_path / "a.py").write_text("x = 2")
    assert fingerprint([tmp_path]) != before


def test_what_a_run_leaves_beside_records_while_it_lasts_changes_no_fingerprint(tmp_path: Path) -> None:
    """A lock that came with the first run of a clone made a server build every page again."""
    folder = tmp_path / ".book/results"
    (folder / "smoke").mkdir(parents=True)
    (folder / "smoke/one.json").write_text("{}")
    before = fingerprint([folder])
    (folder / ".lock").touch()
    (folder / ".parts/smoke").mkdir(parents=True)
    (folder / ".parts/smoke/one.partial").write_text("{}")
    assert fingerprint([folder]) == before
    (folder / "smoke/two.json").write_text("{}")
    assert fingerprint([folder]) != before


def test_a_file_is_made_once(tmp_path: Path) -> None:
    made: list[int] = []

    def make() -> bytes:
        made.append(1)
        return b"content"

    assert [cached_file(tmp_path / "deep" / "file", make) for _ in range(2)] == [b"content", b"content"]
    assert len(made) == 1


def test_right_json_that_was_not_written_counts_as_absent(tmp_path: Path) -> None:
    """The code that reads an entry relies on its shape."""
    Cache(tmp_path).put("key", {"a": 1}, Imported())
    (tmp_path / "key.json").write_text("[]")
    assert Cache(tmp_path).get("key") is None


def test_a_file_that_was_cut_short_is_made_again_and_not_published(tmp_path: Path) -> None:
    path = tmp_path / "runtime.js"
    cached_file(path, lambda: b"the whole program")
    path.write_bytes(b"the who")
    assert cached_file(path, lambda: b"the whole program") == b"the whole program"
    assert path.read_bytes() == b"the whole program"


def test_a_disk_that_takes_no_files_costs_time_and_not_the_build(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A file stands where the folder should be: the one failure that root meets too."""
    (tmp_path / "cache").write_text("")
    with caplog.at_level(logging.INFO, "explorable"):
        assert [cached_file(tmp_path / "cache" / "a", lambda: b"made") for _ in range(2)] == [b"made", b"made"]
        Cache(tmp_path / "cache").put("key", 1, Imported())
    assert Cache(tmp_path / "cache").get("key") is None
    assert len([one for one in caplog.records if "cannot be written" in one.getMessage()]) == 1

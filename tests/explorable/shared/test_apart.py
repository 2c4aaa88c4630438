"""A block that takes long is made in a process of its own, once, and again when something it depends on has changed."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree

import pytest
from markdown.util import AtomicString

from explorable.book import Apart
from explorable.shared.apart import Elements, ElementsApart
from explorable.shared.errors import AuthorError
from tests.explorable.strict_build import share_bytecode

MODULE = """
import os
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

from explorable.shared.errors import AuthorError

HERE = Path(__file__).parent


def made(argument, content):
    with (HERE / "calls.txt").open("a") as calls:
        calls.write(f"{os.getpid()} {argument}\\n")
    if argument == "Nowhere":
        raise AuthorError("there is no stop 'Nowhere'", "allowed: Here", 2)
    if argument == "nothing":
        return {}["nothing"]
    if argument == "another":
        error = LookupError("a word of a library")
        error.what = "word"
        raise error
    box = Element("p", {"title": 'a "name" & more'})
    box.text = f"*{argument}* < {content}: "
    SubElement(box, "b").tail = (HERE / "data.txt").read_text()
    return box
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    share_bytecode(tmp_path / ".cache/apart")
    (tmp_path / "waiting_times.py").write_text(MODULE)
    (tmp_path / "data.txt").write_text("one")
    return tmp_path


def block(folder: Path) -> Apart:
    return Apart("waiting_times.made", (folder / "data.txt",))


def opened(folder: Path) -> ElementsApart:
    return ElementsApart({"waits": block(folder)}, folder)


def asked(folder: Path, argument: str = "Here", content: str = "noon") -> str:
    """What a build that begins now says of the block."""
    elements = opened(folder)
    try:
        return ElementTree.tostring(elements.element(block(folder), argument, content), "unicode")
    finally:
        elements.close()


def calls(folder: Path) -> list[list[str]]:
    return [line.split() for line in (folder / "calls.txt").read_text().splitlines()]


def test_an_element_comes_back_as_it_was_made_in_another_process_with_texts_that_markdown_leaves(folder: Path) -> None:
    elements = opened(folder)
    made = elements.element(block(folder), "Here", "noon")
    elements.close()
    assert (made.get("title"), made.text, made[0].tail) == ('a "name" & more', "*Here* < noon: ", "one")
    assert isinstance(made.text, AtomicString)
    assert isinstance(made[0].tail, AtomicString)
    [[process, _]] = calls(folder)
    assert int(process) != os.getpid()


def test_it_is_kept_until_the_data_or_the_module_changes(folder: Path) -> None:
    first = asked(folder)
    assert asked(folder) == first
    assert len(calls(folder)) == 1
    (folder / "data.txt").write_text("two")
    assert asked(folder) == first.replace("one", "two")
    (folder / "waiting_times.py").write_text(MODULE.replace('"p"', '"div"'))
    assert asked(folder).startswith("<div")
    assert len(calls(folder)) == 3


def test_what_pages_show_is_begun_in_their_order_and_not_made_again_when_they_ask(folder: Path) -> None:
    elements = opened(folder)
    shown = ["/// waits | A\ncontent: x\n///\n\n/// other | Z\n///\n", "    text\n\n/// waits | B\n///\n"]
    elements.begin(shown)
    # Markdown gives the content of a block with a line's end, and its argument with spaces.
    assert elements.element(block(folder), " B ", "").text == "*B* < : "
    assert elements.element(block(folder), "A", "content: x\n").text == "*A* < content: x: "
    elements.close()
    assert [argument for _, argument in calls(folder)] == ["A", "B"]


def test_an_error_says_what_is_wrong_and_where_and_is_not_kept(folder: Path) -> None:
    for _ in range(2):
        with pytest.raises(AuthorError) as told:
            asked(folder, "Nowhere")
        assert told.value.what == "there is no stop 'Nowhere'"
        assert (told.value.fix, told.value.offset) == ("allowed: Here", 2)
    assert len(calls(folder)) == 2
    with pytest.raises(AuthorError) as told:
        asked(folder, "nothing")
    assert told.value.what == "waiting_times.made failed: KeyError: 'nothing'"
    assert told.value.fix == "see line 17 of waiting_times.py, in made"
    with pytest.raises(AuthorError, match="LookupError: a word of a library; see line 21"):
        asked(folder, "another")


def test_a_process_that_ends_is_told_in_a_line(folder: Path) -> None:
    (folder / "waiting_times.py").write_text("import os\nos._exit(3)")
    with pytest.raises(
        AuthorError, match=r"waiting_times\.made gave no answer: the Python process ended with status 3"
    ):
        asked(folder)


def test_outside_of_a_build_it_is_made_where_it_is_asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(folder)
    elements = Elements()
    assert elements.element(block(folder), "Here", "noon").text == "*Here* < noon: "
    with pytest.raises(AuthorError, match="there is no stop"):
        elements.element(block(folder), "Nowhere")
    assert {int(process) for process, _ in calls(folder)} == {os.getpid()}

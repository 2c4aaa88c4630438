"""A defect is one line that an editor can jump to."""

from __future__ import annotations

from explorable.shared.errors import Defect


def test_a_defect_says_file_line_problem_and_fix() -> None:
    assert (
        str(Defect("docs/x.md", 12, "there is no act 'a'", "Acts: b")) == "docs/x.md:12: there is no act 'a'. Acts: b."
    )


def test_a_defect_of_a_whole_file_has_no_line() -> None:
    assert str(Defect("docs/x.md", None, "it is empty.")) == "docs/x.md: it is empty."
    assert (
        str(Defect("docs/x.md", 3, "Did you mean: 'b'?", "Correct it")) == "docs/x.md:3: Did you mean: 'b'? Correct it."
    )

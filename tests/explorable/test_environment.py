"""What the machine gets wrong: a build ends in one line with the file, or goes on; never with a traceback.

Each row is a small site, built by `mkdocs build --strict` in a process of its own.
"""

from __future__ import annotations

import ctypes
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from explorable.shared import yaml_text

ROOT = Path(__file__).parents[2]
PR_CAPBSET_DROP = 24
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x20000, 0x10000000, 0x40000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
NOBODY = 65534
LIMIT_S = 240
FIGURE = """from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK

def draw():
    figure, axes = canvas(2)
    axes.bar(["a"], [1], color=INK["compute"])
    return Drawing(figure, "One bar.")
"""
SHOWN = "# A\n\n/// figure | one\nOne bar.\n///\n"
BOMB = "\n".join(
    ["a: &a [x, x, x, x, x, x, x, x, x]"]
    + [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
)
CONFIG = """site_name: Small
theme: {name: null, custom_dir: theme}
markdown_extensions: [{pymdownx.snippets: {base_path: ["."], check_paths: true}}]
plugins: [{explorable: {book: tests.explorable.this_book, parts: [figures]}}]
"""

BESIDE = re.compile(r"INFO |Aborted with |ERROR +-  Error (reading|building) page ")
"""What MkDocs says around a fault: what it does, and that it ends. Of the page at which it ended it gives the name."""

Limit = Callable[[], None]


@dataclass(frozen=True)
class Fault:
    """What happens to a small site, and what its build says.

    does: changes the site. said: a pattern in the line; "" where the build succeeds. limit: what the process sets for
    itself. inside: a folder for the site. lines: how many say what is wrong. user: whether another user builds it.
    """

    does: Callable[[Path], object]
    said: str = ""
    limit: Limit | None = None
    inside: str = ""
    lines: int = 1
    user: bool = False


def page(text: str) -> Callable[[Path], object]:
    return lambda site: (site / "docs/index.md").write_text(text, encoding="utf-8")


def steps(*done: Callable[[Path], object]) -> Callable[[Path], object]:
    """One after the other."""
    return lambda site: [one(site) for one in done]


def dated(site: Path, seconds: float) -> bool:
    for file in site.rglob("*"):
        os.utime(file, (seconds, seconds))
    return True


def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def full_disk() -> None:
    """Put a disk of 16 KiB in the place of the site; where that is not allowed, let no file grow beyond 2,000 bytes."""
    system = libc()
    Path("site").mkdir()
    small = system.unshare(CLONE_NEWNS) == 0 and system.mount(None, b"/", None, MS_REC | MS_PRIVATE, None) == 0
    if not small or system.mount(b"tmpfs", b"site", b"tmpfs", 0, b"size=16k") != 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))


def offline() -> None:
    """Leave the process no network but its own; where that is not allowed, a proxy that is not there (`NOWHERE`)."""
    system = libc()
    if system.unshare(CLONE_NEWNET) != 0:
        system.unshare(CLONE_NEWUSER | CLONE_NEWNET)


NOWHERE = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")


AS_NOBODY = (
    f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups --inh-caps=-all,+dac_read_search "
    "--ambient-caps=-all,+dac_read_search --bounding-set=-all,+dac_read_search"
).split()
"""Another user than root, who owns nothing. He may read what root has installed, which often lies in root's home."""


def given_away(site: Path) -> None:
    """Give the site to that user."""
    for path in (site, *site.rglob("*")):
        os.chown(path, NOBODY, NOBODY)


def powerless() -> None:
    """Leave the process the rights of a user: what root wrote without write permission is read-only to it, too."""
    prctl = libc().prctl
    for capability in range(64):
        prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def figure(line: str) -> Callable[[Path], object]:
    """A page of the chapter shows a figure, whose program has one line more."""

    def write(site: Path) -> None:
        (site / "docs/chapter/one.md").write_text(SHOWN, encoding="utf-8")
        program = FIGURE.replace("    figure, axes", f"    {line}\n    figure, axes")
        (site / "docs/chapter/figures/one.py").write_text(program, encoding="utf-8")

    return write


def with_packages(site: Path) -> None:
    """The build asks another host for the packages that snippets may import."""
    config = CONFIG.replace("parts: [figures]", "packages: [numpy], parts: [live, figures], live: {cache: false}")
    config = config.replace("extensions: [", "extensions: [pymdownx.superfences, ")
    (site / "mkdocs.yml").write_text(config, encoding="utf-8")


def file(name: str, text: str) -> Callable[[Path], None]:
    """A file of the project."""

    def write(site: Path) -> None:
        (site / name).write_text(text, encoding="utf-8")

    return write


def moved(name: str, to: str) -> Callable[[Path], object]:
    """A folder lies elsewhere, and a symbolic link in its place."""
    return steps(lambda site: (site / name).rename(site / to), lambda site: (site / name).symlink_to(to))


FAULTS = {
    "a symbolic link to a file of the machine": Fault(
        lambda site: (site / "docs/host.txt").symlink_to("/etc/hostname"),
        r"docs/host\.txt: it is a symbolic link to '/etc/hostname', which is not followed\. Put a copy in its place",
    ),
    "a symbolic link to a folder": Fault(
        lambda site: (site / "docs/etc").symlink_to("/etc/ssl"), r"docs/etc: it is a symbolic link to"
    ),
    "a symbolic link to nothing": Fault(
        lambda site: (site / "docs/gone.md").symlink_to("nowhere"), r"docs/gone\.md: it is a symbolic link"
    ),
    "a symbolic link to itself": Fault(
        lambda site: (site / "docs/loop").symlink_to("loop"), r"docs/loop: it is a symbolic link"
    ),
    "a symbolic link in the theme": Fault(
        lambda site: (site / "theme/host.txt").symlink_to("/etc/hostname"),
        r"theme/host\.txt: it is a symbolic link to '/etc/hostname', which is not followed\. Put a copy in its place",
    ),
    "a symbolic link to a folder in the theme": Fault(
        lambda site: (site / "theme/etc").symlink_to("/etc/ssl"), r"theme/etc: it is a symbolic link to"
    ),
    "a template that is a symbolic link": Fault(
        steps(
            lambda site: (site / "theme/main.html").unlink(),
            lambda site: (site / "theme/main.html").symlink_to("/etc/hostname"),
        ),
        r"theme/main\.html: it is a symbolic link to '/etc/hostname'",
    ),
    "a theme that is a symbolic link": Fault(
        moved("theme", "../else"),
        r"theme: it is a symbolic link to '\.\./else', which is not followed",
    ),
    "pages that are a symbolic link": Fault(
        moved("docs", "../else"),
        r"docs: it is a symbolic link to '\.\./else', which is not followed",
    ),
    "pages that are a symbolic link to another folder of the book": Fault(moved("docs", "text")),
    "an include from outside": Fault(
        page('# A\n\n--8<-- "../../../../../../etc/hostname"\n'),
        r"docs/index\.md:3: '\S+hostname' lies outside of the project",
    ),
    "an include through a symbolic link": Fault(
        steps(
            page('# A\n\n--8<-- "docs/host.txt"\n'),
            lambda site: (site / "docs/host.txt").symlink_to("/etc/hostname"),
        ),
        r"docs/index\.md:3: 'docs/host\.txt' lies outside of the project",
        # The link is told as well.
        lines=2,
    ),
    "an include in another encoding": Fault(
        lambda site: (
            page('# A\n\n--8<-- "docs/latin.txt"\n')(site),
            (site / "docs/latin.txt").write_bytes(b"caf\xe9\n"),
        ),
        r"docs/latin\.txt:1: the byte 0xe9 is not UTF-8",
    ),
    "an include from outside between two marks": Fault(
        steps(page("# A\n\n--8<--\nhost\n--8<--\n"), lambda site: (site / "host").symlink_to("/etc/hostname")),
        r"docs/index\.md:4: 'host' lies outside of the project",
    ),
    "an include between two marks that is not there": Fault(
        page("# A\n\n--8<--\nnope.md\n--8<--\n"), r"docs/index\.md:4: there is no file 'nope\.md' to include"
    ),
    "lines of a file that is not there": Fault(
        page('# A\n\n--8<-- "nope.md:1:3"\n'), r"docs/index\.md:3: there is no file 'nope\.md' to include"
    ),
    "an include of a pipe": Fault(
        steps(page("# A\n\n--8<--\npipe\n--8<--\n"), lambda site: os.mkfifo(site / "pipe")),
        r"docs/index\.md:4: there is no file 'pipe' to include",
    ),
    "an include whose name is too long": Fault(
        page(f'# A\n\n--8<-- "{"x" * 300}"\n'), r"docs/index\.md:3: there is no file 'x+' to include"
    ),
    "an included file that includes what is not there": Fault(
        steps(page('# A\n\n--8<-- "a.txt:2:9"\n'), file("a.txt", '--8<-- "no.txt"\n\n--8<--\ngone.txt\n--8<--\n')),
        r"a\.txt:4: there is no file 'gone\.txt' to include",
    ),
    "an included section that is not there": Fault(
        steps(page("# A\n\n--8<--\na.txt:none\n--8<--\n"), file("a.txt", "--8<-- [start:part]\n")),
        r"docs/index\.md:4: 'a\.txt' has no section 'none' to include\. Allowed: part",
    ),
    "files that include each other": Fault(
        steps(
            page('# A\n\n--8<-- "a.txt"\n'),
            file("a.txt", '--8<-- "b.txt"\n'),
            file("b.txt", "--8<--\na.txt\n--8<--\n"),
        ),
        r"b\.txt:2: it includes 'a\.txt' again\. Remove the line",
    ),
    "ten million files in one another": Fault(
        steps(
            page('# A\n\n--8<-- "a0.txt"\n'),
            *(file(f"a{level}.txt", f'--8<-- "a{level + 1}.txt"\n' * 10) for level in range(7)),
            file("a7.txt", "x\n"),
        ),
        r"a\d\.txt:\d+: with 'a\d\.txt' the page includes too much\. Allowed: at most 1,000 files",
    ),
    "a page in another encoding": Fault(
        lambda site: (site / "docs/index.md").write_bytes(b"# caf\xe9\n"),
        r"docs/index\.md:1: the byte 0xe9 is not UTF-8",
    ),
    "a page with what no text holds": Fault(page("# A\n\nx\0y\n"), r"docs/index\.md:3: there is a character NUL"),
    "a page's name in another encoding": Fault(
        lambda site: Path(os.fsdecode(bytes(site / "docs") + b"/caf\xe9.md")).write_text("# A\n"),
        r"a file is not UTF-8|surrogates not allowed",
    ),
    "front matter that stands for 387 million values": Fault(
        page(f"---\n{BOMB}\ntitle: *i\n---\n# A\n"),
        r"docs/index\.md:3: the front matter is no YAML: the alias '\*a' is not read",
    ),
    "front matter nested too deeply": Fault(
        page(f"---\na: {'[' * 5000}\n---\n# A\n"), r"nested too deeply|front matter is no YAML"
    ),
    "a file in the place of the site": Fault(
        lambda site: (site / "site").write_text(""), r"The build ended: \S*site\S*: (File exists|Not a directory)\."
    ),
    "a disk that is full": Fault(
        page("# A\n\n" + "word " * 4000), r"The build ended: .*(File too large|No space left on device)\.", full_disk
    ),
    "a cache that cannot be written": Fault(lambda site: (figure("pass")(site), (site / ".cache").write_text("")), ""),
    "a program of a figure that is killed": Fault(
        figure("import os; os.kill(os.getpid(), 9)"),
        r"docs/chapter/one\.md:3: figure 'one': .*the Python process ended with status -9",
    ),
    "a program of a figure that leaves": Fault(
        figure("import os; os._exit(3)"),
        r"docs/chapter/one\.md:3: figure 'one': .*the Python process ended with status 3",
    ),
    "a pipe among the pages": Fault(
        lambda site: os.mkfifo(site / "docs/pipe.bin"), r"The build ended: .*pipe\.bin.* is a named pipe\."
    ),
    "no pages": Fault(lambda site: shutil.rmtree(site / "docs"), r"docs_dir.*isn't an existing directory"),
    "a configuration that is no YAML": Fault(
        # No plugin is there yet, and MkDocs says it in three.
        lambda site: (site / "mkdocs.yml").write_text("a: ["),
        r"Error: MkDocs encountered an error parsing the configuration file: while parsing a flow node",
        lines=3,
    ),
    "a user who may only what its files allow": Fault(figure("pass"), limit=powerless),
    "another user, to whom the site belongs": Fault(steps(figure("pass"), given_away), user=True),
    "another user, to whom it does not belong": Fault(
        figure("pass"), r"The build ended: \S*site\S*: Permission denied\.", user=True
    ),
    "no network": Fault(with_packages, limit=offline),
    "a read-only folder": Fault(
        lambda site: (site / "site").mkdir(mode=0o555), r"The build ended: \S*site\S*: Permission denied\.", powerless
    ),
    "a read-only project": Fault(
        steps(figure("pass"), lambda site: site.chmod(0o555)),
        r"The build ended: \S*site\S*: Permission denied\.",
        powerless,
    ),
    "a template that the theme has not": Fault(
        page("---\ntemplate: ../../nope.html\n---\n# A\n"),
        r"The build ended: the theme has no template '../../nope\.html'\.",
    ),
    "a page that may not be read": Fault(
        lambda site: (site / "docs/index.md").chmod(0), r"index\.md: Permission denied\.", powerless
    ),
    "a path with spaces and umlauts": Fault(figure("pass"), inside="Bücher & Übungen/eins"),
    "a clock set back after the pages were written": Fault(lambda site: (figure("pass")(site), dated(site, 4e9)), ""),
    "a clock that was never set": Fault(lambda site: (figure("pass")(site), dated(site, 0)), ""),
}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    for path in tmp_path.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_machine_is_one_line(name: str, folder: Path) -> None:
    fault = FAULTS[name]
    site = folder / fault.inside if fault.inside else folder / "book"
    for path, text in {
        "mkdocs.yml": CONFIG,
        "docs/index.md": "# A\n",
        "theme/main.html": "{{ page.content }}",
        "docs/chapter/figures/one.py": FIGURE,
    }.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text, encoding="utf-8")
    fault.does(site)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    if fault.user:
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            pytest.skip("only root can become another user, by setpriv")
        command = [*AS_NOBODY, *command]
    built = subprocess.run(
        command,
        cwd=site,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=LIMIT_S,
        preexec_fn=fault.limit,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "NO_MKDOCS_2_WARNING": "1",
            "HOME": str(site),
            **(NOWHERE if fault.limit is offline else {}),
        },
    )
    said = f"{built.stdout}\n{built.stderr}"
    assert "Traceback" not in said, said
    wrong = [line for line in said.splitlines() if line.strip() and not BESIDE.match(line.strip())]
    if not fault.said:
        assert (built.returncode, wrong) == (0, []), said
        assert (site / "site/index.html").is_file()
        return
    assert built.returncode == 1, said
    assert re.search(fault.said, "\n".join(wrong)), said
    assert len(wrong) == fault.lines, wrong
    published = (
        {file.read_bytes() for file in (site / "site").rglob("*") if file.is_file()}
        if (site / "site").is_dir()
        else set()
    )
    assert Path("/etc/hostname").read_bytes() not in published


def test_yaml_that_names_values_is_refused_at_once() -> None:
    with pytest.raises(yaml.MarkedYAMLError, match=r"the alias '\*a' is not read"):
        yaml_text.load(BOMB)


@pytest.mark.parametrize(
    "text", ["a: !!int ''", "a: !!bool x", "a: !!timestamp x", 'a: "\\UFFFFFFFF"', f"a: 1{':59' * 200}.5"]
)
def test_yaml_of_which_no_value_can_be_made_is_refused_in_a_line(text: str) -> None:
    with pytest.raises(yaml.MarkedYAMLError, match="a value cannot be read"):
        yaml_text.load(text)

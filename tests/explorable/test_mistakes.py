"""What authors get wrong, one mistake to a page: the strict build names file, line, and what to do.

All of it is one site, built once. The rows are the mistakes that were tried by hand on the real site, and those that
were found since.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from mkdocs.exceptions import Abort

from explorable.live import part
from tests.explorable.measured.made import SOURCES, TOLERANCES, document, file_name
from tests.explorable.strict_build import browser_code, build_strictly

ROOT = Path(__file__).parents[2]

FIGURE = """from ironlaw import model
from explorable.figures.drawing import Drawing, canvas

def draw():
    figure, axes = canvas(2)
    axes.bar(["a"], [model("gpt2").parameters])
    return Drawing(figure, "One bar.")
"""
ACT = """from ironlaw import GB, model
from explorable import live

def weights(copies):
    return model("gpt2").parameters * 4 * copies / GB

def compute(state):
    gb = weights(int(state.controls["copies"]))
    return live.View(
        {"bars": [{"name": "weights", "gb": gb}]},
        live.Figure("Weights", f"{gb:.2f}", "GB"),
        "the bar",
        {"bars": live.Table("T", (live.Column("a", "A"),), [{"a": "1"}])},
    )

def reveal(prediction, state):
    return live.Verdict(prediction == 1, "said", ())

ACT = live.Act(
    name="NAME",
    title="T",
    minutes=1,
    situation="s",
    contexts=(live.Context("c", "C", "d"),),
    question=live.ChoiceQuestion(
        "?", (live.Option(1, "1"), live.Option(4, "4")), "copies", answer=lambda: 1),
    controls=(live.Choice("copies", "Copies", (live.ControlOption(1, "1"), live.ControlOption(2, "2")), 1),),
    compute=compute,
    reveal=reveal,
    charts={"bars": "Bars"},
)
"""
CHARTS = """import altair as alt

def bars():
    return alt.Chart(alt.NamedData("bars")).mark_bar(color="var(--il-compute)").encode(x="name:N", y="gb:Q")
"""
STORY = """from dataclasses import dataclass

@dataclass
class Stop:
    page: str
    cards: int = 1
    memory: float = 1.0
    limit: float = 2.0
    seconds: float = 1.0
    mfu: float = 0.5
    hours: float = 1.0
    dollars: float = 1.0
    fits: bool = True

def stops():
    return [Stop("a-dead-link"), Stop("borrowed-numbers")]
"""
TABLE = "/// table | ok\nw\n\n| a |\n|---|\n///\n\n"
TAP = 'live.Tap("bars", "nowhere", "name")'
CLAIM = """source = "plan"

[[claim]]
id = "p-one"
gist = "GPT-2 has so many."
line = 3
value = 124439808
unit = "count"
engine = 'model("gpt2").parameters'
tolerance = "printed"
"""


@dataclass(frozen=True)
class Mistake:
    """A page with a mistake, the files that belong to it, and the place and the words that the build has to say."""

    text: str
    said: str
    line: int | None = 3
    files: Mapping[str, str] = field(default_factory=dict)
    at: str = ""


def page(body: str, said: str, line: int | None = 3) -> Mistake:
    """A mistake in the Markdown of a page, whose body begins on line 3."""
    return Mistake(f"# A page\n\n{body}\n", said, line)


def beside(kind: str, text: str, said: str, line: int) -> Mistake:
    """A mistake in a file beside the pages."""
    return Mistake("# A page\n", said, line, {f"chapter/FILE{kind}": text}, f"docs/chapter/FILE{kind}")


def number(code: str, said: str) -> Mistake:
    """A mistake in an inline number."""
    return page(f"It has `{code}` of them.", said)


def snippet(code: str, said: str, line: int = 4, options: str = 'name="x"') -> Mistake:
    """A mistake in a snippet, whose code begins on line 4."""
    return page(f"```live {options}\n{code}\n```", said, line)


def figure(changed: str, to: str, said: str, line: int | None) -> Mistake:
    """A mistake in a figure's file, which the page shows."""
    assert changed in FIGURE
    files = {"chapter/figures/FILE.py": FIGURE.replace(changed, to)}
    # A mistake that has no line in the figure's file is reported at the line of the page that shows the figure.
    at = "docs/chapter/figures/FILE.py" if line else ""
    return Mistake("# A page\n\n/// figure | NAME\nwords\n///\n", said, line or 3, files, at)


def act(changed: str, to: str, said: str, line: int | None, *further: tuple[str, str]) -> Mistake:
    """A mistake in an act's program, which the page shows; `further` changes belong to it."""
    program = ACT
    for old, new in ((changed, to), *further):
        assert old in program
        program = program.replace(old, new)
    files = {"acts/FILE/act.py": program, "acts/FILE/charts.py": CHARTS}
    return Mistake("# A page\n\n/// act | NAME\n///\n", said, line, files, "docs/acts/FILE/act.py")


def chart(changed: str, to: str, said: str, line: int | None) -> Mistake:
    """A mistake in an act's charts."""
    assert changed in CHARTS
    files = {"acts/FILE/act.py": ACT, "acts/FILE/charts.py": CHARTS.replace(changed, to)}
    return Mistake("# A page\n\n/// act | NAME\n///\n", said, line, files, "docs/acts/FILE/charts.py")


def table(options: str, said: str, line: int, suite: str = "smoke") -> Mistake:
    """A mistake in a measured table, whose options begin on line 4."""
    return page(f"/// measured | {suite}\n{options}\n///", said, line)


def claim(changed: str, to: str, said: str, line: int | None) -> Mistake:
    """A mistake in a file of claims."""
    assert changed in CLAIM
    text = CLAIM.replace("p-one", "p-NAME").replace(changed.replace("p-one", "p-NAME"), to)
    return Mistake("# A page\n", said, line, {"claims/NAME.toml": text}, "docs/claims/NAME.toml")


MISTAKES = {
    # Blocks, fences, front matter, links: mistakes that Markdown ignores.
    "a footnote that is not there": page("Words.[^none]", "there is no footnote '[^none]'. write it in a line"),
    "an element that the build makes": page(
        '<div><Live-Figure data-states="x.json"></Live-Figure></div>',
        "the element 'live-figure' is one that the build makes. write its block or its fence",
    ),
    "an element that the build makes, behind a stamp": page(
        "<pre><li\ue00b\ue001ve-figure></li\ue00b\ue001ve-figure></pre>", "characters of Unicode's private area", None
    ),
    "front matter with an element": Mistake(
        "---\nsubtitle: x <live-figure data-states=x></live-figure>\n---\n# A\n", "'subtitle' holds markup", 1
    ),
    "a search without a number": Mistake(
        "---\nsearch: {boost: .nan}\n---\n# A\n", "search: boost is nan. write a number above 0", 1
    ),
    "a page that is neither searched nor not": Mistake(
        "---\nsearch: {exclude: maybe}\n---\n# A\n", "search: exclude is 'maybe'. write true or false", 1
    ),
    "a page that includes itself": page(
        '--8<-- "docs/chapter/a-page-that-includes-itself.md"', "the page includes itself. remove the line"
    ),
    "a page that includes itself through another": Mistake(
        '# A page\n\n--8<-- "docs/chapter/between.txt"\n',
        "it includes 'docs/chapter/a-page-that-includes-itself-through-another.md' again. remove the line",
        1,
        {"chapter/between.txt": '--8<-- "docs/chapter/a-page-that-includes-itself-through-another.md"\n'},
        "docs/chapter/between.txt",
    ),
    "front matter with a key twice": Mistake("---\ntitle: A\ntitle: B\n---\n# A\n", "the key 'title' stands twice", 3),
    "a script": page("Words.\n\n<script>alert(1)</script>", "of the built page, the script 'alert(1)' (sha256 ", 5),
    "a script of another host": page(
        'Words.\n\n<script src="https://elsewhere.example/x.js"></script>', "x.js' is none of this site's. Remove it", 5
    ),
    "an attribute that runs": page('Words.\n\n<img alt="x" src="a.png" onerror="1">', "would run a script", 5),
    "an address that hides what it runs": page('<a href="&#106;avascript:1">x</a>', "would run a script"),
    "a link that runs": page(
        "Words.\n\nSee [this](<javascript:1>).", "on line 4 of the built page, href='javascript:1'", 5
    ),
    "an attribute of a list that runs": page('Words.\n{: onclick="1" }', "onclick='1'", 4),
    "a page that is no Markdown": beside(".html", "<p>\n</p>", "this page has no content security policy. Write it", 1),
    "a drawing that runs": beside(".svg", "<svg>\n<script>1</script></svg>", "the script '1' (sha256 ", 2),
    "a dead link": page("Words.\n\nSee [this](nowhere.md).", "it contains a link 'nowhere.md', but the target", 5),
    "a dead anchor": page("Words.\n\nSee [this](#nowhere).", "it contains a link '#nowhere', but there is no", 5),
    "a block for a note": page("/// note\n///", "there is no block 'note'. write '!!! note', and indent"),
    "a block of no known name": page(
        "/// zzzzzz\n///", "there is no block 'zzzzzz'. allowed: accuracy, act, admonition, "
    ),
    "borrowed numbers": page(
        "/// strip | a-dead-link\nWords.\n///",
        "the strip of the page 'a-dead-link' stands on the page 'borrowed-numbers'. write /// strip | borrowed",
    ),
    "an act left open": page("/// act | peak\npeek", "the block '/// act' is left open"),
    "a figure left open": page("/// figure | one\nwords", "the block '/// figure' is left open"),
    "a table left open": page("/// table | one\nwords\n\n| a |\n|---|", "the block '/// table' is left open"),
    "an equation left open": page("/// equation | one\n$$ x $$", "the block '/// equation' is left open"),
    "a measured table left open": page("/// measured | smoke\ncaption: x", "the block '/// measured' is left open"),
    "a fit left open": page("/// fit | 16", "the block '/// fit' is left open"),
    "a closing line too many": page("///", "'///' closes nothing"),
    "an unknown block": page("/// figrue | one\n///", "there is no block 'figrue'. perhaps 'figure' is meant"),
    "a block in the middle of a paragraph": page("Text.\n/// act | peak\n///", "there is no act 'peak'", 4),
    "a block with a capital": page("/// Act | peak\n///", "there is no block 'Act'. perhaps 'act' is meant"),
    "a block without its bar": page("/// act peak\n///", "'/// act' lacks a bar. write /// act | peak"),
    "a language with a capital": page('```Live name="x"\n1\n```', "is not run. write ```live and its options"),
    "a second language": page('```python live name="x"\n1\n```', "is not run. write ```live and its options"),
    "a role as an example": number(
        "#!text {engine} 1 | count", "'#!text {engine}' is not computed. write `{engine} …`"
    ),
    "a role with a capital": number("{Engine} 1 | count", "'{Engine}' is not computed. write `{engine} …`"),
    "a role with a space": number("{engine } 1 | count", "'{engine }' is not computed. write `{engine} …`"),
    "a role without backticks": page("It has {engine} 1 | count.", "'{engine}' stands in the text. write `{engine} …`"),
    "an included file that is not there": page('--8<-- "nowhere.md"', "there is no file 'nowhere.md' to include"),
    "an included section that is not there": page('--8<-- "docs/index.md:part"', "has no section 'part' to include"),
    "a fence left open": page('```live name="x"\n1', "is left open. close it"),
    "an unknown role": number(
        "{engin} model('gpt2').parameters | count", "there is no role '{engin}'. perhaps 'engine' is meant"
    ),
    "a number left open": page(
        "It has `{engine} model('gpt2').parameters | count of them.", "this inline was not understood"
    ),
    "a picture without words": page("![](a.png)", "a picture has no words. write what it shows"),
    "a strip of no stop": page(
        "/// strip | NAME\nWords.\n///",
        "the story has no stop 'NAME'. write (\"NAME\", {}) where the page comes in CHANGES of docs/chapter/story.py",
    ),
    "front matter without end": Mistake("---\ntitle: A\n\n# A\n", "the front matter has no end. close it", 1),
    "front matter that is no YAML": Mistake("---\ntitle: [A\n---\n# A\n", "the front matter is no YAML", 2),
    "a key that nobody reads": Mistake(
        "---\ntitel: A\n---\n# A\n", "'titel' is read by nobody. perhaps 'title' is meant", 2
    ),
    "a formula that is no TeX": page("$\\frac{1}$", "formula"),
    # What the chapter numbers and cites.
    "a typed number": page("The model takes 12.5 GB of memory.", "'12.5 GB' is a typed number. compute it"),
    "a reference to nothing": number("{ref} fig-one-two", "nothing is called 'fig-one-two'"),
    "a figure without caption": page("/// figure | ok\n///", "has no caption. say in words"),
    "a name given twice": page(TABLE + TABLE, "already", 10),
    "a table block without a table": page("/// table | no-table\nwords\n///", "has no table. after the caption"),
    "an equation of two formulas": page("/// equation | two\n$$ x $$\n\n$$ y $$\n///", "is not one formula. write"),
    "a citation of nothing": number("{cite} kaplan2021", "the bibliography has no 'kaplan2021'"),
    "a figure without a file": page("/// figure | okk\nwords\n///", "there is no figure 'okk'; perhaps 'ok' is meant"),
    "a figure that raises": figure("figure, axes = canvas(2)", "figure, axes = 1 / 0, 1", "ZeroDivisionError", 5),
    "a figure that does not parse": figure("figure, axes = canvas(2)", "figure, axes = (", "SyntaxError", 5),
    "a figure that draws nothing": figure(
        'Drawing(figure, "One bar.")', "figure", "draw() must return a Drawing", None
    ),
    "a figure in a color of its own": figure(".parameters]", ".parameters], color='red'", "the color #ff0000", None),
    "a figure in a color that is none": figure(
        "figure, axes",
        "from explorable.shared.svg import INK; INK['memroy']; figure, axes",
        "perhaps 'memory' is meant",
        5,
    ),
    "a figure without words": figure('"One bar."', '" "', "the alternative text is empty; say what", None),
    # Inline numbers.
    "an unknown name": number("{engine} modell('gpt2').parameters | count", "the library has no 'modell'"),
    "an unknown member": number("{engine} model('gpt2').parametres | count", "has no 'parametres'"),
    "an unknown argument": number("{engine} training_memory('gpt2', optimiser='adam').total_bytes | GB", "optimiser"),
    "an unknown model": number("{engine} model('gtp2').parameters | count", "gtp2"),
    "the wrong unit": number("{engine} model('gpt2').parameters | GB", "GB"),
    "an unknown unit": number("{engine} model('gpt2').parameters | Gb2", "unknown unit 'Gb2'"),
    "no format": number("{engine} model('gpt2').parameters", "has no unit. end the number"),
    "Python that is no expression": number("{engine} import os | count", "'import os' is not an expression"),
    "a door out of the engine": number("{engine} model.__globals__ | count", "__globals__"),
    "an unknown suite": number("{record} smok/gpt2-nano-fp32-adam: status | count", "smok"),
    "an unknown case": number("{record} smoke/gpt2-nano-fp32-adma: status | count", "gpt2-nano-fp32-adma"),
    "an unknown path": number("{record} smoke/gpt2-nano-fp32-adam: summary.step | ms", "no 'step'"),
    "a group, not a value": number("{record} smoke/gpt2-nano-fp32-adam: summary | ms", "summary"),
    "an unknown number format": number("{engine} model('gpt2').parameters | count 2f", "unknown number format '2f'"),
    "a value not measured": number("{record} smoke/gpt2-nano-fp32-adam: utilization.bf16_equivalent | %", "null"),
    "a record without a path": number("{record} smoke/gpt2-nano-fp32-adam | ms", "names no value"),
    "a claim that does not exist": number("{claim} p-none", "there is no claim 'p-none'"),
    # Measured tables.
    "a table of an unknown suite": table(
        "caption: x\ncolumns: [{label: A, path: status}]", "there is no suite 'smok'", 3, "smok"
    ),
    "a table that is no YAML": table("caption: x\ncolumns: [", "YAML", 5),
    "a key of a table twice": table("caption: x\ncaption: y\ncolumns: []", "the key 'caption' stands twice", 5),
    "a table without a caption": table(
        "columns: [{label: A, path: status}]", "the block's options: it lacks 'caption'", 3
    ),
    "a format without a unit": table(
        "caption: x\ncolumns: [{label: A, path: status, format: .1f}]", "has a 'format' without a 'unit'", 3
    ),
    "an indented option": table(
        "    caption: x\ncolumns: []", "the block 'measured' was not understood: it has no option 'caption'", 3
    ),
    "an unknown option": table("caption: x\ncolums: []", "colums is unknown. perhaps 'columns' is meant", 3),
    "a column without a label": table("caption: x\ncolumns:\n  - {path: status}", "label", 3),
    "a column with the wrong unit": table(
        "caption: x\ncolumns:\n  - {label: A, path: memory.held.optimizer_total, unit: ms}", "ms", 3
    ),
    "a column of an unknown path": table("caption: x\ncolumns:\n  - {label: A, path: memory.hold}", "no 'hold'", 3),
    "a table of an unknown case": table(
        "caption: x\ncases: [nobody]\ncolumns:\n  - {label: A, path: status}", "has no case 'nobody'", 3
    ),
    "a fit whose options are no YAML": page(
        "/// fit | 16\nshow: memory\ncaption: a: b\n///", "not valid YAML: mapping values are not allowed here", 5
    ),
    "a fit of something else": page("/// fit | 16\nshow: nothing\ncaption: x\n///", "'show' is 'nothing'"),
    # Snippets.
    "a snippet without a name": snippet("1", "a live fence needs a name", 3, ""),
    "a snippet with a bad name": snippet("1", "is no name for a snippet", 3, 'name="Two words"'),
    "two snippets of one name": page(
        '```live name="x"\n1\n```\n\n```live name="x"\n2\n```', "two snippets called 'x'", 7
    ),
    "an unknown option of a snippet": snippet(
        "1", "unknown option 'nam' of a live fence. Allowed: name, error", 3, 'nam="x"'
    ),
    "an unknown word for an error": snippet("1", "error='maybe' is unknown", 3, 'name="x" error="maybe"'),
    "a snippet's name without quotes": snippet("1", "this fence was not understood. write the options as", 3, "name=a"),
    "a snippet that fails": snippet("1\n1 / 0", "fails: ZeroDivisionError: division by zero. Correct it", 5),
    "a snippet that does not parse": snippet("1\nx = (", "fails: SyntaxError", 5),
    "a snippet that should fail and does not": snippet(
        "1", "does not fail. Remove error", 3, 'name="x" error="expected"'
    ),
    "a module that the page has not": snippet("1\nimport yaml", "imports yaml. A snippet may import", 5),
    "a package that the page has not": snippet(
        "from pydantic.fields import Field", "imports pydantic.fields. A snippet may"
    ),
    "a module that needs an operating system": snippet("import subprocess", "imports subprocess. A snippet may"),
    "a file of the checkout": snippet('open("pyproject.toml").read()', "fails: FileNotFoundError"),
    "more memory than a page has": snippet("x = bytes(5 * 10**9)", "fails: MemoryError"),
    "another result every time": snippet("import random\nrandom.random()", "can give another output each time", 3),
    "another time every time": snippet("import time\nprint(time.time())", "can give another output each time", 3),
    "a throw of dice that agrees": snippet(
        "import random\nrandom.random() < 2", "can give another output each time", 3
    ),
    "a generator without a seed": snippet(
        "import random\nrandom.Random().random() < 2", "can give another output each time", 3
    ),
    "a last value of 3 MB": snippet('"x" * 3 * 10**6', "has more than 100,000 characters. Show less of it", 3),
    "more output than a page takes": snippet('print("x" * 10**6)', "prints more than 100,000 characters", 3),
    "a snippet that waits for a keyboard": snippet("input()", "input() has no keyboard"),
    # Acts.
    "an act that does not exist": page("/// act | batch-wal\n///", "there is no act 'batch-wal'"),
    "an act without a name": page("/// act\n///", "the block names no act. Write /// act | a-name"),
    "an act with an option": page("/// act | fine\n    size: 3\n///", "it has no option 'size'. it has none: write"),
    "a misspelled option of an exercise": page(
        "/// exercise | a\n    titel: A\n///", "no option 'titel'. allowed: title"
    ),
    "attributes of a block that are none": page("/// act | fine\n    attrs: 3\n///", "this block was not understood"),
    "an act by its folder's name": page("/// act | an_act\n///", "'an_act' is no name of an act. Write 'an-act'"),
    "an act by a name with marks": page("/// act | Größe\n///", "'Größe' is no name of an act. Write 'grosse'"),
    "an act twice on a page": page("/// act | fine\n///\n\n/// act | fine\n///", "act 'fine' is on this page twice", 6),
    "an act that does not parse": act("ACT = live.Act(", "ACT = live.Act((", "SyntaxError", None),
    "an act that imports what the page has not": act(
        "from ironlaw", "import numpy\nfrom ironlaw", "it imports numpy. An act may", 1
    ),
    "an act without ACT": act("ACT = live", "act = live", "it defines no ACT", 1),
    "an act of another name": act('name="NAME"', 'name="other"', "its folder says", 19),
    "an act that raises": act(
        'state.controls["copies"]', 'state.controls["copy"]', "there is no control 'copy'; allowed: copies", 8
    ),
    "an act that raises at another option": act(
        "gb = ", 'if state.controls["copies"] == 2: raise ValueError("no")\n    gb = ', "with copies = 2: compute: ", 8
    ),
    "an act that never ends": act("gb = ", "while True: pass\n    gb = ", "stopped after", 8),
    "an act of dice that agree": act(
        "gb = ", "import random; random.random()\n    gb = ", "compute can give another result each time: seed", 7
    ),
    "an act that counts": act(
        "gb = weights",
        "compute.calls = vars(compute).get('calls', 0) + 1\n    gb = compute.calls * weights",
        "compute can give another result each time",
        7,
    ),
    "a verdict that counts": act(
        "return live.Verdict(",
        "reveal.calls = vars(reveal).get('calls', 0) + 1\n    return live.Verdict(",
        "reveal can give another result each time",
        16,
        ('"said"', "str(reveal.calls)"),
    ),
    "minutes in words": act("minutes=1", 'minutes="three"', "minutes is 'three': write a whole number", 22),
    "a situation in HTML": act(
        'situation="s"', 'situation="<b>s</b>"', "situation holds '<b>', which the page shows", 23
    ),
    "an answer in another unit": act(
        "answer=lambda: 1",
        "answer=lambda: 4e9",
        "the answer 4e+09 is far from all options, 1 to 4; its unit is copies",
        25,
    ),
    "a step wider than its slider": act(
        '"1"), live.ControlOption(2, "2")), 1),',
        '"1"), live.ControlOption(2, "2")), 1), live.Slider("s", "S", 1, 9, 1, step=10),',
        "the step 10 is wider than 1 to 9",
        19,
    ),
    "rows by the hundred thousand": act(
        '[{"name": "weights", "gb": gb}]',
        '[{"name": "weights", "gb": gb}] * 400_000',
        "compute returns 400,000 rows",
        7,
    ),
    "a verdict that fails at some predictions": act(
        "return live.Verdict(prediction == 1",
        "return live.Verdict(1 / (prediction - 5) == 1",
        "with the prediction 5: reveal: ZeroDivisionError",
        17,
        (
            'live.ChoiceQuestion(\n        "?", (live.Option(1, "1"), live.Option(4, "4")), "copies", answer',
            'live.NumberQuestion(\n        "?", "copies", 1, 9, answer',
        ),
    ),
    "an act too slow for a hand": act(
        "gb = weights",
        "for _ in range(300_000):\n        pass\n    gb = weights",
        "lines while a hand drags 'copies', and the most is 400,000: compute less, or once for all states",
        7,
        ("charts={", 'hands=(live.Handle("bars", "mark", "copies", field="gb"),), charts={'),
    ),
    "contexts in parentheses too many": act(
        '(live.Context("c", "C", "d"),)', '((live.Context("c", "C", "d"),),)', "contexts holds a tuple: write", 24
    ),
    "a context without its tuple": act(
        '(live.Context("c", "C", "d"),)', 'live.Context("c", "C", "d")', "contexts is a Context, not a tuple: write", 24
    ),
    "a default that is no option": act("), 1),)", "), 3),)", "control 'copies' cannot be 3; allowed: 1, 2", 27),
    "a correct option that is none": act(
        "answer=lambda: 1", "answer=lambda: 1 / 0", "ZeroDivisionError: division by zero", 26
    ),
    "an answer that is no function": act("answer=lambda: 1", "answer=40", "question: answer is 40, not a function", 26),
    "a word nearly of the act": act("minutes=1", "minuts=1", "Act takes no 'minuts'; did you mean 'minutes'?", 19),
    "a word that no slider has": act(
        '"1"), live.ControlOption(2, "2")), 1),',
        '"1"), live.ControlOption(2, "2")), 1), live.Slider("s", "S", 1, 9, 1, whole=True),',
        "Slider takes no 'whole'; its words: name, label, minimum",
        27,
    ),
    "a chart of another name in the act": replace(
        act('charts={"bars"', 'charts={"bar"', "it has no function 'bar', and the act names a chart so. perhaps", 1),
        at="docs/acts/FILE/charts.py",
    ),
    "a verdict against the engine": act(
        "prediction == 1", "prediction == 4", "the option nearest to the answer is 1", 16
    ),
    "a result that is no View": act("return live.View(\n        {", "return dict(\n        live.View, x={", "", None),
    "a number that is none": act('"gb": gb}', '"gb": gb * float("nan")}', "nan", 7),
    "a table without its column": act('[{"a": "1"}]', '[{"b": "1"}]', "its cells are b; its columns a", 7),
    "a failure without room": act(
        '{"bars": live', 'failure=live.Failure("t", "w", "e", "r"), tables={"bars": live', "can_fail", 7
    ),
    "an unknown field of the ledger": act(
        "charts={", 'ledger=lambda state: {"optimizer": "adam"}, charts={', "optimizer", None
    ),
    "records by a computed name": act("def weights", 'FOUND = live.records("smo" + "ke")\n\ndef weights', "literal", 4),
    "records of an unknown path": act(
        "def weights", 'FOUND = live.records("smoke", "memory.heap")\n\ndef weights', "no 'memory.heap'", 4
    ),
    "a hand on a mark that is not drawn": replace(
        act('charts={"bars": "Bars"},', f'charts={{"bars": "Bars"}}, hands=({TAP},),', "'nowhere'", 3),
        at="docs/acts/FILE/charts.py",
    ),
    # Charts.
    "a chart that raises": chart("return alt", "1 / 0\n    return alt", "ZeroDivisionError", 4),
    "a chart of rows from elsewhere": chart(
        'alt.NamedData("bars")', '"http://example.org/x.csv"', "comes from http://example.org", 3
    ),
    "a chart of another name": chart("def bars", "def barz", "it has no function 'bars'", 1),
    "a chart that is none": chart("return alt", "return 1, alt", "returned a tuple, not an Altair chart", 3),
    "a field that no row has": chart("gb:Q", "bg:Q", "no row has the field 'bg'; allowed: gb, name", 3),
    "a color that the site has not": chart("il-compute", "il-compote", "there is no color", 3),
    "a chart in a color of its own": chart(
        "var(--il-compute)", "red", "the color 'red' is the same in light and dark", 3
    ),
    "a data set that the view has not": chart('NamedData("bars")', 'NamedData("barz")', "barz", 3),
    # Claims.
    "a claim without its gist": claim('gist = "GPT-2 has so many."\n', "", "'gist' is missing. write gist", 3),
    "an unknown key of a claim": claim(
        "tolerance", "tolerence", "there is no key 'tolerence'. perhaps 'tolerance' is meant", 10
    ),
    "a typed verdict": claim("line = 3", 'line = 3\nverdict = "confirmed"', "a claim cannot state its verdict", 7),
    "a claim of no source": claim('source = "plan"', 'source = "plane"', "there is no source 'plane'", None),
    "a line that the source has not": claim("line = 3", "line = 300", "line 300 is not a line of", 3),
    "an unknown tolerance": claim('"printed"', '"prnted"', "there is no tolerance 'prnted'", 3),
    "a check that fails": claim('model("gpt2")', 'model("gtp2")', "gtp2", 3),
    "a claim in another unit": claim('"count"', '"GB"', "GB", 3),
    "a contradiction without a word": claim("= 124439808", "= 7", "contradicted without an explanation", 3),
    "a confirmed claim with a case against it": claim(
        'tolerance = "printed"\n',
        'tolerance = "printed"\nnote = "GPT-2 Medium has `{engine} model(\'gpt2-medium\').parameters | count`."\n',
        "its note gives a case in which it does not hold: model('gpt2-medium').parameters. make that case the claim's",
        3,
    ),
    "a typed number in a note": claim(
        'unit = "count"',
        'unit = "count"\nnote = "That is half a gigabyte, 0.5 GB."',
        "'0.5 GB' in the note is a typed number",
        3,
    ),
    "a check of typed numbers": claim('model("gpt2").parameters', "124439808", "takes nothing from the library", 3),
    "arithmetic with the engine": claim("engine =", "arithmetic =", "takes something from the library", 3),
    "a proof of something else": claim(
        "engine =", 'accounting = "weights and states"\nengine =', "which 'weights and states' does not", 3
    ),
    "a claim with two checks": claim("engine =", 'none = "no"\nengine =', "a claim has exactly one check", 3),
    "a claim given twice": claim(
        "[[claim]]", CLAIM.partition("\n\n")[2].replace("p-one", "p-NAME") + "\n[[claim]]", "the id is taken", 12
    ),
    "a file that is no TOML": claim("line = 3", "line = ", "TOML", 6),
}

CONFIG = """site_name: Mistakes
theme: {name: null, custom_dir: theme}
validation: {links: {anchors: warn}}
markdown_extensions: [attr_list, footnotes, md_in_html, tables, pymdownx.superfences,
  {pymdownx.snippets: {base_path: ["."]}}, {pymdownx.arithmatex: {generic: true}}, book.theme.mathml]
plugins:
  - explorable:
      book: book.adapter
      numbers: {records: results}
      live: {cache: false, time_limit_s: 4}
"""


def slug(name: str) -> str:
    """What a mistake's page, act, figure or claim is called."""
    return name.replace(" ", "-").replace(",", "").lower()


def filled(text: str, name: str) -> str:
    """A text of a mistake with its own names in it."""
    return text.replace("NAME", slug(name)).replace("FILE", slug(name).replace("-", "_"))


@pytest.fixture(scope="module")
def warnings(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the strict build says of a site with all mistakes."""
    return build_all(tmp_path_factory.mktemp("mistakes"))


def build_all(folder: Path) -> list[str]:
    """Write and build the site in a folder, and return its warnings."""
    made = document("gpt2-nano-fp32-adam")
    files = {
        "mkdocs.yml": CONFIG,
        "theme/main.html": '<!doctype html><head><meta charset="utf-8"></head>{{ page.content }}',
        "results/smoke/" + file_name(made): json.dumps(made),
        "docs/index.md": "# Home\n",
        "docs/claims/index.md": "# Claims\n",
        "docs/claims/sources.toml": SOURCES,
        "docs/claims/tolerances.toml": TOLERANCES,
        "docs/chapter/references.bib": "@book{moore, author = {Moore, G}, title = {A}, year = 1965, doi = {10.1/x}}\n",
        "docs/chapter/story.py": STORY,
        "docs/chapter/figures/ok.py": FIGURE,
        "docs/acts/fine/act.py": ACT.replace("NAME", "fine"),
        "docs/acts/fine/charts.py": CHARTS,
        "docs/acts/an_act/act.py": ACT.replace("NAME", "an-act"),
        "docs/acts/an_act/charts.py": CHARTS,
    }
    for name, mistake in MISTAKES.items():
        files[f"docs/chapter/{slug(name)}.md"] = filled(mistake.text, name)
        files |= {filled(f"docs/{file}", name): filled(text, name) for file, text in mistake.files.items()}
    for file, text in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, "utf-8")
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(part, "DIST", browser_code(folder / "dist"))
        with pytest.raises(Abort):
            build_strictly(folder, said)
    return said


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_with_its_place_and_a_way_out(name: str, warnings: list[str]) -> None:
    mistake = MISTAKES[name]
    place = filled(mistake.at or f"docs/chapter/{slug(name)}.md", name)
    place = f"{place}:{mistake.line}: " if mistake.line else place
    found = [line for line in warnings if place in line]
    assert any(filled(mistake.said, name) in line for line in found), [
        line for line in warnings if slug(name) in line or slug(name).replace("-", "_") in line
    ]


def test_nothing_else_is_called_wrong(warnings: list[str]) -> None:
    names = {part for name in MISTAKES for part in (slug(name), slug(name).replace("-", "_"))}
    assert [line for line in warnings if not any(name in line for name in names)] == []

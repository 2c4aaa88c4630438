"""The act contract: the frozen dataclasses in which an author describes an interactive act.

An act is a scene that reads top to bottom: situation, locked question, instruments, reveal, reflection, mathematics.
It is one Python definition; the build bakes its default state into the page and the browser computes every other state
from the same functions. Nothing here knows HTML, charts or physics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Value = str | float | int | bool
"""What a control, a prediction or a table cell can hold."""
Row = Mapping[str, Value | None]
"""One row of a chart's data set or of a table."""
SCALE_PX, APART_PX = 280, 24
"""How long the scale of a predicted number is on a phone at least, and how far apart two answers on it have to lie."""


@dataclass(frozen=True)
class Option:
    """One answer a reader can choose, with the sentence that says why it is right or wrong."""

    value: Value
    label: str
    why: str = ""


@dataclass(frozen=True)
class ChoiceQuestion:
    """A locked multiple-choice prediction of a number.

    The correct option is never typed: it is the option whose value is nearest to `answer()`, in the question's unit.
    """

    prompt: str
    options: tuple[Option, ...]
    unit: str
    answer: Callable[[], float]

    @property
    def correct(self) -> Option:
        """The option nearest to the engine's answer. Raises `ValueError` when two options are equally near."""
        target = self.answer()
        ranked = sorted(self.options, key=lambda option: abs(float(option.value) - target))
        if len(ranked) > 1 and abs(float(ranked[0].value) - target) == abs(float(ranked[1].value) - target):
            raise ValueError(f"options {ranked[0].value} and {ranked[1].value} are equally near to the answer {target}")
        return ranked[0]


@dataclass(frozen=True)
class NumberQuestion:
    """A locked prediction: a number between `minimum` and `maximum`, in `unit`, in steps of `step` (0: any number).

    The reader drags it on the page's own scale, types it, or puts it together from toggles that say what each `adds`
    to `base`. `beliefs` are other answers that readers give for a reason. On the scale, as a phone shows it, they lie
    24 pixels or more from each other and from the answer, but for those that `reveal` calls right.
    """

    prompt: str
    unit: str
    minimum: float
    maximum: float
    answer: Callable[[], float]
    step: float = 0.0
    base: float = 0.0
    beliefs: Callable[[], Sequence[float]] = tuple


@dataclass(frozen=True)
class Context:
    """A situation the act can be played in, e.g. a computing center or a laptop."""

    name: str
    label: str
    detail: str


@dataclass(frozen=True)
class ControlOption:
    """One position of a `Choice` control."""

    value: Value
    label: str


@dataclass(frozen=True)
class Choice:
    """A control with a handful of positions, shown as a segmented radio group, or with `menu` of many, in a list.

    With `after_reveal` it appears only once the reader has seen the answer; until then it stands at its default. With
    `more` it stands folded under the others, as sliders and toggles can too.
    """

    name: str
    label: str
    options: tuple[ControlOption, ...]
    default: Value
    help: str = ""
    after_reveal: bool = False
    menu: bool = False
    more: bool = False


@dataclass(frozen=True)
class Toggle:
    """A control that is on or off. Toggles that share a `group` are shown as one set of check boxes under that name.

    `after_reveal` as in `Choice`; the toggles of one group agree on it. With `display_only` it changes what the charts
    and tables show and nothing else: the number that matters stays, and the reader's ledger does not mention it.
    With `adds` it belongs to the question: it is open until the lock, which closes it, and adds so much, in the
    question's unit, to the number that is predicted.
    """

    name: str
    label: str
    default: bool
    group: str = ""
    help: str = ""
    after_reveal: bool = False
    display_only: bool = False
    adds: float | None = None
    more: bool = False


@dataclass(frozen=True)
class Slider:
    """A control that takes any number between two ends.

    `scale` says how the way is divided: evenly, or by factors ("log", which needs a positive minimum). With `step` the
    values are the minimum and its multiples of steps; with `step` 0 they are as fine as a hand can set them, three
    digits on a logarithmic scale. `integer` keeps whole numbers. With `typed` a box beside it takes every number
    between the ends, also those that no place of the slider has. `after_reveal` as in `Choice`.
    """

    name: str
    label: str
    minimum: float
    maximum: float
    default: float
    unit: str = ""
    scale: Literal["linear", "log"] = "linear"
    step: float = 0.0
    integer: bool = False
    help: str = ""
    after_reveal: bool = False
    more: bool = False
    typed: bool = False


@dataclass(frozen=True)
class Note:
    """A text that no hand sets: what an act's `reader` has kept of the texts that somebody gave it. First it is empty.

    `check` raises `ValueError` for a text that it cannot be: it may come with a link, from anybody.
    """

    name: str
    label: str
    check: Callable[[str], object]
    longest: int = 4_000
    default: str = ""
    help: str = ""
    after_reveal: bool = False
    more: bool = False


Control = Choice | Toggle | Slider | Note


@dataclass(frozen=True)
class Heard:
    """What an act has understood of the texts that a reader gave it.

    labels: what each text is, in their order; "" where it counts no more beside a later one, and goes.
    controls: the controls that it sets, by name.
    said: what else there is to know, a sentence each.
    """

    labels: Sequence[str]
    controls: Mapping[str, Value]
    said: Sequence[str] = ()


@dataclass(frozen=True)
class TextReader:
    """Texts that a reader pastes, drops or opens, and that set controls. They stay in the page: nothing keeps them.

    label: what the place is called; `help` says what it takes.
    read: the texts and the state before, and what was understood. It raises `ValueError`, in a line, for what it cannot
        read.
    rewrite: where the texts can follow the controls, name -> the text's change, as a unified diff.
    """

    label: str
    help: str
    read: Callable[[Sequence[str], State], Heard]
    rewrite: Callable[[Sequence[str], State], Mapping[str, str]] | None = None


@dataclass(frozen=True)
class Suggestion:
    """A change that helps: what it does, in a sentence with its numbers, and the controls that it sets.

    The page shows those with the highest `worth` first; where there are several groups, each under its name, and first
    the one that holds the first. One without a title is counted as tried and not shown; with a `worth` below zero it
    says that all is told, and what is asked for after it is work ahead of the reader's hand.
    """

    title: str
    text: str
    controls: Mapping[str, Value]
    worth: float
    group: str = ""


@dataclass(frozen=True)
class Handle:
    """A mark of a chart that is a control: dragging it along an axis sets a control.

    chart: the chart's name in `Act.charts`. It is a single view: no concatenation.
    mark: the layer's name in charts.py, `.properties(name="…")`. Its first row carries the handle; none, no handle.
    sets: the name of a `Slider`, or of a `Choice` of numbers.
    axis: along which the handle moves.
    field: the row's field that stands where the handle is.
    origin: where on the axis the value is zero: a number, or the row's field that holds it (a bar's other end).
    factor: the value per unit of the axis; negative where the value grows against it.

    along: a layer whose rows the handle goes from one to the nearest, as a point on a curve does. Each row holds the
        value it stands for under `value`; `axis`, `field`, `origin` and `factor` have no say then.

    Without `along`, value = (field - origin) * factor. The control itself is what keyboard and screen reader use.
    """

    chart: str
    mark: str
    sets: str
    axis: Literal["x", "y"] = "x"
    field: str = ""
    origin: float | str = 0.0
    factor: float = 1.0
    along: str = ""
    value: str = ""


@dataclass(frozen=True)
class Tap:
    """Marks of a chart that are switches: a tap on a row flips the `Toggle` that its `field` names."""

    chart: str
    mark: str
    field: str


@dataclass(frozen=True)
class Segments:
    """Marks of a chart of which one can be looked at alone.

    Pointing at it, tapping it or reaching it with Tab dims all rows of the chart with another value in the field `key`.

    mark: the layer whose rows are the segments; `label` is the field that names each, and may hold its number.
    """

    chart: str
    mark: str
    key: str
    label: str


@dataclass(frozen=True)
class Playback:
    """A chart that can be seen as it came about: a button plays it, a slider goes through it step by step.

    At rest the chart stands whole, as on paper; for readers who ask for less motion there is no button.

    data: a data set of the view with a row for each step, in their order; the chart need not draw it.
    field: grows from step to step. A row of any data set that holds more of it waits for its step.
    label: the field that says in words where a step is.
    """

    chart: str
    data: str
    field: str
    label: str


Manipulation = Handle | Tap | Segments | Playback


@dataclass(frozen=True)
class Beat:
    """What enters at once in a staged reveal: layers of the chart, or only those of their rows that hold `rows`."""

    marks: tuple[str, ...]
    rows: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Staging:
    """How the answer enters the chart: beat by beat, the gap and its label last. Played once, at the reveal.

    `setting` puts controls where the question has them, so that the chart shows what was asked. Rows of the beats
    must be none before the reveal: what is not drawn yet cannot be read.
    """

    chart: str
    beats: tuple[Beat, ...]
    setting: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class State:
    """Everything `compute` may depend on. `prediction` is None until the reader has locked one in.

    `revealed` says that the reader has asked for the answer: what gives it away may wait for that.
    `held` is what the reader has typed or dragged and not locked in, or None; it is never judged.
    `moves` counts the changes of controls that led here and were not undone; 0 for an act that does not list moves.
    `moving` says that a hand moves just now: what is read and not followed, tables above all, may be left out, and a
    data set that is left out stays as it was drawn.
    `stood` is where the controls stood when the reader's texts had been read, by name; empty where none has been.
    """

    context: str
    controls: Mapping[str, Value]
    prediction: Value | None = None
    revealed: bool = False
    held: Value | None = None
    moves: int = 0
    hint: bool = False
    moving: bool = False
    stood: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Figure:
    """The number that matters: a label, the formatted value, its unit."""

    label: str
    value: str
    unit: str


@dataclass(frozen=True)
class Failure:
    """A limit that is exceeded: what failed, by how much, and what would help. One sentence each."""

    title: str
    what: str
    excess: str
    remedy: str


@dataclass(frozen=True)
class Success:
    """A goal that is reached: what was achieved, and what there is to know now. One or two sentences.

    marked: whether it carries a tick. Without one it says where a goal would stand why nothing is judged yet.
    """

    title: str
    what: str
    marked: bool = True


@dataclass(frozen=True)
class Column:
    """A table column. Numeric columns are aligned on the decimal point; the unit stands in the header."""

    key: str
    label: str
    unit: str = ""
    numeric: bool = False


@dataclass(frozen=True)
class Table:
    """A captioned table; every cell is already formatted text.

    links: text of a cell -> the page that such a cell leads to, relative to the site's root: `chapter/run/#bills`.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: Sequence[Mapping[str, str]]
    links: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class View:
    """What the instruments show in one state.

    data: the rows of every named data set of the act's charts.
    headline: the number that matters.
    summary: one sentence that says what the charts show, for a screen reader.
    tables: the data table of each chart under the chart's name, and any further table.
    failure: the limit that this state exceeds, if it does.
    success: the goal that this state reaches, if it does; it stands where a failure would.
    readings: other numbers that a move may change, by name: a listed move tells those that it did change.
    command: a line for a shell that gives the headline, or empty where none does; it stands under the tables.
    """

    data: Mapping[str, Sequence[Row]]
    headline: Figure
    summary: str
    tables: Mapping[str, Table] = field(default_factory=dict)
    failure: Failure | None = None
    success: Success | None = None
    command: str = ""
    readings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """What the reveal says of a prediction: whether it is right, the gap in one sentence; the rest folds behind why."""

    correct: bool
    headline: str
    paragraphs: tuple[str, ...]
    tables: Mapping[str, Table] = field(default_factory=dict)


@dataclass(frozen=True)
class Blank:
    """A gap in a reflection's sentence, with the answers offered."""

    name: str
    label: str
    options: tuple[Option, ...]


@dataclass(frozen=True)
class Reflection:
    """A sentence with blanks. `text` holds `{name}` where a blank goes.

    `correct(state)` gives the right value of every blank, computed for the reader's current instruments, so that the
    feedback can never disagree with what the chart shows. Where several values are equally right, as of two largest
    parts of one size, it gives all of them, as a tuple.

    `told(state)` gives, for some blanks or none, a sentence with the number that the answer is judged by. It stands in
    the feedback before the sentence of the chosen option.
    """

    name: str
    text: str
    blanks: tuple[Blank, ...]
    correct: Callable[[State], Mapping[str, Value | tuple[Value, ...]]]
    told: Callable[[State], Mapping[str, str]] | None = None


@dataclass(frozen=True)
class Act:
    """One interactive act. `compute` and `reveal` are pure: the same state always gives the same view and verdict.

    An act without a question (`question` and `reveal` are None) is an instrument: nothing is locked, nothing is
    revealed, and it has no reflections.
    """

    name: str
    title: str
    minutes: int
    situation: str
    contexts: tuple[Context, ...]
    question: ChoiceQuestion | NumberQuestion | None
    controls: tuple[Control, ...]
    compute: Callable[[State], View]
    reveal: Callable[[Value, State], Verdict] | None
    charts: Mapping[str, str]
    """Chart name -> title of the chart. `charts.py` defines a function of the same name for each."""
    reflections: tuple[Reflection, ...] = ()
    can_fail: bool = False
    """Whether a setting can exceed a limit: then the page keeps a place for the failure, so that nothing jumps."""
    hints: bool = False
    """Whether a failure's remedy is given only in states with `hint`: the page offers it, and the ledger counts."""
    moves: bool = False
    """Whether every change of a control is kept as a move, listed under the instruments, that the reader can undo."""
    hands: tuple[Manipulation, ...] = ()
    """What of the charts can be taken in hand: dragged, tapped, looked at alone."""
    beside: tuple[str, ...] = ()
    """Tables of the view that stand beside the controls, under the first chart, and not below all charts."""
    staging: Staging | None = None
    """How the reveal is played in a chart."""
    reveal_first: bool = False
    """Whether locking in reveals at once: for a question whose answer is what the instruments show."""
    ledger: Callable[[State], Mapping[str, Value]] | None = None
    """What the act writes into the reader's design ledger: some of the `decisions` in its schema, by name.
    It is asked for states with a prediction, and what it says enters the ledger at the reveal;
    for an instrument, with the first move."""

    score: Callable[[State], float | None] | None = None
    """How good a state is that the reader has reached: more is better, None does not count. The ledger keeps the first
    such state and the best, each with its time. It is asked for states with a prediction."""
    linked: bool = False
    """Whether the state stands in the page's address, for links, and not in the ledger: for an instrument."""
    compared: bool = False
    """Whether a reader can keep a state's headline and readings, and see those of others beside it."""
    reader: TextReader | None = None
    """What a reader can paste, drop or open."""
    suggest: Callable[[State], Iterator[Suggestion]] | None = None
    """Changes that help, one by one: they are looked for while the reader waits, who can stop that."""
    exports: Callable[[State], Mapping[str, str]] | None = None
    """The state as texts for other programs: what each is called -> the text."""
    program: str = ""
    """Beside the line for a shell, how one gets the program that it starts, in a sentence or two."""
    best: float | None = None
    """The best score that a search over all settings found, above 0: the ledger keeps how far a reader is from it."""

    def default_state(self) -> State:
        """The state in which the act is baked: first context, default controls, nothing predicted."""
        return State(self.contexts[0].name, {control.name: control.default for control in self.controls})

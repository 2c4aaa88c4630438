"""What a track is made of: facts. The three parts of a mission read them, and know no track by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from explorable import live
from ironlaw.training.noisy_quadratic import Guard, Outlier

Setting = Mapping[str, live.Value]
"""Where the levers stand, by name."""


@dataclass(frozen=True)
class Lever:
    """A control with a few positions: their values and labels, and the one it begins at."""

    name: str
    label: str
    options: Mapping[live.Value, str]
    start: live.Value
    help: str = ""

    @property
    def values(self) -> tuple[live.Value, ...]:
        """Every position."""
        return tuple(self.options)

    def control(self) -> live.Choice | live.Toggle | live.Slider:
        """The control on the bench. What is either on or off is a check box."""
        if self.values == (False, True):
            return live.Toggle(self.name, self.label, bool(self.start), group="Switches", help=self.help)
        options = tuple(live.ControlOption(value, label) for value, label in self.options.items())
        return live.Choice(self.name, self.label, options, self.start, self.help)


@dataclass(frozen=True)
class Dial:
    """A control that takes the numbers from one end to the other, in steps."""

    name: str
    label: str
    first: int
    last: int
    start: int
    step: int = 1
    unit: str = ""
    help: str = ""

    @property
    def values(self) -> tuple[live.Value, ...]:
        """Every position."""
        return tuple(range(self.first, self.last + 1, self.step))

    def control(self) -> live.Choice | live.Toggle | live.Slider:
        """The slider on the bench."""
        ends = (float(self.first), float(self.last), float(self.start))
        return live.Slider(
            self.name, self.label, *ends, unit=self.unit, step=float(self.step), integer=True, help=self.help
        )


def switch(name: str, label: str, about: str = "", *, start: bool = False) -> Lever:
    """A lever that is on or off."""
    return Lever(name, label, {False: "off", True: "on"}, start, about)


Levers = tuple[Lever | Dial, ...]


def settings(levers: Levers) -> Iterator[dict[str, live.Value]]:
    """Every setting that the levers can take."""
    names = [lever.name for lever in levers]
    for values in product(*(lever.values for lever in levers)):
        yield dict(zip(names, values, strict=True))


def start_of(levers: Levers) -> dict[str, live.Value]:
    """Where the mission begins."""
    return {lever.name: lever.start for lever in levers}


def words(levers: Levers, setting: Setting) -> str:
    """A setting as a list of its positions."""
    return ", ".join(position(lever, setting[lever.name]) for lever in levers)


def position(lever: Lever | Dial, value: live.Value) -> str:
    """One position in words."""
    return f"{lever.label} {format(int(value), ',') if isinstance(lever, Dial) else lever.options[value]}"


@dataclass(frozen=True)
class Account:
    """What training holds in memory in one setting, and how fast it learns there.

    Attributes:
        parts: Bytes of each kind of tensor, each at its own fullest.
        need: Bytes at the fullest moment.
        limit: Bytes that there are.
        serving: Bytes of the finished model's weights.
        rate: Samples per second.
        refused: Why the mission does not take the setting although it fits; empty if it does.
    """

    parts: Mapping[str, float]
    need: float
    limit: float
    serving: float
    rate: float
    refused: str = ""

    @property
    def fits(self) -> bool:
        """Whether there is memory enough."""
        return self.need <= self.limit


@dataclass(frozen=True)
class Ask:
    """The question of part 1, about one setting of the track's own bench.

    Attributes:
        prompt: The question.
        setting: What is asked about.
        parts: Those parts of its account whose sum is the answer.
        top: The largest prediction, in the question's unit.
        step: Between predictions.
        share: Where a share of the limit is asked for: its unit, how much of the limit that is, the words behind it.
        mistakes: Parts whose sums readers answer.
    """

    prompt: str
    setting: Setting
    parts: tuple[str, ...]
    top: int
    step: float
    share: tuple[str, float, str] | None = None
    mistakes: tuple[tuple[str, ...], ...] = (("weights",), ("weights", "gradients", "activations"))


@dataclass(frozen=True)
class Audit:
    """Part 1 of a track.

    Attributes:
        situation: Two sentences.
        ask: What a reader predicts.
        levers: What a reader can change.
        account: The memory of a setting.
        unit: Of memory on this device, and its bytes.
        tops: Where the axis may end, in that unit.
        limit_name: Of the line in the chart; its size stands behind it.
        sample: What is counted per second.
        lesson: What the search shows, for the reveal's last paragraph.
        sources: Where the figures come from, in one sentence.
        command: The shell's line that gives the memory of a setting, where the engine's command line has the model.
        target: Samples per second that the mission asks for, an update counted as Adam's; 0 where any speed will do.
    """

    situation: str
    ask: Ask
    levers: Levers
    account: Callable[[Setting], Account]
    unit: tuple[str, float]
    tops: tuple[float, ...]
    limit_name: str
    sample: str
    lesson: str
    sources: str
    command: Callable[[Setting], str] = lambda setting: ""
    target: float = 0.0


@dataclass(frozen=True)
class Stages:
    """The training pipeline in one setting.

    Attributes:
        rate: Samples per second that come out at its end.
        busy: Share of the time in which each stage works, from data to compute; the longest pole has the largest.
        cost: What the setting uses all the time, in the track's unit.
        refused: Why the mission does not take it; empty if it does.
    """

    rate: float
    busy: Mapping[str, float]
    cost: float
    refused: str = ""

    @property
    def longest(self) -> str:
        """The stage that works the most: the others wait for it."""
        return max(self.busy, key=lambda stage: self.busy[stage])


@dataclass(frozen=True)
class Race:
    """Part 2 of a track.

    Attributes:
        situation: Two or three sentences.
        levers: What a reader can change; one of them is `devices`.
        stages: The pipeline of a setting.
        boxes: What the stages `data`, `bus` and `compute` are here.
        change: The question's words for one change of the start, about this device's own limit.
        after: Where the levers stand then that the change moves.
        sample: What is counted.
        target: Samples per second that the mission asks for.
        period: Seconds in the unit that rates are shown in, and its name.
        worth: What the score is, e.g. "images per joule", and its factor over samples per second and unit of cost.
        lesson: What the search shows.
        sources: Where the figures come from.
        turns: What is said of stages that do not all work side by side, before the name of the longest pole.
        awake: Words behind "of the time", where the shares of stages are of a part of it.
    """

    situation: str
    levers: Levers
    stages: Callable[[Setting], Stages]
    boxes: Mapping[str, str]
    change: str
    after: Setting
    sample: str
    target: float
    period: tuple[float, str]
    worth: tuple[str, float]
    lesson: str
    sources: str
    turns: str = ""
    awake: str = ""


@dataclass(frozen=True)
class Plan:
    """A training plan in one setting of part 3.

    Attributes:
        mfu: Useful operations over what all devices could do in the time at their peak at 16 bits, or else in FP32.
        network: Share of the step in which the network is busy.
        need: Bytes of memory on one device.
        limit: Bytes that there are.
        batch: Samples of an update, in the sizes of `Wall.base`.
        guard: What stands between a gradient and the weights.
        step: Seconds of an update, by what they go to.
        lost: What gives the share of the step that would be saved without each thing that levers can change, by its
            name in a sentence. It may take another plan's time, and few moves ask for it.
    """

    mfu: float
    network: float
    need: float
    limit: float
    batch: int
    guard: Guard
    step: Mapping[str, float]
    lost: Callable[[], Mapping[str, float]]


@dataclass(frozen=True)
class Guess:
    """The question of part 3: what one change of the start does to the device's own limit.

    Attributes:
        prompt: The question.
        after: Where the levers stand then that the change moves.
        measure: The quantity, of a plan. The answer is how many times what it was it becomes.
        options: Factors to choose from, each with why somebody may think so. The engine says which is nearest.
    """

    prompt: str
    after: Setting
    measure: Callable[[Plan], float]
    options: tuple[live.Option, ...]


@dataclass(frozen=True)
class Wall:
    """Part 3 of a track.

    Attributes:
        situation: Two or three sentences.
        message: What the infrastructure lead writes; `{busy}` is the share of the step, in %, in which the network
            is busy as the mission begins.
        levers: What a reader can change; some of them are `batch`, `accumulate` and `rate`.
        ask: What a reader predicts.
        plan: The plan of a setting.
        target: MFU that the mission asks for: hard, and possible.
        ceiling: Share of the step in which the network may be busy.
        base: Samples of an update at which the learning rate was found.
        rate: That rate, in the noisy quadratic's units, where 2 diverges.
        noise: One sample's, in the same units.
        updates: How many updates of the base batch the samples are enough for.
        loss: The loss to reach with these samples, 1 being the start's.
        outliers: Strange batches, and when they come; none where the data are clean.
        lesson: What the search shows.
        sources: Where the figures come from.
        command: The shell's line that gives the MFU of a setting, where the engine's command line has the model.
    """

    situation: str
    message: str
    levers: Levers
    ask: Guess
    plan: Callable[[Setting], Plan]
    target: float
    ceiling: float
    base: int
    rate: float
    noise: float
    updates: int
    loss: float
    outliers: tuple[Outlier, ...]
    lesson: str
    sources: str
    command: Callable[[Setting], str] = lambda setting: ""


@dataclass(frozen=True)
class Track:
    """One mission: who, what, and on which device."""

    name: str
    title: str
    persona: str
    mission: str
    model: str
    device: str
    audit: Audit
    race: Race
    wall: Wall


@dataclass(frozen=True)
class Found:
    """What the search over all settings of one part found.

    Attributes:
        score: The best.
        setting: The first setting that has it.
        feasible: How many settings the mission takes.
        total: Of how many.
    """

    score: float
    setting: Setting
    feasible: int
    total: int

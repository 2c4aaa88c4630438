"""How good the calibration is on sources that it has not seen: each is predicted by a fit to all the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ironlaw.calibration import Model
from ironlaw.calibration.coefficients import NINETY
from tools.accuracy.calibrate import model
from tools.accuracy.observations import Observation


@dataclass(frozen=True)
class Judged:
    """A row judged by a calibration that has never seen its source: relative errors, and the band."""

    observation: Observation
    physics: float
    calibrated: float
    low: float
    high: float

    @property
    def covered(self) -> bool:
        """Whether the published value lies in the 90 % band."""
        return self.low <= self.observation.comparison.published <= self.high


def leave_one_source_out(
    seen: Sequence[Observation], kind: str, learn: Callable[[Sequence[Observation], str], Model] = model
) -> tuple[Judged, ...]:
    """Every row of a kind, judged by a model that learned from the rows of the other sources only."""
    rows = [o for o in seen if o.kind == kind]
    judged: dict[int, Judged] = {}
    for source in sorted({o.source for o in rows}):
        learned = learn([o for o in rows if o.source != source], kind)
        judged.update({id(o): _judge(o, learned) for o in rows if o.source == source})
    return tuple(judged[id(o)] for o in rows)


def _judge(o: Observation, learned: Model) -> Judged:
    predicted, published = o.comparison.predicted, o.comparison.published
    mean, variance = learned.expect(o.features)
    half = NINETY * math.sqrt(variance)
    low, expected, high = (predicted * math.exp(mean + shift) for shift in (-half, 0.0, half))
    return Judged(o, predicted / published - 1, expected / published - 1, low, high)

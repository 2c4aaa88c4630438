"""Money and carbon: days, dollars to rent or buy, kilowatt-hours, tonnes of CO2, the worth of one percent.

Everything follows from device-hours, and device-hours from the iron law: operations over devices times peak times
utilization. Arguments may be NumPy arrays.
"""

from __future__ import annotations

from typing import Annotated

from ironlaw.core.arrays import require_above_zero, require_at_least, require_each
from ironlaw.core.errors import EngineError
from ironlaw.core.units import Count, Dollars, DollarsPerHour, FlopsPerSecond, Ratio, Seconds, Unit, Watts

SECONDS_PER_HOUR = 3600
SECONDS_PER_DAY = 86400

Hours = Annotated[float, Unit("hour")]
Days = Annotated[float, Unit("day")]
KilowattHours = Annotated[float, Unit("kW*hour")]
Tonnes = Annotated[float, Unit("tonne")]

LLAMA_PUE: Ratio = 1.1
"""Power usage effectiveness that LLaMA's authors assume. Source: Touvron et al. 2023, arXiv 2302.13971, section 6."""

US_GRID_INTENSITY: Annotated[float, Unit("kg/(kW*hour)")] = 0.385
"""Kilograms of CO2 equivalent per kWh of the average US grid. Source: arXiv 2302.13971, section 6."""

NODE_OVERHEAD: Ratio = 10_200 / (8 * 700)
"""Power of a whole node over that of its accelerators: DGX H100, 10.2 kW with eight GPUs of 700 W.

Source: NVIDIA DGX H100 data sheet. Both are maxima; processors, fans, network and losses make the difference.
"""


def training_seconds(operations: float, devices: Count, peak: FlopsPerSecond, utilization: Ratio) -> Seconds:
    """The iron law: seconds to do `operations` FLOPs on `devices` devices at a share of their peak.

    Raises:
        EngineError: A value that is not positive, or a utilization above 1.
    """
    require_at_least("operations", operations, 0)
    require_at_least("devices", devices, 1)
    require_above_zero("peak", peak)
    _require_utilization(utilization)
    return operations / (devices * peak * utilization)


def device_hours(operations: float, peak: FlopsPerSecond, utilization: Ratio) -> Hours:
    """Device-hours of a job; they do not depend on how many devices share it."""
    return training_seconds(operations, 1, peak, utilization) / SECONDS_PER_HOUR


def days(seconds: Seconds) -> Days:
    """Days of 86,400 seconds."""
    return seconds / SECONDS_PER_DAY


def rent(hours: Hours, price: DollarsPerHour) -> Dollars:
    """Dollars for device-hours at a price per device and hour."""
    require_each(0, {"device-hours": hours, "price": price})
    return hours * price


def buy(devices: Count, price: Dollars) -> Dollars:
    """Dollars for the devices themselves (power, hosts and people not included)."""
    require_at_least("devices", devices, 1)
    require_at_least("price", price, 0)
    return devices * price


def energy(hours: Hours, power: Watts, *, node_overhead: Ratio = 1.0, pue: Ratio = 1.0) -> KilowattHours:
    """Kilowatt-hours of device-hours at `power` watts per device, with everything that is drawn beside it.

    Args:
        hours: Device-hours.
        power: Watts of one device; its TDP is the usual upper estimate.
        node_overhead: Power of the node over that of its devices, at least 1 (`NODE_OVERHEAD` for a DGX H100).
        pue: Power of the building over that of its computers, at least 1.

    Source: Patterson et al. 2021, "Carbon Emissions and Large Neural Network Training", arXiv 2104.10350.
    """
    require_each(0, {"device-hours": hours, "power": power})
    require_each(1, {"node overhead": node_overhead, "PUE": pue})
    return hours * power / 1000 * node_overhead * pue


def carbon(kilowatt_hours: KilowattHours, intensity: Annotated[float, Unit("kg/(kW*hour)")]) -> Tonnes:
    """Tonnes of CO2 equivalent for an energy at a grid's intensity in kilograms per kWh."""
    require_each(0, {"energy": kilowatt_hours, "intensity": intensity})
    return kilowatt_hours * intensity / 1000


def worth_of_utilization(cost: Dollars, utilization: Ratio, gain: Ratio = 0.01) -> Dollars:
    """Dollars saved on a job when utilization rises by `gain` (0.01 is one percentage point): `cost * g / (u + g)`.

    Time and energy shrink by the same factor, so the formula serves days, kilowatt-hours and tonnes as well.

    Raises:
        EngineError: The raised utilization exceeds 1, or a value is out of range.
    """
    require_each(0, {"cost": cost, "gain": gain})
    _require_utilization(utilization)
    _require_utilization(utilization + gain)
    return cost * gain / (utilization + gain)


def dollars_per_billion_tokens(price: DollarsPerHour, devices: Count, tokens_per_second: Ratio) -> Dollars:
    """Dollars to train on 1e9 tokens at a job's tokens per second."""
    require_above_zero("tokens per second", tokens_per_second)
    return price * devices * 1e9 / tokens_per_second / SECONDS_PER_HOUR


def joules_per_token(power: Watts, devices: Count, tokens_per_second: Ratio) -> Ratio:
    """Joules per token of a job that draws `power` watts per device."""
    require_above_zero("tokens per second", tokens_per_second)
    return power * devices / tokens_per_second


def _require_utilization(utilization: Ratio) -> None:
    require_above_zero("utilization", utilization)
    highest = utilization.max() if hasattr(utilization, "max") else utilization
    if highest > 1:
        raise EngineError("utilization", utilization, "above 0 and at most 1")

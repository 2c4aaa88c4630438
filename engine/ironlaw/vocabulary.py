"""The names that expressions in prose and claims may use: every room's but `calibration`, `cli` and `files`.

`plugins/explorable/measured` evaluates expressions over this module. What a room offers stands in its `__init__`.
"""

from __future__ import annotations

from ironlaw.answers import *
from ironlaw.config import *
from ironlaw.core import *
from ironlaw.economics import *
from ironlaw.graph import *
from ironlaw.hardware import *
from ironlaw.memory import *
from ironlaw.models import *
from ironlaw.networks import *
from ironlaw.numerics import *
from ironlaw.parallel import *
from ironlaw.time import *
from ironlaw.training import *

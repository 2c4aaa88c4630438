"""The names that expressions in prose and in claims may use: every room's, except those of `calibration` and `cli`.

`plugins/measured` evaluates expressions over this module. What a room offers stands in its `__init__`.
"""

from __future__ import annotations

from engine.answers import *
from engine.config import *
from engine.core import *
from engine.economics import *
from engine.graph import *
from engine.hardware import *
from engine.memory import *
from engine.models import *
from engine.networks import *
from engine.numerics import *
from engine.parallel import *
from engine.time import *
from engine.training import *

"""The engine's public names for type checkers; a test compares them with the module's."""

from ironlaw.answers import estimate as estimate
from ironlaw.answers import explain as explain
from ironlaw.answers import fit as fit
from ironlaw.answers import fits as fits
from ironlaw.config import Layout as Layout
from ironlaw.config import Setup as Setup
from ironlaw.config import list_optimizers as list_optimizers
from ironlaw.config import optimizer as optimizer
from ironlaw.config import setup as setup
from ironlaw.core import GB as GB
from ironlaw.core import GIB as GIB
from ironlaw.core import EngineError as EngineError
from ironlaw.graph import flops_per_token as flops_per_token
from ironlaw.hardware import accelerator as accelerator
from ironlaw.hardware import link as link
from ironlaw.hardware import list_accelerators as list_accelerators
from ironlaw.hardware import list_links as list_links
from ironlaw.memory import training_memory as training_memory
from ironlaw.models import Transformer as Transformer
from ironlaw.models import list_models as list_models
from ironlaw.models import model as model
from ironlaw.numerics import list_precisions as list_precisions
from ironlaw.numerics import precision as precision
from ironlaw.parallel import job_time as job_time
from ironlaw.parallel import search as search
from ironlaw.time import step_time as step_time

__version__: str

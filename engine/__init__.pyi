"""The engine's public names for type checkers; a test compares them with the module's."""

from engine.answers import estimate as estimate
from engine.answers import explain as explain
from engine.answers import fit as fit
from engine.answers import fits as fits
from engine.config import Layout as Layout
from engine.config import Setup as Setup
from engine.config import list_optimizers as list_optimizers
from engine.config import optimizer as optimizer
from engine.config import setup as setup
from engine.core import GB as GB
from engine.core import GIB as GIB
from engine.core import EngineError as EngineError
from engine.graph import flops_per_token as flops_per_token
from engine.hardware import accelerator as accelerator
from engine.hardware import link as link
from engine.hardware import list_accelerators as list_accelerators
from engine.hardware import list_links as list_links
from engine.memory import training_memory as training_memory
from engine.models import Transformer as Transformer
from engine.models import list_models as list_models
from engine.models import model as model
from engine.numerics import list_precisions as list_precisions
from engine.numerics import precision as precision
from engine.parallel import job_time as job_time
from engine.parallel import search as search
from engine.time import step_time as step_time

__version__: str

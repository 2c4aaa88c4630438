"""The physics of training: memory, operations, time, cost and energy, from named tensors and explicit operation lists.

Standard library only. Everything public is importable from here:

    >>> from engine import model, training_memory
    >>> model("gpt2-xl").parameters
    1557611200
    >>> training_memory("gpt2-xl", optimizer="adam").component("optimizer")
    12460889600
"""

from engine.accelerators import Accelerator, Peak, accelerator, list_accelerators
from engine.activations import sections
from engine.blocks import Matmul, Op, Section, Value
from engine.dtypes import DType, dtype
from engine.errors import EngineError
from engine.layout import Layout
from engine.memory import training_memory
from engine.models import Parameter, Transformer, list_models, model
from engine.optimizers import Optimizer, StateVector, galore, list_optimizers, optimizer
from engine.precision import Precision, list_precisions, precision
from engine.records import Source
from engine.sizes import Size
from engine.tensors import MemoryLedger, Moment, Tensor
from engine.textbook import chapter_activation_bytes, hidden_states_bytes
from engine.units import GB, GIB, Unit, format_bytes, unit_of

__version__ = "0.1.0"

__all__ = [
    "GB",
    "GIB",
    "Accelerator",
    "DType",
    "EngineError",
    "Layout",
    "Matmul",
    "MemoryLedger",
    "Moment",
    "Op",
    "Optimizer",
    "Parameter",
    "Peak",
    "Precision",
    "Section",
    "Size",
    "Source",
    "StateVector",
    "Tensor",
    "Transformer",
    "Unit",
    "Value",
    "__version__",
    "accelerator",
    "chapter_activation_bytes",
    "dtype",
    "format_bytes",
    "galore",
    "hidden_states_bytes",
    "list_accelerators",
    "list_models",
    "list_optimizers",
    "list_precisions",
    "model",
    "optimizer",
    "precision",
    "sections",
    "training_memory",
    "unit_of",
]

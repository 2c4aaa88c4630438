"""Named accountings: quantities of the engine that tests prove equal to PyTorch's own counters, to the byte or FLOP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Accounting:
    """What an accounting counts, which parts of the engine give it, and which test proves them.

    Attributes:
        counts: What is counted and with which counter of PyTorch it is compared.
        origins: Dotted names; the value of a check must come from one of them.
        proof: The test, `file::function`.
    """

    counts: str
    origins: tuple[str, ...]
    proof: str


ACCOUNTINGS: Mapping[str, Accounting] = {
    "parameters": Accounting(
        "parameter tensors of the model, as its published checkpoint has them",
        ("engine.models.transformer.Transformer.parameters", "engine.networks.convnets.ConvNet.parameters"),
        "tests/engine/models/test_models.py::test_a_named_model_has_exactly_the_parameters_of_its_checkpoint",
    ),
    "optimizer states": Accounting(
        "tensors in the state of PyTorch's optimizer after a step",
        ("engine.memory.tensors.MemoryLedger.component", "engine.memory.tensors.MemoryLedger.static_bytes"),
        "tests/engine/config/test_optimizers.py::test_optimizer_state_is_pytorchs_to_the_byte",
    ),
    "saved tensors": Accounting(
        "storages that autograd keeps from forward to backward, seen by its saved-tensor hooks on fake tensors",
        (
            "engine.memory.tensors.MemoryLedger.saved_bytes",
            "engine.memory.tensors.MemoryLedger.component",
            "engine.memory.tensors.MemoryLedger.total_bytes",
        ),
        "tests/engine/graph/test_saved_activations.py::test_gpt2_keeps_exactly_the_bytes_pytorch_keeps",
    ),
    "peak": Accounting(
        "the most bytes alive at once in a step, tracked by PyTorch's memory tracker on fake tensors",
        ("engine.memory.tensors.MemoryLedger.allocated_peak", "engine.memory.tensors.MemoryLedger.device_total"),
        "tests/engine/memory/test_peak.py::test_the_peak_is_pytorchs_wherever_it_falls",
    ),
    "operations": Accounting(
        "FLOPs of matrix products, counted by PyTorch's FlopCounterMode",
        (
            "engine.graph.operations.OperationCount",
            "engine.graph.operations.OperationCount.model",
            "engine.graph.operations.OperationCount.hardware",
        ),
        "tests/engine/graph/test_operations.py::test_counts_equal_pytorchs_counter",
    ),
}
"""Every accounting that a claim can name."""

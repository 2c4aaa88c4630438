"""Named accountings: quantities of the engine that tests prove equal to PyTorch's own counters, to the byte or FLOP."""

from __future__ import annotations

from collections.abc import Mapping

from explorable.book import Accounting

ACCOUNTINGS: Mapping[str, Accounting] = {
    "parameters": Accounting(
        "parameter tensors of the model, as its published checkpoint has them",
        ("ironlaw.models.transformer.Transformer.parameters", "ironlaw.networks.convnets.ConvNet.parameters"),
        "tests/engine/models/test_models.py::test_a_named_model_has_exactly_the_parameters_of_its_checkpoint",
    ),
    "weights and states": Accounting(
        "tensors of weights, gradients, FP32 master copy and optimizer state, as PyTorch holds them after a step",
        ("ironlaw.memory.tensors.MemoryLedger.component", "ironlaw.memory.tensors.MemoryLedger.static_bytes"),
        "tests/engine/config/test_optimizers.py::test_optimizer_state_is_pytorchs_to_the_byte",
    ),
    "saved tensors": Accounting(
        "storages that autograd keeps from forward to backward, seen by its saved-tensor hooks on fake tensors",
        (
            "ironlaw.memory.tensors.MemoryLedger.saved_bytes",
            "ironlaw.memory.tensors.MemoryLedger.component",
            "ironlaw.memory.tensors.MemoryLedger.total_bytes",
        ),
        "tests/engine/graph/test_saved_activations.py::test_gpt2_keeps_exactly_the_bytes_pytorch_keeps",
    ),
    "peak": Accounting(
        "the most bytes alive at once in a step, tracked by PyTorch's memory tracker on fake tensors",
        ("ironlaw.memory.tensors.MemoryLedger.allocated_peak", "ironlaw.memory.tensors.MemoryLedger.device_total"),
        "tests/engine/memory/test_peak.py::test_the_peak_is_pytorchs_wherever_it_falls",
    ),
    "operations": Accounting(
        "FLOPs of matrix products, counted by PyTorch's FlopCounterMode",
        (
            "ironlaw.graph.operations.OperationCount",
            "ironlaw.graph.operations.OperationCount.model",
            "ironlaw.graph.operations.OperationCount.hardware",
        ),
        "tests/engine/graph/test_operations.py::test_counts_equal_pytorchs_counter",
    ),
}
"""Every accounting that a claim can name."""

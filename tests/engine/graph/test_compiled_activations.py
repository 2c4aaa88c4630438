"""What compiled code keeps: the engine's lists against the graphs that Inductor really compiles, to the byte.

Models run through Inductor's own decompositions, passes over the joint graph and partitioner; only its kernels are left
out, which changes nothing that is kept (`test_kernels_change_nothing_that_is_kept`).
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
from functorch.compile import make_boxed_func  # type: ignore[import-untyped]
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.exc import BackendCompilerFailed
from torch._guards import detect_fake_mode
from torch._inductor import compile_fx
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.virtualized import V
from torch.nn import functional

from gpu_bench.measure.memory import cpu_allocator_peak, storage_bytes
from ironlaw import Transformer, training_memory
from ironlaw.graph.blocks import sections
from ironlaw.graph.partitioner import compiled
from ironlaw.numerics.precision import precision as precision_by_name
from tests.engine.graph.test_saved_activations import (
    PRECISIONS,
    Attention,
    _default_dtype,
    gpt2,
    llama,
    llama_shape,
)

BATCH, SEQUENCE = 3, 128

Run = Callable[[Any, torch.Tensor, torch.Tensor], torch.Tensor]


def gpt2_shape(layers: int = 2, vocab: int = 1000) -> Transformer:
    return Transformer("t", layers=layers, hidden=256, heads=4, vocab=vocab, max_seq=512)


def run_gpt2(network: Any, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    loss: torch.Tensor = network(tokens, targets)[1]
    return loss


def run_llama(network: Any, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    loss: torch.Tensor = network(input_ids=tokens, labels=targets).loss
    return loss


def partitioned(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Any:
    """Inductor up to its partitioner; the graphs then run operation by operation."""

    def plain(part: torch.fx.GraphModule, _inputs: Sequence[Any]) -> Any:
        return make_boxed_func(part.forward)

    with V.set_fake_mode(detect_fake_mode(inputs)):
        return aot_autograd(
            fw_compiler=plain,
            bw_compiler=plain,
            decompositions=select_decomp_table(),
            partition_fn=compile_fx.partition_fn,
            keep_inference_input_mutations=True,
        )(graph, inputs)


def kept_bytes(
    build: Callable[[], torch.nn.Module],
    precision: str,
    run: Run,
    batch: int = BATCH,
    sequence: int = SEQUENCE,
    backend: Any = partitioned,
) -> int:
    """Bytes that a compiled forward pass with loss leaves saved, each storage once, parameters and buffers not."""
    torch._dynamo.reset()
    kept: dict[int, torch.UntypedStorage] = {}
    with _default_dtype(torch.bfloat16 if precision == "bf16" else torch.float32):
        network = build().train()
        tokens, targets = (torch.zeros(batch, sequence, dtype=torch.long) for _ in range(2))
        own = {t.untyped_storage()._cdata for t in itertools.chain(network.parameters(), network.buffers())}

        def pack(tensor: torch.Tensor) -> torch.Tensor:
            storage = tensor.untyped_storage()
            if storage._cdata not in own:
                kept.setdefault(storage._cdata, storage)
            return tensor

        def step(inputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "amp-bf16"):
                return run(network, inputs, labels)

        whole = torch.compile(step, backend=backend, dynamic=False)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            whole(tokens, targets)
    return sum(storage.nbytes() for storage in kept.values())


def computed(
    shape: Transformer,
    precision: str,
    attention: Attention = "flash",
    dropout: float = 0.0,
    batch: int = BATCH,
    sequence: int = SEQUENCE,
) -> int:
    ledger = training_memory(
        shape, precision=precision, batch=batch, sequence=sequence, attention=attention, dropout=dropout,
        backend="cpu", execution="compiled",
    )  # fmt: skip
    return int(ledger.saved_bytes)


# The bytes kept are a polynomial in layers, batch, sequence and vocabulary. The shapes of each test differ in all four,
# so a wrong growth shows. With fewer than three sequences Inductor keeps another tensor in the first block, the look-up
# of positions, so all batches are larger.


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("layers", "batch", "sequence", "vocab"), [(2, 3, 128, 1000), (4, 5, 96, 700)])
@pytest.mark.sampled(6)
def test_compiled_gpt2_keeps_exactly_what_pytorch_keeps(
    precision: str, layers: int, batch: int, sequence: int, vocab: int
) -> None:
    shape = gpt2_shape(layers=layers, vocab=vocab)
    measured = kept_bytes(gpt2(shape, "flash", 0.0), precision, run_gpt2, batch, sequence)
    # Inductor keeps the fp32 mean of the first norm, which the engine's list does not have: the norm's input, a sum of
    # look-ups, is computed again in the backward pass.
    mean = 0 if precision == "bf16" else 4 * batch * sequence
    assert computed(shape, precision, batch=batch, sequence=sequence) == measured - mean


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(
    ("name", "layers", "batch", "sequence", "vocab"),
    [
        ("llama-mha", 3, 4, 64, 500),
        ("llama-gqa", 2, 3, 128, 1000),
        ("llama-mqa", 2, 5, 96, 1600),
        ("qwen2-gqa", 2, 6, 160, 1200),
    ],
)
@pytest.mark.sampled(7)
def test_compiled_llama_keeps_exactly_what_pytorch_keeps(
    name: str, precision: str, layers: int, batch: int, sequence: int, vocab: int
) -> None:
    shape = llama_shape(name, layers=layers, vocab=vocab)
    measured = kept_bytes(llama(shape, "flash", 0.0), precision, run_llama, batch, sequence)
    padded_labels = 8 * batch  # Hugging Face appends a label to every sequence before it shifts them
    # The first block keeps its projection in 16 bits instead of the sum with its input, which is a look-up.
    first = 2 * batch * sequence * shape.hidden if precision == "amp-bf16" else 0
    assert computed(shape, precision, batch=batch, sequence=sequence) == measured - padded_labels + first


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.sampled(6)
def test_compiled_code_with_written_out_attention_keeps_what_pytorch_keeps(precision: str, dropout: float) -> None:
    shape = gpt2_shape()
    measured = kept_bytes(gpt2(shape, "standard", dropout), precision, run_gpt2)
    assert computed(shape, precision, "standard", dropout) == pytest.approx(measured, rel=0.001)


@contextlib.contextmanager
def kernels() -> Iterator[None]:
    """Skips what needs kernels of Inductor where it writes none that compile.

    Without vector instructions (ATEN_CPU_CAPABILITY=default) PyTorch 2.13 uses `at::vec` and declares it nowhere.
    """
    try:
        yield
    except BackendCompilerFailed as error:
        if torch.backends.cpu.get_cpu_capability() != "DEFAULT" or "at::vec" not in str(error):
            raise
        pytest.skip("Inductor uses at::vec, which it does not declare, where there are no vector instructions")


@pytest.mark.full
@kernels()
def test_kernels_change_nothing_that_is_kept() -> None:
    build = llama(llama_shape("llama-gqa", layers=1), "flash", 0.0)
    assert kept_bytes(build, "amp-bf16", run_llama) == kept_bytes(build, "amp-bf16", run_llama, backend="inductor")


def step_peak(shape: Transformer, batch: int, sequence: int, precision: str) -> int:
    """The most bytes allocated in a step whose model and loss are compiled apart, as PyTorch's profiler records it."""
    torch._dynamo.reset()
    with _default_dtype(torch.bfloat16 if precision == "bf16" else torch.float32):
        network = gpt2(shape, "flash", 0.0)().train()
        network.run_head = lambda norm, head, x, targets: (head(norm(x)), x)
        tokens, targets = (torch.randint(0, shape.vocab, (batch, sequence)) for _ in range(2))
        optimizer = torch.optim.AdamW(network.parameters(), fused=True)
        model = torch.compile(lambda inputs: network(inputs, targets)[0], dynamic=False)
        loss_of = torch.compile(lambda logits: functional.cross_entropy(logits.flatten(0, 1), targets.flatten()))

        def step() -> None:
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "amp-bf16"):
                logits = model(tokens)
                loss = loss_of(logits)
            del logits
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        step()
        step()
        states = [value for state in optimizer.state.values() for value in state.values()]
        held = storage_bytes((*network.parameters(), *states, tokens, targets))
        return cpu_allocator_peak(step, held)


@pytest.mark.parametrize(
    ("shape", "batch", "precision", "tolerance"),
    [
        (Transformer("logits", 3, 128, 4, 20_000, 512), 4, "amp-bf16", 0.002),
        (Transformer("logits", 3, 128, 4, 20_000, 512), 4, "bf16", 0.002),
        (Transformer("blocks", 4, 256, 4, 300, 512), 8, "amp-bf16", 0.02),
    ],
    ids=lambda value: getattr(value, "name", None),
)
@pytest.mark.full
@kernels()
def test_the_peak_of_compiled_code_is_pytorchs(
    shape: Transformer, batch: int, precision: str, tolerance: float
) -> None:
    ledger = training_memory(shape, precision=precision, batch=batch, sequence=512, backend="cpu", execution="compiled")
    assert ledger.allocated_peak == pytest.approx(step_peak(shape, batch, 512, precision), rel=tolerance)


def test_compiled_code_never_keeps_more_than_eager_code() -> None:
    for name in ("gpt2", "llama3.1-8b"):
        for mode in ("bf16", "amp-bf16", "fp32"):
            for backend in ("cpu", "cuda"):
                words: dict[str, Any] = {"precision": mode, "backend": backend, "sequence": 512, "batch": 2}
                both = [training_memory(name, execution=how, **words) for how in ("eager", "compiled")]
                assert both[1].saved_bytes <= both[0].saved_bytes * 1.005
                assert both[1].allocated_peak <= both[0].allocated_peak * 1.005


def test_a_chain_holds_only_what_leaves_it() -> None:
    block = compiled(sections(llama_shape("llama-gqa"), precision_by_name("amp-bf16"))[1])
    chains = [op for op in block.ops if op.kind == "chain"]
    assert {op.kind for op in block.ops} <= {"chain", "matmul", "attention", "view"}
    assert len(chains) == 5  # norm, rotation, sum with norm, gate times up, sum
    assert [value.name for value in chains[3].outputs] == ["blocks.*.mlp.gated"]

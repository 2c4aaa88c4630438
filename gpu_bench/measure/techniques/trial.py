"""Tries every product with an epilogue in a process of its own, in its real shape, before a model uses it.

No GPU has run these products yet, and they are called through a C interface: a wrong address would end the process, or
leave the GPU unusable for it. So whatever happens, happens to the other process. A product is used when it came back
with the numbers of its plain form, and faster; for every other one a line says why not.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from gpu_bench.measure.stopwatch import timed_rounds
from gpu_bench.measure.techniques import cublaslt, epilogues
from gpu_bench.measure.techniques.epilogues import PLACES
from gpu_bench.measure.unsupported import UnsupportedError

AGREEMENT = 0.01
"""Largest relative distance between what a product and its plain form compute. BF16 has 8 bits, so that two right ways
to compute the same are about 0.2 % apart; a wrong row, sign or derivative is off by much more."""
_LIMIT_S = 90.0
"""What a trial may take: PyTorch is imported, and five products run a few hundred times."""
_ROUNDS = 10
"""Samples of a product's time, whose median counts."""

Compute = Callable[[], tuple[Tensor, ...]]


@dataclass(frozen=True)
class Trial:
    """One product in its real shape."""

    fused: Compute  # Computes it by cuBLASLt
    plain: Compute  # Computes the same by PyTorch, in as few kernels as its compiler would take


def trials(rows: int, hidden: int, device: torch.device) -> Iterator[tuple[str, Trial]]:
    """Each place of `PLACES` with its trial over random numbers, for `rows` tokens and width `hidden`."""

    def random(size: float, *shape: int) -> Tensor:
        return (torch.randn(shape, device=device) * size).to(torch.bfloat16)

    wide = 4 * hidden
    x, w1, b1 = random(1.0, rows, hidden), random(0.02, wide, hidden), random(0.02, wide)
    gradient, w2, before = random(1e-3, rows, hidden), random(0.02, hidden, wide), random(1.0, rows, wide)

    def plain_forward() -> tuple[Tensor, ...]:
        inner = functional.linear(x, w1, b1)
        return functional.gelu(inner, approximate="tanh"), inner

    def plain_backward() -> tuple[Tensor, ...]:
        inner = torch.ops.aten.gelu_backward(gradient @ w2, before, approximate="tanh")
        return inner, inner.sum(0)

    yield "mlp-forward", Trial(lambda: epilogues.product_gelu_fused(x, w1, b1), plain_forward)
    yield "mlp-backward", Trial(lambda: epilogues.gradient_gelu_fused(gradient, w2, before), plain_backward)
    for place in PLACES[2:]:
        product = epilogues.product_of(place, rows, hidden)
        g, y = random(1e-3, rows, product.n), random(1.0, rows, product.m)
        yield place, Trial(partial(epilogues.gradient_weight_fused, g, y), partial(_plain_sums, g, y))


def _plain_sums(gradient: Tensor, x: Tensor) -> tuple[Tensor, ...]:
    return gradient.t() @ x, gradient.sum(0)


def judge(trial: Trial, kernels: int, choose: Callable[[int], None], seconds: Callable[[Compute], float]) -> int:
    """The fastest kernel of a product that computes the right numbers; `choose` makes the product run by one.

    Raises `UnsupportedError` when none is right, or none faster than the plain form.
    """
    expected = [one.float() for one in trial.plain()]
    usual, found, furthest = seconds(trial.plain), [], 0.0
    for kernel in range(kernels):
        choose(kernel)
        pairs = zip(trial.fused(), expected, strict=True)
        distance = max(float((one.float() - right).norm() / right.norm()) for one, right in pairs)
        if distance <= AGREEMENT:
            found.append((seconds(trial.fused), kernel))
        else:
            # NaN too: no comparison with it is true.
            furthest = distance
    if not found:
        raise UnsupportedError(f"off by {furthest:.1%}; allowed: {AGREEMENT:.0%}")
    best, kernel = min(found)
    if best >= usual:
        raise UnsupportedError(f"{best * 1e3:.3f} ms, without its epilogue {usual * 1e3:.3f} ms")
    return kernel


def _line(place: str, trial: Trial, order: Mapping[str, int]) -> dict[str, Any]:
    try:
        plan = cublaslt.plan(epilogues.product_of(place, order["rows"], order["hidden"]), order["device"])

        def choose(kernel: int) -> None:
            plan.chosen = kernel

        def seconds(compute: Compute) -> float:
            return statistics.median(timed_rounds(compute, torch.device("cuda", order["device"]), _ROUNDS))

        return {"place": place, "kernel": judge(trial, len(plan.kernels), choose, seconds)}
    except UnsupportedError as error:
        return {"place": place, "why": str(error)}


def usable(rows: int, hidden: int, device: torch.device) -> tuple[dict[str, int], list[str]]:
    """Which places can have their epilogue on this device, with the number of the kernel; a line for each other.

    On a CPU all can: an operator's plain form is what runs there.
    """
    if device.type != "cuda":
        return dict.fromkeys(PLACES, 0), []
    order = json.dumps({"rows": rows, "hidden": hidden, "device": device.index or 0})
    command = [sys.executable, "-m", __name__]
    try:
        ran = subprocess.run(command, input=order, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
        out, ended = ran.stdout, f"the process that tried it ended with status {ran.returncode}"
    except subprocess.TimeoutExpired as error:
        out = error.stdout.decode() if isinstance(error.stdout, bytes) else ""
        ended = f"the process that tried it took more than {_LIMIT_S:.0f} s"
    return _read(out, ended)


def _read(out: str, ended: str) -> tuple[dict[str, int], list[str]]:
    """What the other process said, line by line; `ended` is why nothing came of the places that it does not name."""
    said: dict[str, Mapping[str, Any]] = {}
    for text in out.splitlines():
        # A line that is cut off belongs to a process that ended in the middle of it.
        if text.startswith("{") and text.endswith("}"):
            line = json.loads(text)
            said[line["place"]] = line
    found = {place: said[place]["kernel"] for place in PLACES if "kernel" in said.get(place, {})}
    missing = {place: said.get(place, {}).get("why", ended) for place in PLACES if place not in found}
    return found, [f"{place} runs without its epilogue: {why}" for place, why in missing.items()]


def choose(found: Mapping[str, int], rows: int, hidden: int, device: torch.device) -> None:
    """Let this process use the kernels that the other one found."""
    for place, kernel in found.items():
        cublaslt.plan(epilogues.product_of(place, rows, hidden), device.index or 0).chosen = kernel


def main() -> None:
    """Try what the order on standard input says; one line of JSON for each place."""
    order = json.loads(sys.stdin.readline())
    device = torch.device("cuda", order["device"])
    with torch.cuda.device(device):
        for place, trial in trials(order["rows"], order["hidden"], device):
            print(json.dumps(_line(place, trial, order)), flush=True)


if __name__ == "__main__":
    main()

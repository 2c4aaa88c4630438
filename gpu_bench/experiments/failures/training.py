"""The runs of the failure lab: a small network on the digits, in the formats and with the repairs of each recipe."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpu_bench.cases.case import Case
from gpu_bench.experiments.digits import CLASSES, SIDE
from gpu_bench.experiments.digits import digits as images_of_digits
from gpu_bench.experiments.digits.digits import Digits
from gpu_bench.experiments.failures.case import FailureCase
from gpu_bench.experiments.failures.recipes import Recipe, planned

FORMATS = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
WIDTH, MIDDLE = 128, 16
LOWEST, HIGHEST = -80, 8
"""Powers of two between which the sizes of gradients are counted."""


def network(recipe: Recipe, seed: int) -> nn.Sequential:
    """Linear layers and ReLU. Equal seeds give equal weights."""
    pixels = SIDE * SIDE
    hidden = [WIDTH] * recipe.depth
    last = CLASSES
    if recipe.task == "autoencode":
        hidden[recipe.depth // 2 - 1] = MIDDLE
        last = pixels
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        layers: list[nn.Module] = []
        for inward, outward in zip([pixels, *hidden], [*hidden, last], strict=True):
            layers += [nn.Linear(inward, outward), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def batches(digits: Digits, recipe: Recipe, seed: int) -> Iterator[Tensor]:
    """Indices of the images of each step: every epoch in an order of its own, the last incomplete batch left out."""
    draw = torch.Generator().manual_seed(seed)
    while True:
        order = torch.randperm(len(digits.classes), generator=draw)
        for start in range(0, len(order) - recipe.batch + 1, recipe.batch):
            yield order[start : start + recipe.batch]


def loss_of(model: nn.Module, recipe: Recipe, images: Tensor, classes: Tensor) -> Tensor:
    """The mean loss of a batch, itself computed in FP32, as autocast does."""
    autocast = recipe.products != "fp32"
    context = torch.autocast("cpu", FORMATS[recipe.products]) if autocast else nullcontext()
    with context:
        out = model(images).float()
    if recipe.task == "classify":
        return functional.cross_entropy(out, classes)
    return functional.mse_loss(out, images)


class Run:
    """A training under way; the seed is that of the weights and of the order of images."""

    def __init__(self, recipe: Recipe, digits: Digits, seed: int) -> None:
        self.recipe, self.digits = recipe, digits
        self.model = network(recipe, seed)
        self._order = batches(digits, recipe, seed)
        self._weights = list(self.model.parameters())
        self._master = [p.detach().clone() for p in self._weights] if recipe.master else None
        self._round()
        self._optimizer: torch.optim.Optimizer
        if recipe.optimizer == "sgd":
            self._optimizer = torch.optim.SGD(self._weights, lr=recipe.learning_rate, momentum=recipe.momentum)
        else:
            self._optimizer = torch.optim.Adam(self._weights, lr=recipe.learning_rate)
        self._scaler = torch.amp.GradScaler(
            "cpu", init_scale=recipe.scale, growth_interval=recipe.growth_interval, enabled=recipe.scaling == "dynamic"
        )
        self.step = 0

    @property
    def scale(self) -> float:
        """What the loss is multiplied by now."""
        if self.recipe.scaling == "dynamic":
            return float(self._scaler.get_scale())
        return self.recipe.scale if self.recipe.scaling == "static" else 1.0

    def advance(self, *, watched: bool) -> dict[str, float]:
        """One step. Returns `loss`, `scale` and `norm`, and where it is watched `vanished`.

        `norm` is that of the gradients before they are clipped. `vanished` is the share of the weights whose update
        was not zero and changed nothing.
        """
        for group in self._optimizer.param_groups:
            group["lr"] = self.recipe.rate(self.step)
        images, classes = self._batch()
        loss = self._backward(images, classes)
        found = {"loss": loss, "scale": self.scale, "norm": self._clip()}
        before = self._continue(watched=watched)
        self._scaler.step(self._optimizer)
        self._scaler.update()
        wanted = [p.detach().clone() for p in self._weights] if watched else []
        self._round()
        if watched:
            found["vanished"] = self._vanished(before, wanted)
        self.step += 1
        return found

    def sizes(self) -> list[int]:
        """How many weights' gradients of the first images have which size.

        Bin k counts 2^(k-1) < |g| <= 2^k, from `LOWEST` on. The first also counts what is smaller; zeros do not count.
        """
        shown = slice(0, self.recipe.batch)
        self._backward(self.digits.images[shown], self.digits.classes[shown])
        counts = torch.zeros(HIGHEST - LOWEST + 1, dtype=torch.int64)
        for p in self.model.parameters():
            assert p.grad is not None
            mantissa, exponent = torch.frexp(p.grad.abs().double().flatten())
            # A power of two itself belongs to the bin that it ends.
            exponent = torch.where(mantissa == 0.5, exponent - 1, exponent)[mantissa != 0]
            counts += (exponent.clamp(LOWEST, HIGHEST) - LOWEST).long().bincount(minlength=len(counts))
        return list(map(int, counts))

    @torch.no_grad()
    def test(self) -> dict[str, float]:
        """Mean loss on the test digits and, when the task is to classify them, the share classified correctly."""
        digits, plain = self.digits, self.recipe
        loss = float(loss_of(self.model, plain, digits.test_images, digits.test_classes))
        if plain.task != "classify":
            return {"loss": loss}
        out = self.model(digits.test_images)
        return {"loss": loss, "accuracy": float((out.argmax(1) == digits.test_classes).float().mean())}

    def _batch(self) -> tuple[Tensor, Tensor]:
        chosen = next(self._order)
        images, classes = self.digits.images[chosen], self.digits.classes[chosen]
        if self.step == self.recipe.outlier_step:
            images *= self.recipe.outlier
        return images, classes

    def _backward(self, images: Tensor, classes: Tensor) -> float:
        """Gradients of one batch, without the scale, where the optimizer looks for them; returns the loss."""
        self.model.zero_grad(set_to_none=True)
        loss = loss_of(self.model, self.recipe, images, classes)
        weighted = loss * self.recipe.weight
        if self.recipe.scaling == "dynamic":
            self._scaler.scale(weighted).backward()  # type: ignore[no-untyped-call]
        else:
            (weighted * self.scale).backward()  # type: ignore[no-untyped-call]
        if self.recipe.scaling == "dynamic":
            self._scaler.unscale_(self._optimizer)
        else:
            for weight in self._weights:
                assert weight.grad is not None
                weight.grad /= self.scale
        return float(loss.detach())

    def _clip(self) -> float:
        return float(nn.utils.clip_grad_norm_(self._weights, self.recipe.clip or math.inf))

    @torch.no_grad()
    def _continue(self, *, watched: bool) -> list[Tensor]:
        """Put the master copy, if any, in place of the rounded weights; returns a copy of the weights if watched."""
        for weight, kept in zip(self._weights, self._master or self._weights, strict=True):
            weight.copy_(kept)
        return [p.detach().clone() for p in self._weights] if watched else []

    @torch.no_grad()
    def _round(self) -> None:
        """Round the weights to their format; only a master copy keeps them unrounded."""
        form = FORMATS[self.recipe.weights]
        for index, weight in enumerate(self._weights):
            if self._master is not None:
                self._master[index].copy_(weight)
            weight.copy_(weight.to(form))

    def _vanished(self, before: list[Tensor], wanted: list[Tensor]) -> float:
        """Of the weights that the optimizer moved, the share that rounding put back to where they were."""
        lost = moved = 0
        for was, asked, kept in zip(before, wanted, self._master or self._weights, strict=True):
            moved += int((asked != was).sum())
            lost += int(((asked != was) & (kept == was)).sum())
        return lost / moved if moved else 0.0


def run(recipe: Recipe, digits: Digits, seed: int, histograms: tuple[int, ...] = ()) -> dict[str, Any]:
    """Train once. Returns plain data: curves of about `POINTS` points, results of the test, processor seconds.

    Sizes of gradients are counted before the steps in `histograms`.
    """
    began, training = time.process_time(), Run(recipe, digits, seed)
    curves: dict[str, list[float | None]] = {name: [] for name in recipe.curves}
    counted = []
    for step in range(recipe.steps):
        if step in histograms:
            counted.append({"step": step, "lowest": LOWEST, "counts": training.sizes()})
        watched = step % recipe.every == 0
        found = training.advance(watched=watched and "vanished" in curves)
        if watched:
            for name, curve in curves.items():
                curve.append(compact(found[name]))
    return {
        "every": recipe.every,
        "curves": curves,
        "histograms": counted,
        "test": {name: compact(value) for name, value in training.test().items()},
        "cpu_s": round(time.process_time() - began, 4),
    }


def compact(value: float) -> float | None:
    """A number of five digits; None where it is not finite."""
    return float(f"{value:.5g}") if math.isfinite(value) else None


def run_repeat(case: Case, device: torch.device, repeat: int) -> dict[str, Any]:
    """Train each run of a failure from one seed, on one thread of the CPU: there all machines round alike."""
    assert isinstance(case, FailureCase)
    torch.set_num_threads(1)
    data, runs = images_of_digits.load(), {}
    for name, (recipe, histograms) in planned(case.failure, case.shortened).items():
        runs[name] = {"settings": recipe.as_dict(), "seed": run(recipe, data, case.seed + repeat, histograms)}
    arms = {"data": data.as_dict(), "worse": case.worse, "runs": runs}
    return {"status": "ok", "message": None, "arms": arms}

"""`python -m ironlaw audit`: a checkpoint's tensors, by the headers of its files, counted or held against a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ironlaw.cli.configurations import read_model
from ironlaw.cli.options import CONFIG, MODEL, SHAPE, Option, a_file
from ironlaw.cli.parser import Parser, show
from ironlaw.cli.terminal import UsageError, heading, section, table, visible
from ironlaw.core.errors import EngineError
from ironlaw.models.checkpoints import Audit, Shape, audit, count_elements, layer_of, read_header
from ironlaw.models.transformer import Transformer

TENSORS = Option("--tensors", a_file(), "a safetensors file, an index or a folder of them, or a header saved as JSON")


def run(words: Sequence[str]) -> int:
    """Audit and print. The exit code is 1 where model and checkpoint differ; without a model, tensors are counted."""
    parser = Parser("audit", __doc__ or "")
    parser.add_options({"checkpoint": (TENSORS,), "model": (MODEL, CONFIG, *SHAPE)})
    parser.add_switch("--json", "print JSON")
    values = parser.parse(words)
    if "tensors" not in values:
        raise UsageError("--tensors is missing; allowed: a path")
    try:
        header = read_header(values["tensors"])
    except EngineError as error:
        raise error.named({"tensors": TENSORS.flag}) from None
    if not any(option.argument in values for option in (MODEL, CONFIG, *SHAPE)):
        show(values, lambda: _data(header), _counted(header))
        return 0
    model = read_model(values)
    found = audit(header, model)
    show(values, lambda: asdict(found), _lines(model, found))
    return 1 if found.unexplained or found.absent else 0


def _data(header: Mapping[str, Shape]) -> dict[str, Any]:
    """A header as plain data: elements of all tensors, and of those that lie outside the layers and in each of them."""
    return {
        "elements": count_elements(header),
        "tensors": len(header),
        "parts": [
            {"part": part, "tensors": tensors, "elements": elements} for part, tensors, elements in _parts(header)
        ],
    }


def _parts(header: Mapping[str, Shape]) -> Iterator[tuple[str, int, int]]:
    """Each layer, and what lies outside of them, with how many tensors and elements it has."""
    layers: dict[int, dict[str, Shape]] = {}
    for name, shape in header.items():
        layers.setdefault(layer_of(name), {})[name] = shape
    for number, tensors in sorted(layers.items()):
        yield "outside layers" if number < 0 else f"layer {number}", len(tensors), count_elements(tensors)


def _counted(header: Mapping[str, Shape]) -> Iterator[str]:
    yield heading(f"{count_elements(header):,} elements of {len(header):,} tensors in the checkpoint")
    rows = [(part, f"{tensors:,}", f"{elements:,}") for part, tensors, elements in _parts(header)]
    yield section("By layer", table(rows, ("part", "tensors", "elements"), right=(1, 2)))
    yield "With --model, --config or a shape they are held against a model."


def _lines(model: Transformer, found: Audit) -> Iterator[str]:
    yield heading(f"{model.name}: {found.parameters:,} parameters, {found.elements:,} elements in the checkpoint")
    parts: tuple[tuple[str, Any], ...] = (
        ("In the checkpoint, not in the model", found.unexplained),
        ("In the model, not in the checkpoint", found.absent),
    )
    for title, tensors in parts:
        if tensors:
            rows = [(visible(name), " x ".join(map(str, shape))) for name, shape in tensors]
            yield section(title, table(rows, ("tensor", "shape")))
    if not (found.unexplained or found.absent):
        yield "Every tensor is explained."

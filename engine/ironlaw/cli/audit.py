"""`python -m ironlaw audit`: a checkpoint's tensors, by the headers of its files, held against a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from ironlaw.cli.configurations import read_model
from ironlaw.cli.errors import UsageError
from ironlaw.cli.options import CONFIG, MODEL, SHAPE, Option, a_file
from ironlaw.cli.parser import Parser, show
from ironlaw.cli.tables import heading, section, table
from ironlaw.models.checkpoints import Audit, audit, read_header
from ironlaw.models.transformer import Transformer

TENSORS = Option("--tensors", a_file(), "a safetensors file, an index or a folder of them, or a header saved as JSON")


def run(words: Sequence[str]) -> int:
    """Audit and print. The exit code is 1 where model and checkpoint differ."""
    parser = Parser("audit", __doc__ or "")
    parser.add_options({"checkpoint": (TENSORS,), "model": (MODEL, CONFIG, *SHAPE)})
    parser.add_switch("--json", "print JSON")
    values = parser.parse(words)
    if "tensors" not in values:
        raise UsageError("--tensors is missing; allowed: a path")
    model = read_model(values)
    found = audit(read_header(values["tensors"]), model)
    show(values, lambda: asdict(found), _lines(model, found))
    return 1 if found.unexplained or found.absent else 0


def _lines(model: Transformer, found: Audit) -> Iterator[str]:
    yield heading(f"{model.name}: {found.parameters:,} parameters, {found.elements:,} elements in the checkpoint")
    parts: tuple[tuple[str, Any], ...] = (
        ("In the checkpoint, not in the model", found.unexplained),
        ("In the model, not in the checkpoint", found.absent),
    )
    for title, tensors in parts:
        if tensors:
            rows = [(name, " x ".join(map(str, shape))) for name, shape in tensors]
            yield section(title, table(rows, ("tensor", "shape")))
    if not (found.unexplained or found.absent):
        yield "Every tensor is explained."

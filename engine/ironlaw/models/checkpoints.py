"""What a checkpoint holds, by the header of its safetensors files: names and shapes alone, no weights.

The header of any model can be read and counted. Held against an understood model it says which tensors that model does
not explain, and which of its own are not there.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, product
from math import prod
from typing import Any

from ironlaw.core.contents import require_regular
from ironlaw.core.errors import EngineError
from ironlaw.core.units import Count
from ironlaw.models.config_json import read_json
from ironlaw.models.transformer import Transformer, layer_parameters

LONGEST_HEADER = 100_000_000
"""Bytes of the longest header that the safetensors format allows."""
MOST_DIMENSIONS, MOST_ELEMENTS = 16, 2**63
"""What no tensor of any framework has more of."""
MOST_SIZES = 32
"""Sizes of tensors of one layer among which three are looked for that another file keeps as one: query, key, value."""

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Audit:
    """A checkpoint held against a model.

    Attributes:
        elements: Elements of all tensors of the checkpoint.
        parameters: Parameters of the model.
        unexplained: Tensors of the checkpoint that the model does not have, by name, with their shapes.
        absent: Tensors of the model that the checkpoint does not have, as well.
    """

    elements: Count
    parameters: Count
    unexplained: tuple[tuple[str, Shape], ...]
    absent: tuple[tuple[str, Shape], ...]


def read_header(source: Mapping[str, Any] | str | os.PathLike[str]) -> dict[str, Shape]:
    """Names and shapes of a checkpoint's tensors.

    Args:
        source: A `.safetensors` file, a folder or an index whose files lie beside it, a header saved as JSON, or what
            such a JSON holds.

    Raises:
        EngineError: None of these, or a header that is cut short.
    """
    if isinstance(source, Mapping):
        return _shapes(source)
    path = os.fspath(source)
    if os.path.isdir(path):  # noqa: PTH112
        names = sorted(name for name in os.listdir(path) if name.endswith(".safetensors"))  # noqa: PTH208
        if not names:
            raise EngineError("tensors", path, "a folder with safetensors files")
        return _all_shapes(path, names)
    if path.endswith(".safetensors"):
        return _file_shapes(path)
    found = read_json(path, LONGEST_HEADER, "tensors")
    if "weight_map" not in found:
        return _shapes(found)
    files = found["weight_map"]
    for name in files.values() if isinstance(files, dict) else [[files]]:
        # Of another folder, or another index, an index says nothing.
        if not (isinstance(name, str) and re.fullmatch(r"[^/\\]+\.safetensors", name)):
            raise EngineError("weight_map", name, "the name of a safetensors file beside it")
    return _all_shapes(os.path.dirname(path), sorted(set(files.values())))  # noqa: PTH120


def _all_shapes(folder: str, names: Iterable[str]) -> dict[str, Shape]:
    """The tensors of several safetensors files of a folder."""
    shapes = (_file_shapes(os.path.join(folder, name)) for name in names)  # noqa: PTH118
    return {key: shape for one in shapes for key, shape in one.items()}


def _file_shapes(path: str) -> dict[str, Shape]:
    header = _binary_header(path)
    shapes, at = _shapes(header), 0
    try:
        for begin, end, bits in sorted(
            (*header[name]["data_offsets"], prod(shape) * int(re.findall(r"\d+", header[name]["dtype"] + " 8")[0]))
            for name, shape in shapes.items()
        ):
            if begin != at or (end - begin) * 8 != bits:
                raise ValueError
            at = end
    except (KeyError, TypeError, ValueError):
        raise EngineError("tensors", path, "a safetensors file, with room for every shape") from None
    return shapes


def _binary_header(path: str) -> Mapping[str, Any]:
    """The JSON at the beginning of a safetensors file, whose length the first eight bytes say."""
    try:
        require_regular(path)
        with open(path, "rb") as file:  # noqa: PTH123
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= LONGEST_HEADER:
                raise EngineError("tensors", path, "a safetensors file")
            read = file.read(length)
            found = json.loads(read)
    except OSError as error:
        raise EngineError("tensors", path, "a file that can be read", because=f"{error.strerror}".lower()) from None
    except (ValueError, RecursionError):
        raise EngineError("tensors", path, "a safetensors file") from None
    if not isinstance(found, dict) or len(read) < length:
        raise EngineError("tensors", path, "a safetensors file")
    return found


def header_text(path: str) -> str:
    """The JSON at the beginning of a safetensors file. Raises `EngineError` for any other file."""
    return json.dumps(_binary_header(path))


def _shapes(header: Mapping[str, Any]) -> dict[str, Shape]:
    shapes: dict[str, Shape] = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        shape = entry.get("shape") if isinstance(entry, Mapping) else entry
        if not (
            name.isprintable()
            and isinstance(shape, list | tuple)
            and len(shape) <= MOST_DIMENSIONS
            and all(type(size) is int and size >= 0 for size in shape)
            and prod(shape) < MOST_ELEMENTS
        ):
            allowed = f"a name with a shape, printable, of at most {MOST_DIMENSIONS} sizes, below 2**63 elements"
            raise EngineError("tensors", {name: entry}, allowed)
        shapes[name] = tuple(shape)
    return shapes


def audit(tensors: Mapping[str, Shape], model: Transformer) -> Audit:
    """Hold a checkpoint's tensors against a model's, layer by layer, by shape.

    A transposed matrix is the same; so are matrices kept apart in one and joined in the other, and experts kept one by
    one. A head that repeats a tied embedding is explained.

    Args:
        tensors: From `read_header`.
        model: The model that its configuration describes.
    """
    there: dict[int, dict[str, Shape]] = {}
    for name, shape in _experts_joined(tensors).items():
        there.setdefault(layer_of(name), {})[name] = shape
    expected = {-1: {p.name: p.shape for p in model.parameter_tensors if not p.name.startswith("blocks.")}}
    if model.tied:
        expected[-1]["lm_head.weight"] = (model.vocab, model.hidden)
    kinds = [layer for layer, count in model.stack for _ in range(count)]
    for number, layer in enumerate(kinds):
        named = layer_parameters(model.hidden, layer)
        expected[number] = {f"blocks.{number}.{p.name}": p.shape for p in named}
    unexplained: list[tuple[str, Shape]] = []
    absent: list[tuple[str, Shape]] = []
    for number in sorted({*there, *expected}):
        more, less = there.get(number, {}), expected.get(number, {})
        _compare(more, less)
        unexplained += more.items()
        absent += [(name, shape) for name, shape in less.items() if not (model.tied and name == "lm_head.weight")]
    return Audit(count_elements(tensors), model.parameters, tuple(unexplained), tuple(absent))


def count_elements(tensors: Mapping[str, Shape]) -> Count:
    """Elements of all tensors of a header."""
    return sum(prod(shape) for shape in tensors.values())


def layer_of(name: str) -> int:
    """The number of the layer that a tensor is of, the first of up to ten digits in its name; -1 where none is."""
    found = re.search(r"(?:^|\.)(\d{1,10})\.", name)
    return int(found[1]) if found else -1


def _experts_joined(tensors: Mapping[str, Shape]) -> dict[str, Shape]:
    """Tensors of experts that are kept one by one, as one tensor of all of them."""
    joined: dict[str, Shape] = {}
    counts: Counter[str] = Counter()
    for name, shape in tensors.items():
        one = re.sub(r"(\.experts)\.\d+\.", r"\1.*.", name)
        counts[one] += 1
        joined[one] = shape if one == name else (counts[one], *shape)
    return joined


def _compare(left: dict[str, Shape], right: dict[str, Shape]) -> None:
    """Take off both sides what they share: equal shapes first, then several of one that make up one of the other."""
    twins = _by_shape(right)
    for name, shape in tuple(left.items()):
        if twins[(one := tuple(sorted(shape)))]:
            del left[name], right[twins[one].pop()]
    for many, whole in ((left, right), (right, left)):
        beside: dict[Shape, dict[int, list[str]]] = defaultdict(dict)
        for shape, names in _by_shape(many).items():
            for size in shape:
                beside[_without(shape, size)][size] = names
        for name, shape in tuple(whole.items()):
            if parts := _making_up(shape, beside):
                del whole[name]
            for part in parts:
                del many[part]


def _by_shape(tensors: dict[str, Shape]) -> dict[Shape, list[str]]:
    """Names of tensors by the sizes of their shapes in order; the first name comes last, where it is taken first."""
    found: dict[Shape, list[str]] = defaultdict(list)
    for name in reversed(tensors):
        found[tuple(sorted(tensors[name]))].append(name)
    return found


def _without(shape: Shape, size: int) -> Shape:
    rest = sorted(shape)
    rest.remove(size)
    return tuple(rest)


def _making_up(whole: Shape, beside: Mapping[Shape, Mapping[int, list[str]]]) -> list[str]:
    """Take a few tensors that are `whole` when put side by side: they differ in one size, and add up to it in that.

    Args:
        whole: A shape.
        beside: Names of tensors by the sizes that they share, then by the other one.
    """
    for size in dict.fromkeys(whole):
        names = beside.get(_without(whole, size), {})
        sizes = [one for one, left in names.items() if left and one < size]
        pairs = ((a, size - a) for a in sizes)
        triples = product(sizes[:MOST_SIZES], repeat=2)
        for few in chain(pairs, ((a, b, size - a - b) for a, b in triples)):
            if all(len(names.get(one, ())) >= few.count(one) for one in few):
                return [names[one].pop() for one in few]
    return []

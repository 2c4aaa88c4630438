"""A checkpoint's header against a model: real safetensors files, written by transformers."""

from __future__ import annotations

import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from transformers import CONFIG_MAPPING, AutoModelForCausalLM

from ironlaw import EngineError, model
from ironlaw.cli import main
from ironlaw.cli.audit import _lines
from ironlaw.models import from_config
from ironlaw.models.checkpoints import Audit, audit, layer_of, read_header
from tests.engine.cli.asking import complaint
from tests.engine.graph.test_layer_kinds import PLAIN

KINDS = ("grouped", "experts", "sinks, biased experts", "latent", "merged, partly rotated", "gpt2", "parallel")


def saved(folder: Path, kind: str, config: dict[str, Any]) -> None:
    """A checkpoint of random weights, as transformers saves it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network: Any = AutoModelForCausalLM.from_config(CONFIG_MAPPING[kind](**config))  # type: ignore[no-untyped-call]
        network.save_pretrained(folder)


@pytest.mark.parametrize("name", KINDS)
def test_every_tensor_of_a_saved_model_is_explained(name: str, tmp_path: Path) -> None:
    kind, config = PLAIN[name]
    saved(tmp_path, kind, config)
    read = from_config(tmp_path)
    header = read_header(tmp_path)
    buffers = {key: header.pop(key) for key in tuple(header) if key.endswith("e_score_correction_bias")}
    found = audit(header, read)
    assert (found.unexplained, found.absent) == ((), ())
    assert found.elements - found.parameters in (0, read.vocab * read.hidden)
    # DeepSeek V3's correction is a buffer, no parameter.
    assert audit(header | buffers, read).unexplained == tuple(buffers.items())
    assert header | buffers == read_header(tmp_path / "model.safetensors")


def test_experts_kept_one_by_one_are_explained() -> None:
    """As published checkpoints have them, with gate and input matrix apart."""
    read = from_config({"model_type": "qwen3_moe", **PLAIN["experts"][1]})
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    for p in read.parameter_tensors:
        for layer in range(p.count):
            name = p.name.replace("*", str(layer))
            if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
                header[name] = {"dtype": "BF16", "shape": list(p.shape), "data_offsets": [0, 0]}
                continue
            for expert in range(p.shape[0]):
                one = name.replace("experts.", f"experts.{expert}.")
                rows, columns = p.shape[1:]
                parts = {one: rows} if "down" in one else {f"{one}.gate": rows // 2, f"{one}.up": rows // 2}
                header |= {part: {"shape": [size, columns]} for part, size in parts.items()}
    found = audit(read_header(header), read)
    assert (found.unexplained, found.absent) == ((), ())
    assert found.elements == found.parameters


def test_what_a_model_does_not_have_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kind, config = PLAIN["norms of heads"]
    saved(tmp_path, kind, config)
    plain = {key: config[key] for key in config if key != "head_dim"} | {"model_type": "llama", "head_dim": 32}
    (tmp_path / "llama.json").write_text(json.dumps(plain))
    assert main(["audit", "--tensors", str(tmp_path), "--config", str(tmp_path)]) == 0
    assert "Every tensor is explained." in capsys.readouterr().out
    assert main(["audit", "--tensors", str(tmp_path), "--config", str(tmp_path / "llama.json"), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert {name.split(".", 3)[3] for name, _ in found["unexplained"]} == {
        "self_attn.q_norm.weight", "self_attn.k_norm.weight"
    }  # fmt: skip
    assert found["absent"] == []
    assert found["elements"] - found["parameters"] == 2 * 2 * 32


def test_a_file_that_is_none_is_refused_in_one_line(tmp_path: Path) -> None:
    save_file({"a": torch.zeros(2)}, tmp_path / "whole.safetensors")
    whole = (tmp_path / "whole.safetensors").read_bytes()
    for name, content in {"short": whole[:20], "empty": b"", "text": b"not at all a header"}.items():
        path = tmp_path / f"{name}.safetensors"
        path.write_bytes(content)
        with pytest.raises(EngineError, match="it must be a safetensors file"):
            read_header(path)
    with pytest.raises(EngineError, match="no such file"):
        read_header(tmp_path / "absent.safetensors")
    with pytest.raises(EngineError, match="it must be a name with a shape"):
        read_header({"a": {"dtype": "F32"}})


def test_a_header_of_any_model_is_counted_without_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An architecture that nobody here knows: names and shapes are enough."""
    header = {
        "emb.weight": {"dtype": "F32", "shape": [100, 8], "data_offsets": [0, 3200]},
        "mix.0.a_log": [8], "mix.0.in": [24, 8], "mix.1.a_log": [8], "scale": [],
    }  # fmt: skip
    file = tmp_path / "header.json"
    file.write_text(json.dumps(header), encoding="utf-8")
    assert main(["audit", "--tensors", str(file), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["elements"], answer["tensors"]) == (100 * 8 + 8 + 24 * 8 + 8 + 1, 5)
    assert [(part["part"], part["elements"]) for part in answer["parts"]] == [
        ("outside layers", 801), ("layer 0", 200), ("layer 1", 8),
    ]  # fmt: skip
    assert main(["audit", "--tensors", str(file)]) == 0
    assert "1,009 elements of 5 tensors" in capsys.readouterr().out
    assert main(["audit", "--tensors", str(file), "--hidden", "8"]) == 2
    assert "--layers is missing" in capsys.readouterr().err


@pytest.mark.parametrize("shapes", [[[1]] * 20_000, [[size] for size in range(20_000)], [[1, 768]] * 20_000])
def test_many_tensors_that_no_model_has_are_held_against_it_at_once(shapes: list[list[int]]) -> None:
    """Not by every two and every three of them."""
    started = time.process_time()
    names = [f"{where}{number}" for number in range(len(shapes)) for where in ("", "h.0.")]
    found = audit(read_header(dict(zip(names, shapes * 2, strict=True))), model("gpt2"))
    assert len(found.unexplained) > len(shapes)
    assert time.process_time() - started < 10


def test_tensors_kept_apart_are_explained_by_one_that_has_all_of_them() -> None:
    gpt2 = model("gpt2")
    joined = {
        p.name.replace("*", str(layer)): list(p.shape) for p in gpt2.parameter_tensors for layer in range(p.count)
    }
    apart: dict[str, Any] = {}
    for name, shape in joined.items():
        sizes = (768, 1024, 512) if 2304 in shape else ()
        apart |= {f"{name}.{size}": [size if one == 2304 else one for one in shape] for size in sizes} or {name: shape}
    assert len(apart) == len(joined) + 2 * 2 * 12
    for header in (joined, apart):
        found = audit(read_header(header), gpt2)
        assert (found.unexplained, found.absent) == ((), ())


@pytest.mark.parametrize(
    "header",
    [
        {"a\x1b[31m": [1]},
        {"a\u202e": [1]},
        {"\ud800": [1]},
        {"a": [1] * 17},
        {"a": [2] * 100_000},
        {"a": [2**32, 2**31]},
        {"a": [10**4000]},
    ],
    ids=range(7),
)
def test_a_tensor_that_no_file_has_is_refused_in_one_line(
    header: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its name would reach a terminal, its product could not be printed."""
    file = tmp_path / "header.json"
    file.write_text(json.dumps(header), encoding="utf-8")
    line = complaint(capsys, "audit", "--tensors", str(file))
    assert line.startswith("error: --tensors {")
    assert "it must be a name with a shape, printable, of at most 16 sizes, below 2**63 elements" in line
    assert line.isprintable()
    assert len(line) < 300


def test_a_number_of_thousands_of_digits_is_no_layer() -> None:
    assert (layer_of(f"model.layers.{'9' * 4301}.w"), layer_of("model.layers.12.w")) == (-1, 12)


def test_names_are_escaped_where_they_are_printed() -> None:
    found = Audit(1, 1, (("a\x1b[31m\u202e", (1,)),), ())
    assert "a\\x1b[31m\\u202e  1" in "\n".join(_lines(model("gpt2"), found))


@pytest.mark.parametrize("named", [{"a": ["x"]}, {"a": None}, [1], "x.safetensors", {"a": "../x.safetensors"},
                                   {"a": "index.json"}, {"a": "/x.safetensors"}])  # fmt: skip
def test_an_index_names_safetensors_files_beside_it(named: Any, tmp_path: Path) -> None:
    """Not each other: the files to read would double from one to the next."""
    save_file({"a": torch.zeros(2)}, tmp_path / "x.safetensors")
    index = tmp_path / "index.json"
    index.write_text(json.dumps({"weight_map": {"a": "x.safetensors", "b": "x.safetensors"}}))
    assert read_header(index) == {"a": (2,)}
    index.write_text(json.dumps({"weight_map": named}))
    with pytest.raises(EngineError, match=r"weight_map .*; it must be the name of a safetensors file beside it"):
        read_header(index)


@pytest.mark.parametrize("name", ["x.safetensors", "header.json"])
def test_a_pipe_is_not_waited_for(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / name)
    for words in (("audit", "--tensors", str(tmp_path / name)), ("estimate", "--config", str(tmp_path / name))):
        line = complaint(capsys, *words)
        assert line.startswith(f"error: {words[1]} '")
        assert "it is no regular file" in line
    if name.endswith(".safetensors"):
        assert "it is no regular file" in complaint(capsys, "audit", "--tensors", str(tmp_path))


def test_a_file_that_cannot_be_read_is_named_by_its_option(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("absent.json", "absent.safetensors"):
        assert complaint(capsys, "audit", "--tensors", name).startswith(f"error: --tensors '{name}' is not allowed")


def one(begin: int, end: int, *shape: int) -> dict[str, Any]:
    return {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}


@pytest.mark.parametrize(
    ("header", "more"),
    [
        (f'{{"a": {json.dumps(one(0, 4, 1))}, "a": {json.dumps(one(4, 12, 2))}}}', 0),
        (json.dumps({"a": one(0, 4, 1000)}), 0),
        (json.dumps({"a": one(0, 4, 1), "b": one(0, 8, 2)}), 0),
        (json.dumps({"a": {"shape": [1]}}), 0),
        (json.dumps({"a": [1]}), 0),
        (json.dumps({"a": one(0, 4, 1)}), 1000),
    ],
    ids=["twice", "too short", "overlapping", "nowhere", "a shape alone", "longer than the file"],
)
def test_a_file_whose_header_contradicts_itself_is_refused_in_one_line(
    header: str, more: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes((len(header) + more).to_bytes(8, "little") + header.encode())
    assert complaint(capsys, "audit", "--tensors", str(file)).startswith("error: --tensors ")
    file.write_bytes(
        len(fit := json.dumps({"a": one(0, 4, 1), "b": one(4, 12, 2)})).to_bytes(8, "little") + fit.encode()
    )
    assert read_header(file) == {"a": (1,), "b": (2,)}

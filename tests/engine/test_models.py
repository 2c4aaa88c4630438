"""Models: exact parameter counts, by name and by shape."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import EngineError, Transformer, list_models, model

PUBLISHED = {
    # Elements of the published checkpoints (safetensors header of the model's page), tied head counted once.
    "gpt2": 124_439_808,
    "gpt2-medium": 354_823_168,
    "gpt2-large": 774_030_080,
    "gpt2-xl": 1_557_611_200,
}


@pytest.mark.parametrize(("name", "parameters"), PUBLISHED.items())
def test_a_named_model_has_exactly_the_parameters_of_its_checkpoint(name: str, parameters: int) -> None:
    assert model(name).parameters == parameters


def test_every_model_names_its_source_and_loads() -> None:
    for name in list_models():
        assert all(s.url.startswith("https://") and s.date for s in model(name).sources)
        assert model(name).sources


def test_an_unknown_model_names_the_known_ones() -> None:
    with pytest.raises(EngineError, match=r"^model 'gpt5' is unknown; allowed: .*gpt2-xl"):
        model("gpt5")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layers": 0}, "layers 0"),
        ({"heads": 5}, "heads 5 is not allowed; it must divide hidden 64"),
        ({"kv_heads": 3}, "kv_heads 3 is not allowed; it must divide heads 4"),
        ({"norm": "batchnorm"}, "norm 'batchnorm' is unknown; allowed: layernorm, rmsnorm"),
        ({"hidden": 64.5}, "hidden 64.5"),
    ],
)
def test_an_impossible_shape_is_refused_in_one_line(change: dict[str, object], message: str) -> None:
    shape = {"name": "t", "layers": 2, "hidden": 64, "heads": 4, "vocab": 100, "max_seq": 32} | change
    with pytest.raises(EngineError) as error:
        Transformer(**shape)  # type: ignore[arg-type]
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


shapes = st.builds(
    Transformer,
    name=st.just("t"),
    layers=st.integers(1, 100),
    hidden=st.integers(1, 64).map(lambda n: 128 * n),
    heads=st.sampled_from([1, 2, 4, 8, 16, 32]),
    vocab=st.integers(1, 200_000),
    max_seq=st.integers(1, 8192),
)


@given(shapes)
def test_gpt_shapes_meet_the_closed_form_of_the_megatron_paper(m: Transformer) -> None:
    """arXiv 2104.04473, equation 2: P = 12 L h^2 (1 + 13/12h + (V + s)/12Lh), without the final norm's 2 h."""
    h, layers = m.hidden, m.layers
    assert m.parameters == 12 * layers * h * h + 13 * layers * h + (m.vocab + m.max_seq) * h + 2 * h


@given(shapes)
def test_named_parameters_are_the_grouped_tensors_written_out(m: Transformer) -> None:
    named = dict(m.named_parameters())
    assert len(named) == sum(p.count for p in m.parameter_tensors)
    total = 0
    for shape in named.values():
        elements = 1
        for n in shape:
            elements *= n
        total += elements
    assert total == m.parameters

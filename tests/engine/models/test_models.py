"""Models: exact parameter counts, by name and by shape."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers import BloomConfig, BloomForCausalLM, OPTConfig, OPTForCausalLM

from ironlaw import EngineError, Transformer, list_models, model

# Elements of the published checkpoints (safetensors headers on the models' pages); a tied head counts once.
PUBLISHED = {
    "gpt2": 124_439_808,
    "gpt2-medium": 354_823_168,
    "gpt2-large": 774_030_080,
    "gpt2-xl": 1_557_611_200,
    "llama-7b": 6_738_415_616,
    "llama-13b": 13_015_864_320,
    "llama-33b": 32_528_943_616,
    "llama-65b": 65_285_660_672,
    "llama2-7b": 6_738_415_616,
    "llama2-70b": 68_976_648_192,
    "llama3-8b": 8_030_261_248,
    "llama3-70b": 70_553_706_496,
    "llama3.1-405b": 405_853_388_800,
    "qwen2.5-0.5b": 494_032_768,
    "qwen2.5-1.5b": 1_543_714_304,
    "qwen2.5-3b": 3_085_938_688,
    "qwen2.5-7b": 7_615_616_512,
    "opt-125m": 125_239_296,
    "opt-1.3b": 1_315_758_080,
    "opt-6.7b": 6_658_473_984,
    "bloom-176b": 176_247_271_424,
}
# Millions, as printed in papers: GPT-3 (arXiv 2005.14165, table D.1), PaLM (2204.02311, table 1), MT-NLG and
# Megatron-LM (2104.04473, table 1).
PRINTED = {
    "gpt3-125m": (125, 1),
    "gpt3-350m": (356, 1),
    "gpt3-760m": (760, 1),
    "gpt3-1.3b": (1_320, 10),
    "gpt3-2.7b": (2_650, 10),
    "gpt3-6.7b": (6_660, 10),
    "gpt3-13b": (12_850, 10),
    "gpt3-175b": (174_600, 100),
    "palm-8b": (8_630, 10),
    "palm-62b": (62_500, 10),
    "palm-540b": (540_350, 10),
    "mt-nlg-530b": (529_600, 100),
}


@pytest.mark.parametrize(("name", "printed"), PRINTED.items())
def test_a_named_model_has_the_parameters_its_paper_prints(name: str, printed: tuple[int, int]) -> None:
    millions, last_digit = printed
    assert model(name).parameters / 1e6 == pytest.approx(millions, abs=last_digit)


@pytest.mark.parametrize(("name", "parameters"), PUBLISHED.items())
def test_a_named_model_has_exactly_the_parameters_of_its_checkpoint(name: str, parameters: int) -> None:
    assert model(name).parameters == parameters


def test_every_model_names_its_source_and_loads() -> None:
    for name in list_models():
        assert all(s.url.startswith("https://") and s.date for s in model(name).sources)
        assert model(name).sources


def test_an_unknown_model_names_the_known_ones() -> None:
    with pytest.raises(EngineError, match=r"^model 'gpt5' is unknown, did you mean gpt2\?; allowed: .*gpt2-xl"):
        model("gpt5")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layers": 0}, "layers 0"),
        ({"heads": 5}, "heads 5 is not allowed with hidden 64; it must be a divisor of 64"),
        ({"kv_heads": 3}, "kv_heads 3 is not allowed with heads 4; it must be a divisor of 4"),
        ({"norm": "batchnorm"}, "norm 'batchnorm' is unknown, did you mean layernorm?; allowed: layernorm, rmsnorm"),
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


def test_opt_and_bloom_have_the_tensors_of_their_hugging_face_networks() -> None:
    with FakeTensorMode():
        m = model("opt-125m")
        opt = OPTForCausalLM(
            OPTConfig(
                num_hidden_layers=m.layers, hidden_size=m.hidden, num_attention_heads=m.heads, ffn_dim=m.ffn,
                vocab_size=m.vocab, max_position_embeddings=m.max_seq, word_embed_proj_dim=m.hidden,
            )
        )  # fmt: skip
        assert sum(p.numel() for p in opt.parameters()) == m.parameters
        m = Transformer("t", 3, 64, 4, 1000, 32, position="alibi", embedding_norm=True)
        bloom = BloomForCausalLM(BloomConfig(n_layer=3, hidden_size=64, n_head=4, vocab_size=1000))
        assert sum(p.numel() for p in bloom.parameters()) == m.parameters

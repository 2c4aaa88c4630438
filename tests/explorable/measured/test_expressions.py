"""Engine expressions: units from annotations, dimensions checked, names public only."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from explorable.measured.errors import MeasuredError
from explorable.measured.values.expressions import Evaluator, Outcome
from ironlaw import model, vocabulary

STATE = 'training_memory("gpt2-xl", optimizer="adam", precision="fp32")'


def evaluate(text: str) -> Outcome:
    return Evaluator(vocabulary).evaluate(text)


def test_a_property_carries_the_unit_of_its_annotation_and_its_place_in_the_reference() -> None:
    outcome = evaluate('model("gpt2-xl").parameters')
    assert outcome == Outcome(model("gpt2-xl").parameters, "1", "ironlaw.models.transformer.Transformer.parameters")


def test_a_method_carries_the_unit_of_its_return_annotation() -> None:
    outcome = evaluate(f'{STATE}.component("optimizer")')
    assert (outcome.value, outcome.unit) == (12_460_889_600, "B")
    assert outcome.origin.endswith("MemoryLedger.component")


def test_items_of_a_mapping_carry_the_unit_of_its_annotation() -> None:
    assert evaluate(f'{STATE}.bytes_by_component()["optimizer"]').unit == "B"


def test_a_sum_over_tensors_equals_the_engines_own_total() -> None:
    summed = evaluate(f"sum(tensor.bytes for tensor in {STATE}.tensors)")
    assert summed.value == evaluate(f"{STATE}.total_bytes").value
    assert summed.unit == "B"


def test_a_condition_selects_tensors() -> None:
    text = f'sum(tensor.bytes for tensor in {STATE}.tensors if tensor.component == "optimizer")'
    assert evaluate(text).value == evaluate(f'{STATE}.component("optimizer")').value


def test_a_ratio_of_bytes_is_a_pure_number() -> None:
    outcome = evaluate(f'{STATE}.component("optimizer") / {STATE}.component("parameters")')
    assert (outcome.value, outcome.unit) == (2.0, "1")


def test_a_rate_times_a_time_has_the_unit_of_their_product() -> None:
    assert evaluate('accelerator("h100-sxm").peak("bf16") / model("gpt2").parameters').unit == "FLOP/s"


def test_a_quantity_as_argument_is_given_in_the_unit_of_the_parameter() -> None:
    assert evaluate('training_memory("gpt2", batch=model("gpt2").layers, precision="fp32").total_bytes').unit == "B"
    with pytest.raises(MeasuredError, match="argument 'batch' is in '1' but was given 'B'"):
        evaluate(f'training_memory("gpt2", batch={STATE}.total_bytes, precision="fp32")')


def test_words_that_a_question_passes_on_are_those_of_a_setup() -> None:
    words = '"gpt2-xl", "h100-sxm", model("gpt2").layers, checkpointing="full"'
    outcome = evaluate(f"step_time({words}).total")
    assert outcome == evaluate(f"step_time(setup({words})).total")
    assert (outcome.unit, outcome.origin) == ("s", "ironlaw.time.step.StepTime.total")
    with pytest.raises(MeasuredError, match="no argument 'checkpoints'; perhaps 'checkpointing' is meant"):
        evaluate('step_time("gpt2-xl", checkpoints="full")')


def test_parts_of_a_setup_can_be_named_although_its_module_imports_some_types_for_checkers_only() -> None:
    assert evaluate('setup("gpt2-xl", dp=16).cluster.node_size').value == 8
    assert evaluate('setup("gpt2-xl", dp=16).layout.devices').value == 16


def test_an_object_that_can_be_called_gives_the_unit_of_its_result() -> None:
    assert evaluate('step_plan(setup("gpt2-xl"))(8, 1024).total').unit == "s"
    assert evaluate('prepare(setup("gpt2-xl"))(8, 1024).memory_bytes.device_total').unit == "B"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('modle("gpt2").parameters', "no 'modle'; perhaps 'model' is meant"),
        ('model("gpt2").parmeters', "no 'parmeters'; perhaps 'parameters' is meant"),
        ('model("gpt2-xxl").parameters', "gpt2-xl"),
        ('training_memory("gpt2", optimiser="adam", precision="fp32").total_bytes', "perhaps 'optimizer' is meant"),
        (f'{STATE}.bytes_by_component()["optimzer"]', "perhaps 'optimizer' is meant"),
        ("training_memory().total_bytes", "missing a required argument"),
        (f'{STATE}.total_bytes + model("gpt2").parameters', "mixes units"),
        (f"float({STATE}.total_bytes)", "mixes units"),
        (STATE, "is a MemoryLedger, not a number"),
        ("training_memory", "is the function training_memory, not a number"),
        ("16 * 3", "takes nothing from the library"),
        ('model("gpt2"', "not an expression"),
        ('model("gpt2").layers / 0', "ero"),
    ],
)
def test_a_wrong_expression_says_what_is_wrong_and_what_is_meant(text: str, message: str) -> None:
    with pytest.raises(MeasuredError) as caught:
        evaluate(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        '__import__("os").getpid()',
        'model("gpt2").__class__',
        'model("gpt2").__dict__',
        '"text".upper()',
        "(lambda: 1)()",
        "[x for x in model.__globals__]",
        "models",
        "open",
    ],
)
def test_only_the_engines_public_names_can_be_used(text: str) -> None:
    with pytest.raises(MeasuredError):
        evaluate(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("9**9**9**9", "more than 20,000 binary digits"),
        ("(9**999)**999", "more than 20,000 binary digits"),
        ("model('gpt2').parameters**10**9", "more than 20,000 binary digits"),
        ("'x' * 10**12", "only numbers are multiplied"),
        ("(1, 2) * 10**12", "only numbers are multiplied"),
        ('quantity(1, "9**9**9**9")', "unknown unit '9"),
        ('quantity(1, "m**9**9**9")', "unknown unit 'm"),
        ('quantity(1, "(().__class__)")', "unknown unit"),
        ("().__class__", "only the library's own objects have parts"),
    ],
)
def test_what_would_take_for_ever_is_refused_at_once(text: str, said: str) -> None:
    with pytest.raises(MeasuredError) as raised:
        evaluate(text)
    assert said in str(raised.value)


def test_a_unit_that_there_is_not_is_told_with_the_function_that_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("hydro")
    monkeypatch.setitem(sys.modules, "hydro", module)
    exec("from typing import Annotated\ndef lag(km: float) -> Annotated[float, 'minn']: return 3.0 * km", vars(module))
    with pytest.raises(MeasuredError, match=r"the annotation of hydro\.lag: unknown unit 'minn'; perhaps 'min' is"):
        Evaluator(module).evaluate("lag(2)")

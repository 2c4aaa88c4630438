"""What the planner understands of pasted texts: settings become controls, measurements a note; nothing else is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from math import prod
from typing import Any

from explorable import live
from ironlaw import GIB, EngineError, accelerator, model
from ironlaw.files import Reading, UnreadError, parts, switches, uncolored
from ironlaw.files.facts import AUTO, FAR
from ironlaw.files.together import Joined, joined
from ironlaw.files.words import is_partly_read, said_words, sequences, words_of
from ironlaw.models.checkpoints import audit, count_elements
from ironlaw.models.config_json import essentials, published

from .choices import (
    BESIDES,
    CONTROLS,
    FOLLOW,
    KEPT,
    KNOWABLE,
    KNOWN,
    LEAN,
    MEASURED,
    PAIRS,
    PASTED,
    READ_AT,
    SAID,
    UNCOUNTABLE,
    UNCOUNTED,
    bits_of,
    in_list,
    mark_of,
    model_of,
)
from .choices import words_of as chosen
from .left import noted, other_model
from .measured import told as measured_words
from .pasted import OF_A_RUN, PLAIN, labeled, latest, replaced, standing
from .word_forms import MORE

_SAME = (
    "gpu",
    "batch",
    "sequence",
    "precision",
    "optimizer",
    "checkpointing",
    "method",
    "accumulate",
    "tp",
    "pp",
    "zero",
)
"""Words of a setup that a control of the same name sets."""
_GIVEN = {"model": "model", "gpu": "gpu", "dp": "devices", "batch": "micro_batch", "sequence": "sequence",
          "method": "method"}  # fmt: skip
"""Words that stand as the reader has them where no text says the fact."""
_FORMATS = ("compute", "weights", "sums")
"""Facts of which the formats of a training follow."""
_OFFLOADED = ("offload_optimizer", "offload_parameters", "offload_sizes")
"""Facts of which follows what lives in a machine's own memory."""
_LEAN = re.compile(r"^[^#\n]*cpu_ram_efficient_loading\b\W{1,4}(true|yes|on|1)\b", re.IGNORECASE | re.MULTILINE)
"""The setting of FSDP by which one process of a machine reads the model, in a file or a command."""
_NOTES = ("config", "same", "more", "left", "measured")
"""Controls without a place of their own on the page."""
_OTHER_PARTS = ("vision_config", "audio_config")
_CALLED = {"accumulate": "gradient accumulation", "zero": "what cards divide"}
"""Facts of which the name says little."""
_ALONE = {"cp": 1, "ep": 1}
"""Words that say nothing, and what they are then."""
TEXT_ALONE = "Counted of config.json: the language model; the part for images or sound that it describes too is not."
"""Said of a model of which the engine knows a part."""
_SLIDERS = {control.name: control for control in CONTROLS if isinstance(control, live.Slider)}
_OPTIONS = {
    control.name: [option.value for option in control.options]
    for control in CONTROLS
    if isinstance(control, live.Choice)
}


def read(texts: Sequence[str], state: live.State) -> live.Heard:
    """The controls that texts set together, and what was assumed or could not be set.

    A text of which nothing counts beside a later one has no label.
    """
    texts = [*map(uncolored, texts)]
    found = [[reading for _, reading in parts(text)] for text in texts]
    kept = latest(found)
    readings = [reading for inside in kept for reading in inside]
    # What the texts do not say stands as the reader has it; the model and the card have to be known for the rest.
    stands, files = chosen(state), _joined(readings)
    facts = files.facts
    told = facts.said().keys()
    given = {word: stands[word] for word, fact in _GIVEN.items() if fact not in told}
    about = replaced(found, kept)
    # What a script trains, and how, is all there is where its file or its command says that it trains.
    controls = {**(PLAIN if "method" in told else {}), **_model(readings, about)}
    if "model" in controls:
        given["model"] = model_of(str(controls["model"]), str(controls.get("config", "")))
    understood = words_of(files, given)
    uncounted = [name for reading in files.readings for name in reading.uncounted]
    said = [*understood.assumed, *understood.missing, *about]
    words = {word: value for word, value in understood.words.items() if word != "model" and word not in given}
    open_yet = _open(facts.said(), told)
    for word, value in words.items():
        _set(controls, word, "" if word == "precision" and "compute" in open_yet else value, said)
    controls |= _cards(words, int(state.controls["gpus"]), said)
    if facts.offload_optimizer is False:
        controls["offload"] = False
    if facts.zero is not None:
        # A file says what cards divide, and another one how many there are.
        controls["zero"] = facts.zero
    more = {word: value for word, value in words.items() if word in MORE and value not in (None, _ALONE.get(word))}
    if facts.eval_logits:
        more["eval_logits"] = True  # of a loss in pieces, which may be chosen later
    if open_yet:
        follow = FOLLOW if facts.unprepared or "method" not in told else FOLLOW[:-1]
        more = {word: value for word, value in more.items() if word not in follow} | {SAID: open_yet}
    elif not controls.get("offload") or more["offload"] == "optimizer":
        more.pop("offload", None)  # the control says all of it
    more |= _loading(texts, kept) | ({PAIRS: True} if sequences(facts) > 1 else {})
    # What a run wrote, and what does not say how it trains, leaves the rest as the reader has it.
    if more or "method" in told or any(reading.kind not in OF_A_RUN for reading in readings):
        controls["more"] = json.dumps(more, sort_keys=True) if more else ""
    if "gpu" not in told:
        controls |= _card(readings, str(state.controls["gpu"]), said)
    controls |= _tokens(facts.steps, {**state.controls, **controls}, said)
    _keep(controls, state, said)
    # Of a model that is not known it is said already what stands instead.
    named = {"model": state.controls["model"]} if any("stands instead" in line for line in said) else {}
    at, rival = {**state.controls, **controls}, other_model(readings, given["model"] if "model" in controls else None)
    beside = _besides(uncounted, understood.missing, at)
    controls["left"] = noted(readings, said, at, "model" in controls, {**rival, **beside})
    said += standing(readings, told, state, named | controls)
    measured = _measured(files.readings)
    if measured:
        then = live.State(state.context, {**state.controls, **controls})
        bits = {KNOWN: bits_of(said_words(readings), KNOWABLE), UNCOUNTED: bits_of(uncounted, UNCOUNTABLE)}
        noted_too = {READ_AT: mark_of(then), **{name: found for name, found in bits.items() if found}}
        controls["measured"] = json.dumps({**measured, **noted_too}, sort_keys=True)
        said.insert(0, measured_words(measured))
    return live.Heard([" and ".join(reading.kind for reading in inside) for inside in kept], controls, said)


def _joined(readings: Sequence[Reading]) -> Joined:
    """What texts say together. Raises `EngineError` with the kinds of those that disagree."""
    try:
        return joined(readings)
    except EngineError as error:
        name, sides = error.what.replace(" ", "_"), (error.value, *error.allowed)
        what = _CALLED.get(name, error.what)
        said = [(reading.kind, getattr(reading.facts, name, None)) for reading in readings]
        told = "; ".join(dict.fromkeys(f"{kind} says {value}" for kind, value in said if value in sides))
        why = f"these texts disagree about {what}: {told}. Change one of them, or take it away"
        raise UnreadError(error.what, error.value, error.allowed, because=why) from error


def _keep(controls: dict[str, live.Value], state: live.State, said: list[str]) -> None:
    """Keep what the reader has moved since texts were read last, where these say the same as they did then."""
    stood = {name: value for name, value in state.stood.items() if name not in _NOTES}
    moved = [name for name, value in stood.items() if controls.get(name) == value != state.controls[name]]
    controls |= {name: state.controls[name] for name in moved}
    if moved:
        said.insert(0, f"Kept as you have set it: {', '.join(labeled(one, controls[one]) for one in moved)}.")


def _tokens(steps: int | None, at: Mapping[str, live.Value], said: list[str]) -> dict[str, live.Value]:
    """Millions of tokens of so many steps, where files say how many, every sequence as long as they are cut."""
    if not steps:
        return {}
    passes = prod(int(at[name]) for name in ("gpus", "batch", "accumulate"))
    sequences = passes // prod(int(at[name]) for name in ("tp", "pp"))
    return {"tokens": _nearest("tokens", steps * sequences * int(at["sequence"]) / 1e6, said)}


def _cards(words: Mapping[str, Any], stand: int, said: list[str]) -> dict[str, live.Value]:
    """How many cards there are, where files say it, or so many share a model that those which stand cannot."""
    together = prod(int(words.get(word) or 1) for word in ("tp", "pp", "cp"))
    if "dp" in words:
        return {"gpus": _nearest("gpus", int(words["dp"]) * together, said)}
    if stand % together == 0:
        return {}
    said.append(f"Cards in all: {together:,}, which share a model; no file says how many there are.")
    return {"gpus": together}


def _besides(uncounted: Collection[str], missing: Iterable[str], at: Mapping[str, live.Value]) -> Mapping[str, str]:
    """What is not counted, or not read, as a note: whether it takes more memory, less, or both."""
    adapters = at["method"] != "full"
    found = "both" if is_partly_read(missing) else switches.besides(uncounted, adapters=adapters)
    return {BESIDES: found} if found else {}


def _loading(texts: Sequence[str], kept: Sequence[Sequence[Reading]]) -> dict[str, Any]:
    """That one process of a machine reads the model, where a text says so that divides by FSDP."""
    divided = (text for text, inside in zip(texts, kept, strict=True) for one in inside if one.facts.runtime == "fsdp")
    return {LEAN: True} if any(map(_LEAN.search, divided)) else {}


def _open(facts: Mapping[str, Any], told: Collection[str]) -> dict[str, Any]:
    """What files say of formats, dividing and offloading, where words follow from it only with what they leave open.

    That is what is trained, and the card where formats are the card's.
    """
    divides = facts.get("runtime") in ("deepspeed", "fsdp")
    # Where nobody says who divides FP32 weights, the reader may yet, and formats follow from it.
    alone = "runtime" not in facts and facts.get("weights") == "fp32"
    every = alone or "method" not in told or facts.get("compute") in AUTO or facts.get("runtime") == "fsdp"
    wanted = {"unprepared", *(_OFFLOADED if divides else ()), *(_FORMATS if every else ())}
    wanted |= {"runtime"} if divides or every else set()
    return {name: facts[name] for name in KEPT if name in wanted and name in facts}


def _model(readings: Sequence[Reading], said: list[str]) -> dict[str, live.Value]:
    for reading in readings:
        if reading.config is not None:
            if any(part in reading.config for part in _OTHER_PARTS):
                said.append(TEXT_ALONE)
            return {"model": PASTED, "config": json.dumps(essentials(reading.config), sort_keys=True), "same": ""}
    tensors = {name: shape for reading in readings for name, shape in reading.tensors.items()}
    if tensors:
        return _held(tensors, said)
    naming = next((reading for reading in readings if reading.facts.model), None)
    if naming is None or (name := naming.facts.model) is None:
        return {}
    if (same := in_list(name)) is None:
        said.append(f"The file's model, {name}, is not in this page's list: paste its config.json.")
        return {}
    # A word without a publisher is the model's name too.
    if naming.called.lower() in (same.lower(), same.rpartition("/")[2].lower()):
        return {"model": same, "same": ""}
    said.append(
        f"{naming.called} has the sizes of {same}, which stands here in its place; launch lines leave your model's "
        "name to you."
    )
    return {"model": same, "same": same}


def _held(tensors: Mapping[str, tuple[int, ...]], said: list[str]) -> dict[str, live.Value]:
    """The model of the list that has a checkpoint's tensors, if one has."""
    size = count_elements(tensors)
    said.append(f"The header has {len(tensors):,} tensors with {size:,} parameters.")
    for name in published():
        found = model(name)
        # A tied head may be kept a second time.
        if size - found.parameters in (0, found.tied * found.vocab * found.hidden):
            compared = audit(tensors, found)
            if not (compared.unexplained or compared.absent):
                said.append(f"They are those of {name}, which stands here.")
                return {"model": name, "same": name}
    said.append("No model of this page's list has these tensors: add the checkpoint's config.json.")
    return {}


def _card(readings: Sequence[Reading], stands: str, said: list[str]) -> dict[str, live.Value]:
    """The card whose memory a message names: the one that stands, or the nearest, as drivers differ by a percent."""
    telling = next((reading for reading in readings if reading.facts.gpu_memory), None)
    if telling is None or (memory := telling.facts.gpu_memory) is None:
        return {}
    away = {str(name): abs(memory / accelerator(str(name)).memory_bytes - 1) for name in _OPTIONS["gpu"]}
    named = telling.kind == "nvidia-smi"
    nearest = stands if not named and away[stands] <= FAR else min(away, key=lambda name: away[name])
    if away[nearest] > FAR:
        said.append(f"No card of the list has {memory / GIB:.2f} GiB: choose yours.")
        return {}
    where = "table" if named else "message"
    said.append(f"{accelerator(nearest).title} has the memory that the {where} names. Is yours another? Choose it.")
    return {"gpu": nearest}


def _set(controls: dict[str, live.Value], word: str, value: Any, said: list[str]) -> None:
    if value is None:
        return
    if word == "micro_batches":
        word = "accumulate"
    if word == "lora_rank":
        word = "rank"
    if word == "attention":
        controls["flash"] = value == "flash"
    elif word == "loss":
        controls["chunked"] = str(value).startswith("chunked")
    elif word == "execution":
        controls["compiled"] = value == "compiled"
    elif word == "offload":
        controls["offload"] = value != "none"
    elif word == "rank" or word in _SAME:
        controls[word] = _nearest(word, value, said)


def _nearest(name: str, value: Any, said: list[str]) -> live.Value:
    """The value, or where the page does not offer it the nearest that it does."""
    slider = _SLIDERS.get(name)
    if slider:
        inside = min(max(value, slider.minimum), slider.maximum)
        if inside != value:
            said.append(f"{slider.label}: {value:,} is beyond what this page offers; it stands at {inside:,.0f}.")
        return int(inside) if slider.integer else float(inside)
    offered = _OPTIONS[name]
    if value in offered:
        return value  # type: ignore[no-any-return]
    if not isinstance(value, int):
        said.append(f"{name}: {value} has no place on this page.")
        return offered[0]
    nearest = min((option for option in offered if isinstance(option, int)), key=lambda option: abs(option - value))
    said.append(f"{name}: {value} has no place on this page; the nearest, {nearest}, stands there.")
    return nearest


def _measured(readings: Sequence[Reading]) -> dict[str, float]:
    found: dict[str, float] = {}
    for reading in readings:
        if reading.measured:
            seen = asdict(reading.measured)
            found |= {name: seen[name] for name in MEASURED if seen[name] is not None}
    return found

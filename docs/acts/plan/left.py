"""What a reader's files leave open on which the verdict rests: one on the page's own model is none on theirs."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence

from explorable import live
from ironlaw import GB, Transformer, model
from ironlaw.files.facts import DIVIDES, Reading
from ironlaw.files.switches import waits

from .choices import BESIDES, BY, EXAMPLE, LEFT, NAMED, PASTED, in_list, model_of
from .pasted import OF_A_RUN, TRAININGS

TITLES = {"model": "This page's model, not yours", "zero": "Without the file that divides",
          BESIDES: "Without what is not counted"}  # fmt: skip
"""What stands in the place of a verdict; the first counts that is open."""
_FIRST = 1000.0
"""Worth of what is asked before all changes."""
TWO_MODELS = "Your files name two models"
"""What stands there where the model's sizes are not those of the model that a file names."""
_WHO = {"command": "The command names", "name": "You named"}
_THEN = "Then there is a verdict."
_WHOLE = (
    "What your file trains whole beside adapters is not counted: embedding and head take {:.1f} to {:.1f} GB more of "
    "every card where ZeRO does not divide them."
)
_SAVED = "Your file saves memory in a way that is not counted."
_VERDICT = {"fits": "it fits", "uncertain": "it is uncertain whether it fits", "not": "it does not fit"}


def other_model(readings: Sequence[Reading], stands: str | Transformer | None) -> Mapping[str, str]:
    """The model that a file names, and the file's kind, where it is of other sizes than the one that stands.

    The vocabulary does not count: whoever adds tokens trains the same model.

    Args:
        readings: The files.
        stands: The model that files give, by its sizes or its name; None where they give none.
    """
    reading = next((one for one in readings if one.facts.model), None)
    if stands is None or reading is None or reading.facts.model is None:
        return {}
    sizes, named = (
        (one.layers, one.hidden, one.ffn, one.kv_heads) for one in map(_sizes, (stands, reading.facts.model))
    )
    return {} if sizes == named else {NAMED: reading.facts.model, BY: reading.kind}


def noted(
    readings: Sequence[Reading],
    said: Collection[str],
    at: Mapping[str, live.Value],
    found: bool,
    besides: Mapping[str, str],
) -> str:
    """The note on what files of a training leave open; empty where they leave nothing.

    Args:
        readings: The files.
        said: What is told of them.
        at: Where the controls then stand.
        found: Whether the files say which model of the page's is trained.
        besides: What `other_model` says of them, and what is not counted.
    """
    left = set()
    # A table of nvidia-smi is of a run where something takes memory.
    trained = any(reading.kind in (*TRAININGS, *OF_A_RUN) or reading.measured for reading in readings)
    if trained and not found and at["model"] != PASTED:
        # Whoever has chosen a model before, and gives a file that names none, means that one.
        named = any(reading.facts.model for reading in readings) or any("stands instead" in line for line in said)
        left |= {"model"} if named or at["model"] == EXAMPLE else set()
    left |= {"model"} if NAMED in besides else set()
    left |= {"zero"} if any(DIVIDES in line for line in said) else set()
    return _note({name: at[name] for name in LEFT if name in left} | {**besides})


def _note(found: Mapping[str, live.Value]) -> str:
    return json.dumps(found) if found else ""


def left(state: live.State) -> tuple[str, ...]:
    """The controls that a reader's files leave open, and that nobody has moved since."""
    note = _read(state)
    names = [name for name in LEFT if name in note and note[name] == state.controls[name]]
    return (*names, BESIDES) if BESIDES in note else tuple(names)


def _read(state: live.State) -> dict[str, live.Value]:
    return json.loads(str(state.controls["left"]) or "{}")  # type: ignore[no-any-return]


def _standing(state: live.State) -> str:
    """The name of the model that stands on the page."""
    model = state.controls["model"]
    return "the one you pasted" if model == PASTED else str(model_of(str(model), ""))


def _trained_besides(state: live.State) -> tuple[float, float]:
    """GB of embedding and head, trained whole by AdamW in 16 bits and in FP32: weights, gradients and two states."""
    found = _sizes(model_of(str(state.controls["model"]), str(state.controls["config"])))
    parameters = found.vocab * found.hidden * (1 if found.tied else 2)
    return 8 * parameters / GB, 16 * parameters / GB


def _sizes(named: str | Transformer) -> Transformer:
    return model(named) if isinstance(named, str) else named


def _source(state: live.State) -> str:
    """Whose numbers stand where files disagree about the model."""
    return "config.json" if state.controls["model"] == PASTED else "the checkpoint"


def waiting(state: live.State, verdict: str) -> tuple[str, ...]:
    """What a verdict waits for: what is too much is too much with more, and what fits does so with less."""
    names, besides = left(state), _read(state).get(BESIDES)
    settled = names == (BESIDES,) and not waits(verdict, besides)  # type: ignore[arg-type]
    return () if settled else names


def instead(state: live.State, verdict: str, need: float, room: float) -> live.Success | None:
    """What stands in the place of a verdict while something is open; None where nothing is.

    Args:
        state: Where the controls stand.
        verdict: The engine's, of the plan as it stands.
        need: GB that a card needs by the count.
        room: GB that it can give.
    """
    names = waiting(state, verdict)
    if not names:
        return None
    zero = int(state.controls["zero"])
    told = {
        "model": f"Your files name no model that this page knows: {_standing(state)} stands here. "
        "Choose yours, or add its config.json.",
        "zero": f"The file that says what cards divide is named and not here: counted {'with' if zero else 'without'} "
        f"ZeRO{f' {zero}' if zero else ''}. Add it.",
    }
    note = _read(state)
    told[BESIDES] = _WHOLE.format(*_trained_besides(state)) if note.get(BESIDES) != "less" else _SAVED
    title = TITLES[names[0]]
    if names[0] == "model" and NAMED in note:
        title = TWO_MODELS
        who = _WHO.get(str(note[BY]), f"The {note[BY]} file names")
        told["model"] = f"{who} {note[NAMED]}; the numbers are those of {_source(state)}."
    as_it_stands = f"As it stands {_VERDICT[verdict]}: {need:.1f} GB of {room:.1f} GB by the count."
    said = " ".join((*(told[name] for name in names), as_it_stands))
    return live.Success(title, said, marked=False)


def confirmed(state: live.State, verdict: str) -> Iterator[live.Suggestion]:
    """Changes that take what stands on the page for what the files leave open."""
    names, note = waiting(state, verdict), _read(state)
    titles = {"model": f"My model is {_standing(state)}", "zero": "My cards divide what stands here",
              BESIDES: "I train without what is not counted"}  # fmt: skip
    if NAMED in note:
        titles["model"] = f"My model is that of {_source(state)}"
    for name in names:
        closed = {name, NAMED, BY} if name == "model" else {name}
        rest = {"left": _note({one: value for one, value in note.items() if one not in closed})}
        if name == "model" and NAMED in note and (hub := in_list(str(note[NAMED]))):
            yield live.Suggestion(f"My model is {note[NAMED]}", _THEN, {"model": hub, "same": hub, **rest}, _FIRST + 1)
        yield live.Suggestion(titles[name], _THEN, rest, _FIRST)

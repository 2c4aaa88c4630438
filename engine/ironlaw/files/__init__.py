"""Reads what people have in hand: configurations of trainers, launch commands, logs, messages, tables of GPUs.

    >>> from ironlaw.files import read
    >>> reading = read("torchrun --nnodes 2 --nproc-per-node 8 train.py")
    >>> reading.kind, reading.facts.devices
    ('command', 16)

Texts are read as something that a stranger sent; only numbers and names that the engine knows are kept of them. YAML
needs PyYAML: `pip install "ironlaw[plan]"`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from ironlaw.core.errors import EngineError, Spelling
from ironlaw.files import (
    cluster_files,
    command_line,
    documents,
    logs,
    messages,
    nano_gpt,
    pastes,
    shell,
    starts,
    switches,
    trainers,
    values,
)
from ironlaw.files.documents import TooDeepError
from ironlaw.files.facts import ASIDE, STRANGE, UNKNOWN, UNREAD, Facts, Observed, Reading
from ironlaw.files.options import means_nothing, not_understood
from ironlaw.models import checkpoints

__all__ = ["Facts", "Observed", "Reading", "UnreadError", "parts", "read", "uncolored"]

KINDS = (
    "a config.json", "a YAML of axolotl, LLaMA-Factory, TRL or accelerate", "a JSON of DeepSpeed",
    "the header of a safetensors file",
    "settings of nanoGPT", "a command such as torchrun",
    "an out-of-memory message", "the table of nvidia-smi or of DeepSpeed's needs",
    "a log of nanoGPT, llm.c, torchtitan, Megatron-LM, Trainer or axolotl",
    "the name of a model on the hub",
)  # fmt: skip

_ESCAPE = re.compile(r"\x1b\[[0-?]*+[ -/]*+[@-~]")
"""What colours a text in a terminal, or moves its cursor (ECMA-48, CSI)."""
_END = re.compile(r"^---\r?\n\Z", re.MULTILINE)
MOST_TOLD = 4
"""Parts of a paste that are told where they were not read."""
MOST_YAML = 2 * documents.LONGEST_DOCUMENT
"""Characters of a paste's YAML that are read."""
_SETTING = "this may set something and is of no known kind"
_BESIDE_A_LOG = f"{UNREAD}: options or code beside the log."
_OF_YAML = ("YAML", "key")
"""What is at fault in a text that may be no YAML at all."""
_MUCH = f"of a text's YAML at most {MOST_YAML:,} characters are read"
_Mapping = Callable[[str], documents.Mapping]


def uncolored(text: str) -> str:
    """A text without what a program has written into it for a terminal."""
    return _ESCAPE.sub("", text)


def read(text: str) -> Reading:
    """What a text says, whichever of the known kinds it is.

    Raises:
        EngineError: It is of none of these kinds, or has a value that its program does not take.
    """
    return _read(uncolored(text), documents.mapping)


def _sparing() -> _Mapping:
    """`documents.mapping` for one paste: of each text once, of no more YAML than `MOST_YAML`."""
    left = MOST_YAML

    @cache
    def once(text: str) -> documents.Mapping:
        nonlocal left
        if len(text) <= documents.LONGEST_DOCUMENT and text[:1] != "{":
            if len(text) > left:
                raise UnreadError("text", text, KINDS, because=_MUCH)
            left -= len(text)
        return documents.mapping(text)

    return once


def _end_of(text: str) -> str:
    """What counts of a text."""
    return text[-documents.LONGEST :].lstrip("\ufeff")


def _read(text: str, mapping: _Mapping) -> Reading:
    text = _end_of(text)
    if (name := values.hub_name(text)) is not None:
        return _named(name)
    if messages.is_out_of_memory(text):
        return messages.out_of_memory(text)
    if messages.is_nvidia_smi(text):
        return messages.nvidia_smi(text)
    if starts.is_command(text):
        return command_line.read(text)
    if (found := messages.needs(text) or logs.read(text)) is not None:
        beside = not nano_gpt.settings(text) and pastes.has_settings(text)
        return replace(found, missing=(*found.missing, _BESIDE_A_LOG)) if beside else found
    if given := nano_gpt.settings(text):
        return nano_gpt.read(given, "nanoGPT", alone=True)
    document, faults = mapping(text)
    if document is not None and (found := _document(document)) is not None:
        return found
    aside = document is not None and _is_aside(document)
    because = f"this is a tokenizer's or a generation's configuration: {ASIDE}" if aside else _why(text, faults)
    raise UnreadError("text", f"of {len(text)} characters", KINDS, because=because)


class UnreadError(EngineError):
    """A text of no known kind. `because` is the whole sentence: such a text has no argument at fault."""

    def worded(self, spell: Spelling) -> str:
        """The sentence."""
        return self.because


def _all(text: str, mapping: _Mapping) -> list[Reading]:
    """What a text says: of a log that ends in a message about memory both."""
    found = _read(text, mapping)
    if found.kind == "accelerate":
        rest = cluster_files.beside_accelerate(mapping(_end_of(text))[0] or {})
        if own := _of_trainer(rest):
            return [own, found]
        others = [key for key, value in rest.items() if not means_nothing(key, value)]
        return [replace(found, missing=(*found.missing, *not_understood(others, "file", "")))]
    log = logs.read(text) if found.kind == "out of memory" else None
    return [log, found] if log else [found]


def _named(name: str) -> Reading:
    if (found := values.model(name)) is None:
        because = f"{name} {STRANGE}: paste its config.json"
        raise UnreadError("model", name, KINDS, because=because)
    return Reading("name", Facts(model=found), called=name)


def _why(text: str, faults: list[str]) -> str:
    if messages.lacks_sizes(text):
        return "the message about memory needs its sizes: paste it with the line “Tried to allocate …”"
    if fault := documents.json_fault(text):
        return f"this is broken JSON: {fault}"
    if faults and _of_a_trainer(text):
        return f"this is broken YAML: {faults[0]}"
    if _OF_SWIFT.search(text):
        return "commands of ms-swift are not read: give what they say as a YAML of LLaMA-Factory"
    return _no_kind()


_OF_SWIFT = re.compile(r"^[^#\n]{0,200}\b(?:swift|megatron) (?:sft|pt|rlhf)\b", re.MULTILINE)


def _no_kind() -> str:
    return f"{UNKNOWN}; what can be read: {', '.join(KINDS)}"


def _are_several_runs(readings: Iterable[Reading]) -> bool:
    """Whether commands of one text train in more than one way."""
    return len({repr(one.facts) for one in readings if one.kind == "command" and one.facts.method is not None}) > 1


def parts(text: str) -> tuple[tuple[str, Reading], ...]:
    """What a paste says that may hold several things, such as a message and a YAML: the text of each, as it was read.

    Raises:
        EngineError: Nothing of it is of a known kind, or one of them has a value that its program does not take.
    """
    text, mapping = uncolored(text), _sparing()
    pieces = pastes.pieces(shell.filled(text), lambda part: _is_part(part, mapping))
    known, others = [one for one in pieces if one.known], [one for one in pieces if one.says and not one.known]
    if len(known) + len(others) <= 1:
        return tuple((text, one) for one in _all(known[0].text if known else text, mapping))
    found = _Found(mapping, text.splitlines(keepends=True))
    if len({kind for one in others if (kind := _kind(one.text, mapping))}) > 1 or (
        others and not found.takes("".join(one.text for one in pieces if not one.known))
    ):
        for one in others:
            found.takes(one.text, one)
    elif len(others) > 1:
        found.told += [_unread(one.line, fault) for one in others if (fault := _fault(one.text, mapping))]
    for one in known:
        found.takes(one.text, one)
    if not found.read:
        raise found.why[0]
    last, reading = found.read[-1]  # of what there is one of, the last counts
    several = _are_several_runs(one for _, one in found.read)
    reading = switches.with_switches(reading, (switches.ANOTHER,) if several else ())
    missing = (*reading.missing, *found.told[:MOST_TOLD], *found.beyond[:1])
    return (*found.read[:-1], (last, replace(reading, missing=missing)))


@dataclass
class _Found:
    """What was read of a paste, what is told of the rest, and why that was not read."""

    mapping: _Mapping
    lines: Sequence[str]
    read: list[tuple[str, Reading]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    beyond: list[str] = field(default_factory=list)
    why: list[EngineError] = field(default_factory=list)

    def takes(self, part: str, piece: pastes.Piece | None = None) -> bool:
        """Whether a part is read; of a piece of the paste it is told why not."""
        try:
            self.read.extend((self._own(part, piece), one) for one in _all(_END.sub("", part), self.mapping))
        except EngineError as error:
            said = isinstance(error, UnreadError | TooDeepError)
            if not said and (error.what not in _OF_YAML or (piece is not None and piece.known)):
                raise
            self.why.append(error)
            if piece is not None:
                because = str(error) if said or piece.sets else _no_kind()
                because = because.replace(UNKNOWN, _SETTING) if piece.sets else because
                (self.beyond if str(error) == _MUCH else self.told).append(_unread(piece.line, because))
            return False
        return True

    def _own(self, part: str, piece: pastes.Piece | None) -> str:
        """A part as it was written, before variables of a shell were filled in."""
        if piece is None or not piece.known:
            return part
        return "".join(self.lines[piece.line - 1 : piece.line - 1 + len(part.splitlines())])


def _kind(text: str, mapping: _Mapping) -> str:
    """The kind of a text; "" for one that cannot be read."""
    try:
        return _read(_END.sub("", text), mapping).kind
    except EngineError:
        return ""


def _unread(line: int, why: str) -> str:
    """A sentence on what begins at a line and was not read; `why` counts lines from there."""
    why = re.sub(r"(?<=^this is broken (?:JSON|YAML): in line )\d+", lambda at: str(int(at[0]) + line - 1), why)
    return f"{UNREAD}, from its line {line:,} on: {why}."


def _fault(text: str, mapping: _Mapping) -> str:
    """Why a text is no document though it was meant as one; "" for any other."""
    try:
        why = _why(text, mapping(text)[1])
    except EngineError as error:
        why = _why(text, [str(error)])
    return why if why.startswith("this is broken") and not text.lstrip().startswith("{'") else ""


def _is_part(text: str, mapping: _Mapping) -> bool:
    if starts.is_command(text) or messages.is_nvidia_smi(text) or values.hub_name(text):
        return True
    try:
        document = mapping(text)[0]
    except EngineError:
        return _of_a_trainer(text)
    return document is not None and _is_known(document)


def _of_a_trainer(text: str) -> bool:
    """Whether its program's own keys give a document away."""
    keys = dict.fromkeys(line.partition(":")[0] for line in text.splitlines())
    return trainers.dialect_of(keys) is not None or cluster_files.is_accelerate(keys)


def _is_known(document: dict[str, object]) -> bool:
    try:
        return _document(document) is not None
    except EngineError:
        return True


def _is_aside(document: dict[str, object]) -> bool:
    """Whether it is a file that lies beside a model's config.json, with keys that trainers have too."""
    keys = document.keys()
    return bool(keys & {"tokenizer_class", "added_tokens_decoder", "transformers_version"}) and not (
        keys & {"architectures", "model_type"}
    )


def _of_trainer(document: dict[str, object]) -> Reading | None:
    """What a trainer's file says, and what of it no plan counts."""
    if (dialect := trainers.dialect_of(document)) is None:
        return None
    return switches.with_switches(trainers.read(document, dialect), switches.written(document))


def _document(document: dict[str, object]) -> Reading | None:
    if _is_aside(document):
        return None
    if cluster_files.is_deepspeed(document):
        return cluster_files.deepspeed(document)
    if cluster_files.is_accelerate(document):
        return cluster_files.accelerate(document)
    if "architectures" in document or ("model_type" in document and "vocab_size" in document):
        return Reading("config.json", config=document)
    if "__metadata__" in document or (
        document and all(isinstance(one, dict) and "data_offsets" in one for one in document.values())
    ):
        return Reading("safetensors", tensors=checkpoints.read_header(document))
    return _of_trainer(document)

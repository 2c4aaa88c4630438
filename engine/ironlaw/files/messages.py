"""What a machine prints: PyTorch's message when memory runs out, and the table of `nvidia-smi`."""

from __future__ import annotations

import re

from ironlaw.core.errors import EngineError
from ironlaw.core.units import GB, Bytes
from ironlaw.files import pastes
from ironlaw.files.facts import UNREAD, Facts, Observed, Reading
from ironlaw.files.switches import SLICED, with_switches
from ironlaw.hardware.accelerators import begun, by_driver

_UNITS = {"bytes": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_SIZE = r"(?<![\d.-])(\d{1,18}(?:\.\d+)?)\s*(bytes|B|KiB|MiB|GiB)"


def is_out_of_memory(text: str) -> bool:
    """Whether a text has PyTorch's message that memory ran out."""
    return "out of memory" in text and "Tried to allocate" in text


def lacks_sizes(text: str) -> bool:
    """Whether a text is about memory that ran out, without the part of PyTorch's message that has the sizes."""
    return re.search("out ?of ?memory", text.lower()) is not None


def out_of_memory(text: str) -> Reading:
    """The bytes that the last such message names, in its older and its newer wording."""
    message = " ".join(text[text.rindex("Tried to allocate") :][:2000].split())
    reserved, unused = _size(rf"{_SIZE} reserved in total", message), _size(rf"{_SIZE} is reserved by PyTorch", message)
    allocated = _size(rf"{_SIZE} already allocated", message) or _size(rf"{_SIZE} is allocated by PyTorch", message)
    if reserved is None and allocated is not None and unused is not None:
        reserved = allocated + unused
    # "capacty" is how PyTorch 2.0 to 2.2 wrote it.
    total = _size(rf"total capaci?ty of {_SIZE}", message) or _size(rf"{_SIZE} total capacity", message)
    free = _size(rf"{_SIZE} (?:is )?free", message)
    measured = Observed(
        program="PyTorch",
        asked=_size(rf"Tried to allocate {_SIZE}", message),
        allocated=allocated,
        reserved=reserved,
        process=_own(message),
        free=free,
        in_use=None if total is None or free is None else max(total - free, 0),
    )
    # `ironlaw.files.parts` has taken away what is known; what is left of that shape is not.
    beside = pastes.has_document(text) or pastes.has_settings(text)
    missing = (f"{UNREAD}: only the out-of-memory message of it was.",)
    return Reading(
        "out of memory",
        Facts(gpu_memory=total),
        measured,
        missing=missing if beside else (),
    )


def _own(message: str) -> Bytes | None:
    """The memory of the process that failed; where none is called so, as in a container, the largest."""
    if own := _size(rf"this process has {_SIZE} memory in use", message):
        return own
    named = re.finditer(rf"Process \d+ has {_SIZE} memory in use", message)
    return max(map(_bytes, named), default=None)


def _size(pattern: str, text: str) -> Bytes | None:
    found = re.search(pattern, text)
    return _bytes(found) if found else None


def _bytes(found: re.Match[str]) -> Bytes:
    return round(float(found[1]) * _UNITS[found[2]])


_NEEDS = re.compile(r"(?s)Estimated memory needed for params.{0,99}?([1-9]\d{0,4}) nodes?, ([1-9]\d{0,2}) GPU")


def needs(text: str) -> Reading | None:
    """The GPUs of DeepSpeed's table of what its states need, in full training."""
    if (found := _NEEDS.search(text)) is None:
        return None
    nodes, each = map(int, found.groups())
    told = "DeepSpeed counts weights, gradients, optimizer states: no activations, logits, temporary tensors, driver."
    zero = 3 if "offload_param" in text else 2
    facts = Facts(devices=nodes * each, nodes=nodes, zero=zero, method="full")
    return Reading("DeepSpeed's table", facts, silent=frozenset(("zero", "method")), missing=(told,))


_ROW = re.compile(r"^\|\s+(\d+)\s+(\S(?:[^|\n]*\S)?)\s+(?:On|Off|N/A)\s+\|", re.MULTILINE)
_MEMORY = re.compile(r"(?<!\d)(\d{1,9})MiB\s*/\s*(\d{1,9})MiB\s*\|(?:\s+(\d{1,3})%)?")
"""Memory in use, all of it, and the share of the time in which the GPU computed."""
_PROCESS = re.compile(
    r"^\|\s+(\d+)\s+(?:\S+\s+\S+\s+)?\d+\s+(?:M\+)?C\s+(\S(?:[^|\n]{0,200}?\S)??)\s+(\d{1,9})MiB\s+\|", re.MULTILINE
)
"""A program that computes, its GPU and its memory."""
IDLE: Bytes = 2**30
"""Memory below which a GPU is idle that computes nothing and has no program that does: a display takes some too."""
OTHERS: Bytes = 100 * 2**20
"""Memory of other programs from which on it is told."""
_TRAINS = re.compile(r"python|torchrun|accelerate|deepspeed|pt_main|ray", re.IGNORECASE)
"""Programs that train, among those that compute."""


def is_nvidia_smi(text: str) -> bool:
    """Whether a text has the table of `nvidia-smi`."""
    return "NVIDIA-SMI" in text or (_ROW.search(text) is not None and _MEMORY.search(text) is not None)


def nvidia_smi(text: str) -> Reading:
    """The GPUs of a machine on which something runs: which, how many, with how much memory; and what a training has.

    Where nothing runs all of them count.

    Raises:
        EngineError: The table has no row, or those GPUs are of several kinds.
    """
    found = {}
    rows = [*_ROW.finditer(text)]
    for row, end in zip(rows, [*(one.start() for one in rows), len(text)][1:], strict=True):
        if memory := _MEMORY.search(text, row.end(), end):
            used, total = (int(memory[at]) * 2**20 for at in (1, 2))
            found[row[1]] = (row[1], row[2], used, total, int(memory[3] or 0))
    cards = [*found.values()]  # of a table that stands there twice, the last
    if not cards:
        raise EngineError("nvidia-smi", "a table without a GPU", "the whole table, from its first line on")
    computing = {found[1] for found in _PROCESS.finditer(text)}
    every = len(cards)
    cards = [card for card in cards if card[4] or card[2] >= IDLE or card[0] in computing] or cards
    names = [card[1] for card in cards]
    if len(set(names)) > 1:
        raise EngineError("nvidia-smi", ", ".join(dict.fromkeys(names)), "GPUs of one kind")
    known = by_driver(names[0])
    used, total = max(card[2:4] for card in cards)
    own = _training(text)
    could = " or ".join(begun(names[0])) or "none that the planner knows"
    missing = () if known else (f"By its name the GPU is {could}: choose it.",)
    if idle := every - len(cards):
        missing = (*missing, f"{every} cards, {idle} idle: counted are the {len(cards)} on which something runs.")
    if own and used - own > OTHERS:
        rest = f"{(used - own) / GB:.1f} GB of the fullest card are other programs'"
        missing = (*missing, f"Compared is the process that trains, {own / GB:.1f} GB; {rest}.")
    facts = Facts(gpu=known, gpu_memory=total, devices=len(names))
    # A display takes some of it too, so little use is no measurement of a training.
    measured = Observed(program="nvidia-smi", process=own or used, in_use=used) if (own or used) > 2**30 else None
    read = Reading("nvidia-smi", facts, measured, missing=missing)
    return with_switches(read, (SLICED,) if "MIG devices:" in text else ())


def _training(text: str) -> Bytes | None:
    """The memory of the largest program of the table that trains; of the largest that computes where none does."""
    found = [(name, int(size) * 2**20) for _, name, size in _PROCESS.findall(text)]
    trains = [size for name, size in found if _TRAINS.search(name)]
    return max(trains or [size for _, size in found], default=None)

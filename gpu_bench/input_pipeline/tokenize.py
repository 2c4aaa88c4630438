"""How many tokens a second real text gives, with GPT-2's encoding in plain Python: one process, then many at once."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import torch

from gpu_bench.cases.case import Case
from gpu_bench.cases.planned import PlannedPoint
from gpu_bench.input_pipeline.case import TokenizeCase
from gpu_bench.machine import provenance
from gpu_bench.measure.data import read_text


class EncoderProcesses:
    """Processes that encode texts at the same time, one for each text."""

    def __init__(self, texts: list[bytes]) -> None:
        command = [sys.executable, "-m", "gpu_bench.input_pipeline.encoder_process"]
        self._running = [
            subprocess.Popen(command, cwd=provenance.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in texts
        ]
        for process, text in zip(self._running, texts, strict=True):
            self._write(process, f"{len(text)}\n".encode() + text)

    def all(self, order: str) -> int:
        """Give all the same order and wait until the last has finished. Returns the tokens of all together."""
        for process in self._running:
            self._write(process, f"{order}\n".encode())
        return sum(int(process.stdout.readline()) for process in self._running if process.stdout is not None)

    @staticmethod
    def _write(process: subprocess.Popen[bytes], data: bytes) -> None:
        assert process.stdin is not None
        process.stdin.write(data)
        process.stdin.flush()

    def close(self) -> None:
        """End them."""
        for process in self._running:
            process.communicate()


def run_repeat(case: Case, device: torch.device, repeat: int) -> dict[str, Any]:
    """Measure every number of processes that the machine has cores for. Returns plain data."""
    assert isinstance(case, TokenizeCase)
    planned = case.points(provenance.cpu_cores() or 1)
    return {"status": "ok", "message": None, "points": [_point(case, one) for one in planned]}


def _point(case: TokenizeCase, planned: PlannedPoint) -> dict[str, Any]:
    """So many processes at once; `cold` ones begin with an empty cache of words."""
    count, order = int(planned.settings["processes"] or 1), str(planned.settings["words"])
    text, _ = read_text(case.chunk * max(case.processes))
    pieces = [text[index * case.chunk : (index + 1) * case.chunk] for index in range(count)]
    processes = EncoderProcesses(pieces)
    try:
        # Starts the processes and encodes every word once.
        processes.all("warm")
        seconds: list[float] = []
        tokens = 0
        for _ in range(case.rounds):
            if order == "cold":
                processes.all("prepare")
            began = time.perf_counter()
            tokens = processes.all(order)
            seconds.append(round(time.perf_counter() - began, 9))
    finally:
        processes.close()
    return {
        "label": planned.label,
        "settings": dict(planned.settings),
        "samples_s": seconds,
        "work": {"bytes": sum(map(len, pieces)), "tokens": tokens},
    }

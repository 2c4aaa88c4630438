"""One of the processes that `torchrun` starts: trains, times, profiles; the first one writes what all have found."""

from __future__ import annotations

import json
import math
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, distributed

from gpu_bench.cases.kinds import case_from_dict
from gpu_bench.distributed import data_parallel
from gpu_bench.distributed.case import ScalingCase, Strategy
from gpu_bench.distributed.communication import profiled_shares
from gpu_bench.distributed.parallel import Here, Parallel, model_config
from gpu_bench.distributed.pipeline_parallel import PipelineParallel
from gpu_bench.distributed.tensor_parallel import TensorParallel
from gpu_bench.measure.data import draw_windows, read_corpus
from gpu_bench.measure.stopwatch import Stopwatch
from gpu_bench.record.store import write_json

JOB_VARIABLE = "GPU_BENCH_SCALING_JOB"
"""Names the file with the case, the kind of device, and where the report goes."""
STRATEGIES: dict[Strategy, Callable[[ScalingCase, Here], Parallel]] = {
    "ddp": data_parallel.ddp,
    "fsdp2": data_parallel.fsdp2,
    "tensor": TensorParallel,
    "pipeline": PipelineParallel,
}


def measure(case: ScalingCase, here: Here) -> dict[str, Any]:
    """Train the case on these processes. A single one trains the plain model, which is what the others compare with.

    Returns:
        In every process: seconds of the steps here; losses of the whole batch, from the first step on; what
        communication took, and the allocator's peak, of every process.
    """
    make = data_parallel.plain if here.world == 1 else STRATEGIES[case.strategy]
    parallel = make(case, here)
    steps = case.warmup + case.steps + case.profiled
    corpus = read_corpus(vocabulary=model_config(case).vocab)
    windows = draw_windows(corpus, steps, case.batch_of(here.world), case.sequence, case.seed)
    batches = [parallel.own(window) for window in windows]
    losses: list[Tensor] = []

    def run(begin: int, count: int) -> None:
        for batch in batches[begin : begin + count]:
            losses.append(parallel.step(batch.to(here.device, non_blocking=True).long()))

    run(0, case.warmup)
    seconds = _timed(run, case, here)
    profiled = profiled_shares(lambda: run(case.warmup + case.steps, case.profiled), here.device)
    peak = torch.cuda.max_memory_allocated(here.device) if here.device.type == "cuda" else None
    curve = torch.stack(losses).double() * parallel.loss_weight
    everyone: list[Any] = [None] * here.world
    distributed.all_gather_object(everyone, {"communication": asdict(profiled), "peak": peak})
    distributed.all_reduce(curve)
    return {
        "step_s": [round(second, 9) for second in seconds],
        "losses": [round(loss, 6) if math.isfinite(loss) else None for loss in curve.tolist()],
        "communication": [one["communication"] for one in everyone],
        "peak": [one["peak"] for one in everyone],
    }


def _timed(run: Callable[[int, int], None], case: ScalingCase, here: Here) -> list[float]:
    """Seconds of every timed step; all processes begin together."""
    distributed.barrier()
    if here.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(here.device)
    watch = Stopwatch(here.device)
    watch.mark()
    for index in range(case.steps):
        run(case.warmup + index, 1)
        watch.mark()
    return watch.seconds()


def _end_with_runner() -> None:
    # `torchrun` gives its processes sessions of their own, but passes standard input on: it closes with the runner.
    while os.read(0, 4096):
        pass
    os._exit(1)


def main() -> int:
    """Do the job that the environment names."""
    threading.Thread(target=_end_with_runner, daemon=True).start()
    job = json.loads(Path(os.environ[JOB_VARIABLE]).read_text(encoding="utf-8"))
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    cuda = job["device"] == "cuda"
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if cuda else "gloo", device_id=device if cuda else None)
    try:
        report = measure(cast(ScalingCase, case_from_dict(job["case"])), Here(rank, world, device))
        if rank == 0:
            write_json(Path(job["report"]), report)
    finally:
        distributed.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())

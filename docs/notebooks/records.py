# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Explore the records
#
# A measured number of this book is a JSON file: what was run, on which machine, with every raw sample. This notebook
# opens the files, follows one number from its samples to the table, and asks how far it can be trusted.

# %% [markdown]
# ## What has been measured
#
# The records lie in `gpu_bench/results`, one folder for each suite. A suite without a record has not been measured
# yet: nobody has run it on the hardware it needs.

# %%
from textwrap import fill

from gpu_bench.cases.suites import SUITES
from gpu_bench.record.load import valid
from gpu_bench.record.store import RESULTS

records = {}
for _, one in valid([RESULTS]):
    records[one["suite"], one["name"], one["device"]["slug"]] = one

for suite, cases in SUITES.items():
    measured = {name for of, name, _ in records if of == suite}
    state = f"{len(measured)} measured" if measured else "not measured yet"
    print(f"{suite:14} {len(cases):3} cases, {state}")

# %% [markdown]
# ## One record
#
# Take the small GPT-2 that was trained with Adam in FP32. A record says first what was asked for, and then what was
# found.

# %%
case = "smoke", "gpt2-nano-fp32-adam"
chosen = next(key for key in records if key[:2] == case)
record = records[chosen]

print(f"{' / '.join(chosen)}: {record['status']}")
case = record["case"]
for name in ("model", "precision", "optimizer", "batch", "sequence"):
    print(f"  {name:10} {case[name]}")
for name in ("repeats", "warmup", "steps"):
    print(f"  {name:10} {case[name]}")
print(fill(f"parts: {', '.join(record)}", 60, subsequent_indent="  "))

# %% [markdown]
# ## Where it ran
#
# A step time without its machine says nothing. The record names the device, the versions, the commit of the code,
# whether that code had local changes, and how busy the machine was with other things.

# %%
ran = record["provenance"]
print(
    f"device   {record['device']['name']}, {ran['cores']} cores, {ran['os']}"
)
print(f"software Python {ran['python']}, PyTorch {ran['torch']}")
changed = ", changed" if ran["dirty"] else ""
print(f"code     commit {ran['git_commit'][:7]}{changed}")
print(f"when     {ran['started']} to {ran['finished']}")
print(fill(f"command  {ran['command']}", 60, subsequent_indent=" " * 9))
for number, repeat in enumerate(ran["repeats"], 1):
    others = repeat["others_share"]
    print(f"repeat {number}: others used {others:.1%} of the machine")

# %% [markdown]
# ## The raw samples
#
# Each repeat is a fresh process. After the warm-up it times every step. The repeats of different cases took turns, so
# a machine that becomes slow hits all cases alike.

# %%
repeats = record["samples"]["step_s"]
for number, seconds in enumerate(repeats, 1):
    first = " ".join(f"{1000 * second:.0f}" for second in seconds[:8])
    print(f"repeat {number}: {len(seconds)} steps, in ms: {first} …")

# %% [markdown]
# ## From samples to the number
#
# The table shows a median, because one slow step does not move it, and half the distance between the quartiles.
# Compute both from the samples. They must be what the record says.

# %%
from statistics import median, quantiles

samples = [second for seconds in repeats for second in seconds]
q1, middle, q3 = quantiles(samples, n=4, method="inclusive")
summary = record["summary"]["step_s"]

assert middle == median(samples)
assert summary["median"] == middle
assert (summary["q1"], summary["q3"]) == (q1, q3)
assert summary["n"] == len(samples)
half = (q3 - q1) / 2
print(f"{1000 * middle:.1f} ± {1000 * half:.1f} ms, of {len(samples)} steps")

# %% [markdown]
# ## How sure is the median?
#
# Were all steps independent, the number of samples below the true median would be a count of coin tosses. That gives
# an interval without any assumption about the shape of the distribution: the samples at two ranks.
#
# But steps of one process resemble each other. The medians of the repeats show what a new start of the program
# changes. Where they lie further apart than the interval is wide, the interval is too narrow, and the repeats are
# what to believe.

# %%
from math import comb


def interval(values, confidence=0.95):
    """The samples between which the median lies, if all are independent."""
    ordered, n = sorted(values), len(values)
    tail, rank = 0.0, 0
    while tail + comb(n, rank) / 2**n <= (1 - confidence) / 2:
        tail += comb(n, rank) / 2**n
        rank += 1
    rank = max(
        rank, 1
    )  # Few samples: their whole range, and even that is too little.
    return ordered[rank - 1], ordered[n - rank]


low, high = interval(samples)
medians = [median(seconds) for seconds in repeats]
print(f"if independent: {1000 * low:.1f} to {1000 * high:.1f} ms")
first, last = min(medians), max(medians)
print(f"the repeats:    {1000 * first:.1f} to {1000 * last:.1f} ms")
wider = (last - first) / (high - low)
print(f"the repeats spread {wider:.1f} times as far")

# %% [markdown]
# ## The samples, drawn
#
# One color and one mark for each repeat, in the order of the steps.

# %%
import matplotlib.pyplot as plt
from IPython.display import display

# %config InlineBackend.figure_formats = ["svg"]

figure, axes = plt.subplots(figsize=(4.6, 3), layout="constrained")
marks = "os^Dv"
words = []
for number, seconds in enumerate(repeats, 1):
    steps = range(1, len(seconds) + 1)
    milliseconds = [1000 * second for second in seconds]
    mark = marks[number % len(marks)]
    axes.plot(steps, milliseconds, mark, ms=4, label=f"repeat {number}")
    low, high = min(milliseconds), max(milliseconds)
    words.append(f"repeat {number} from {low:.0f} to {high:.0f} ms")
axes.axhline(1000 * middle, color="C4", linestyle="--", label="median of all")
axes.locator_params(axis="x", integer=True)
axes.set(xlabel="step after the warm-up", ylabel="ms", ylim=(0, None))
figure.legend(loc="outside upper center", ncols=2)
plt.close(figure)

words.append(f"the median of all is {1000 * middle:.0f} ms")
alternative = f"Step times: {', '.join(words)}."
display(figure, metadata={"alt": alternative})

# %% [markdown]
# ## Is Adam slower than SGD?
#
# Compare all cases of the suite on the same device. Two numbers differ with confidence only if their repeats do not
# overlap. Look at the range before you look at the median.

# %%
ranges = {}
for (suite, name, device), one in records.items():
    if (suite, device) != (chosen[0], chosen[2]):
        continue
    times = [1000 * median(seconds) for seconds in one["samples"]["step_s"]]
    low, high = ranges[name] = min(times), max(times)
    value = 1000 * one["summary"]["step_s"]["median"]
    print(f"{name:28} {value:6.1f} ms, {low:.1f} to {high:.1f}")

sgd, adam = ranges["gpt2-nano-fp32-sgd"], ranges["gpt2-nano-fp32-adam"]
apart = sgd[1] < adam[0] or adam[1] < sgd[0]
verdict = "they differ" if apart else "this suite cannot tell"
print("FP32, SGD against Adam:", verdict)

# %% [markdown]
# ## Memory needs no statistics
#
# Memory is counted tensor by tensor. The parts that are alive at the peak must sum to the peak, to the byte; what
# nobody can explain would stand in the remainder. And Adam must keep two vectors of the size of the parameters.

# %%
memory = record["memory"]
for name, size in memory["at_peak"].items():
    print(f"{name:22} {size:12,} B")
assert sum(memory["at_peak"].values()) == memory["peak"]

held = memory["held"]
vectors = held["optimizer"]["exp_avg"] + held["optimizer"]["exp_avg_sq"]
assert vectors == 2 * held["parameters"]
print(f"{'peak':22} {memory['peak']:12,} B")

# %% [markdown]
# ## What was predicted
#
# The record also keeps what the engine said before. On a CPU it predicts memory and no time.

# %%
predicted = record["predicted"]["memory"]
kept = predicted["activations"] + predicted["logits"]
pairs = {
    "parameters": (predicted["parameters"], held["parameters"]),
    "gradients": (predicted["gradients"], held["gradients"]),
    "optimizer": (predicted["optimizer"], held["optimizer_total"]),
    "for backward": (kept, held["activations"]),
    "peak": (predicted["peak"], memory["peak"]),
}
print("               predicted B    measured B")
for name, (before, after) in pairs.items():
    print(f"{name:13} {before:12,} {after:13,} {before / after - 1:+.4%}")

# %% [markdown]
# ## A rate, and what it is compared with
#
# Operations are counted and seconds are measured, so their ratio is a rate. A CPU has no peak in the book's tables.
# The run measured how fast a large product of matrices goes on the same machine, and compares with that.

# %%
rate = record["flops"]["model_per_step"] / middle
used = record["utilization"]
assert abs(rate / used["model_flops_per_s"] - 1) < 1e-12
share = rate / used["matmul_ceiling"]
print(f"{rate / 1e9:.0f} GFLOP/s, {share:.0%} of a large product's rate")

# %% [markdown]
# ## What an edit would break
#
# A file states nothing that follows from its samples, so no summary can be improved by hand. Whoever reads it checks
# that the rest is possible: no step is faster than its products, no peak is below the weights, no repeat is a copy of
# another. Make one repeat a scaled copy, and the record is refused.
#
# The check finds what cannot be, no more. A single step can become a little faster, and then only the history of the
# repository shows the edit. The last line tries it.

# %%
from copy import deepcopy

from gpu_bench.record.checks import inconsistencies

assert inconsistencies(record) == []

edited = deepcopy(record)
edited["samples"]["step_s"][1] = [0.99 * second for second in repeats[0]]
found = inconsistencies(edited)
print(f"one repeat made from another: {len(found)} faults. The first:")
print(fill(found[0], 60))
assert found

edited = deepcopy(record)
edited["samples"]["step_s"][0][0] -= 0.0001
found = inconsistencies(edited)
print("one step changed:", "; ".join(found) or "nobody notices")

# %% [markdown]
# ## Your own records
#
# `python -m gpu_bench run --suite smoke` measures this suite on your machine in a few minutes, and `python -m
# gpu_bench list` names the others. Run the notebook again, and your device is among the records. [About the
# measurements](../measured/index.md) says how a run is made.

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
#   runs_in_page: true
# ---

# %% [markdown]
# # Size your own run
#
# Choose a model, a card, a batch and a precision. The engine says whether the run fits, what takes the memory, how
# long a step takes, and what the whole run costs. Times are predictions of the engine, not measurements.

# %% [markdown]
# ## Your run
#
# This is the one block to change. After a change, run it and then the blocks below it, from top to bottom.

# %%
model_name = "gpt2-xl"
card_name = "h100-sxm"
batch = 8  # sequences that go through the model at once
sequence = 1024  # tokens in each
precision = "amp-bf16"
optimizer = "adamw"
accumulate = 64  # such batches before one update
tokens = None  # of the whole run; None: 20 for each weight
cards = 1  # that work side by side, each with a copy

# %% [markdown]
# ## What you can choose
#
# `sequence` may be as long as the model allows. `amp-bf16` is PyTorch's autocast: weights in FP32, products in BF16.

# %%
from textwrap import fill

import ironlaw

for what, names in {
    "models": ironlaw.list_models(),
    "cards": ironlaw.list_accelerators(),
    "precisions": ironlaw.list_precisions(),
    "optimizers": ironlaw.list_optimizers(),
}.items():
    print(fill(f"{what}: {', '.join(names)}", 60, subsequent_indent="  "))

# %% [markdown]
# ## Does it fit?
#
# The engine lists every tensor that is alive at the worst moment of a step, and adds what the driver takes. If that
# is more than the card has, it searches for changes that make the run fit, and puts those that cost the least time
# first.

# %%
from ironlaw import GB, estimate, fit, setup

choices = {
    "batch": batch,
    "sequence": sequence,
    "precision": precision,
    "optimizer": optimizer,
    "accumulate": accumulate,
    "dp": cards,
}
mine = setup(model_name, card_name, **choices)
answer = fit(mine)
verdict = "fits" if answer.fits else "does not fit"
print(f"{model_name} on {card_name}, batch {batch}: {verdict}")
print(f"needs {answer.device_total / GB:.1f} of {answer.capacity / GB:.1f} GB")
print(f"the largest batch that fits: {answer.largest_batch}")
if not answer.fits:
    for change in answer.cheapest or answer.risky:
        cost = f", {change.gives_up}" if change.gives_up else ""
        print(f"  {change.option}{cost}")
    if answer.devices:
        print(f"  or {answer.devices.option}")

# %% [markdown]
# ## What takes the memory
#
# Each component is shown at its fullest, but they are not all full at the same moment. `peak_balance` sets that
# right: temporary tensors at the peak, less what is not alive then. A block of the bars is 2 % of the card.

# %%
from dataclasses import asdict

run = estimate(mine)
memory = asdict(run.memory_bytes)
total, capacity = memory["device_total"], memory["capacity"]
components = {
    name: size
    for name, size in memory.items()
    if size
    and name not in ("allocated_peak", "device_total", "capacity", "host")
}
for name, size in components.items():
    bar = "█" * round(50 * size / capacity)
    print(f"{name:13} {size / GB:7.2f} GB {bar}".rstrip())
assert sum(components.values()) == total
print(f"{'together':13} {total / GB:7.2f} GB of {capacity / GB:.2f} GB")

# %% [markdown]
# ## How long a step takes
#
# A step is one update: `accumulate` batches on each card. MFU is the share of the card's peak that the model's own
# operations reach. [How accurate is the engine?](../engine/accuracy.md) compares such predictions with published
# measurements.

# %%
time = run.time


def percent(share):
    """A utilization; there is none where the rule gives more than 100 %."""
    return "not given" if share is None else f"{share:.1%}"


print(f"a step           {time.step_s:12.3f} s, predicted")
print(f"tokens           {time.tokens_per_s:12,.0f} per second")
print(f"MFU              {percent(time.mfu):>12}")
print(f"most time goes to {time.bound_by}")
if not run.fits:
    print("(as if memory were no limit: this run does not fit)")

# %% [markdown]
# ## What the run costs
#
# 20 tokens for each weight is where a given budget of operations teaches the model the most. Many models are trained
# on more. The energy is that of the cards at their full power, without the building around them.

# %%
from ironlaw import accelerator, model
from ironlaw.training import chinchilla_tokens

weights = model(model_name).parameters
wanted = chinchilla_tokens(weights) if tokens is None else tokens
seconds = wanted / time.tokens_per_s
updates = wanted / (cards * accumulate * batch * sequence)
card_hours = cards * seconds / 3600
price = accelerator(card_name).rent

print(f"{weights:,} weights, {wanted:.2e} tokens, {updates:,.0f} updates")
print(
    f"{seconds / 86400:,.1f} days on {cards} × {accelerator(card_name).title}"
)
energy = run.energy_j_per_token * wanted / 3.6e6
print(f"{card_hours:,.0f} card-hours, {energy:,.0f} kWh")
if price is None:
    print("nobody's price for this card is on record")
else:
    dollars = card_hours * price.dollars
    print(f"${dollars:,.0f} at ${price.dollars} per hour and card")

# %% [markdown]
# ## The same run in other precisions
#
# A shorter format needs less memory where tensors are kept in it, and products run faster. Autocast adds 16-bit
# copies of the weights, so it saves less than one may expect. MFU is against the peak of each format, so compare
# steps between formats, and MFU within one.

# %%
print("precision      GB   step s    MFU")
for name in ironlaw.list_precisions():
    try:
        other = estimate(
            model_name, card_name, **{**choices, "precision": name}
        )
    except ironlaw.EngineError as error:
        print(f"{name:9} not possible: {error}")
        continue
    size = other.memory_bytes.device_total / GB
    step, mfu = other.time.step_s, percent(other.time.mfu)
    mark = "" if other.fits else "  does not fit"
    print(f"{name:9} {size:7.1f} {step:8.3f} {mfu:>6}{mark}")

# %% [markdown]
# ## The same run on other cards
#
# Only cards with a price on record are listed. The cheapest card per hour is seldom the cheapest for a run, and a
# card on which the run does not fit is no choice at all.

# %%
print("card           fits    days       $")
for name in ironlaw.list_accelerators():
    there = accelerator(name)
    if there.rent is None:
        continue
    # None: the 16-bit format that this card can compute in.
    mode = precision if not precision.startswith("amp") else None
    try:
        other = estimate(model_name, name, **{**choices, "precision": mode})
    except ironlaw.EngineError:
        continue
    days = wanted / other.time.tokens_per_s / 86400
    dollars = days * 24 * cards * there.rent.dollars
    fits = "yes" if other.fits else "no"
    print(f"{name:14} {fits:4} {days:7,.1f} {dollars:7,.0f}")

# %% [markdown]
# ## What this rests on
#
# An estimate is as good as its assumptions. These are the engine's own words.

# %%
for sentence in run.assumptions:
    lines = fill(sentence, 58, break_on_hyphens=False)
    print("-", lines.replace("\n", "\n  "))

# %% [markdown]
# ## Batch, memory and speed, drawn
#
# This block needs NumPy and matplotlib, which the Python of this page does not have. What you see is the run that
# stands above; run the notebook on your machine to draw yours. `prepare` makes one card ready, and one call gives
# all batches: its figures are arrays. A larger batch fills the card, and from some batch on it brings hardly any speed.

# %% tags=["local"]
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display

from ironlaw.answers import prepare

# %config InlineBackend.figure_formats = ["svg"]

batches = 2 ** np.arange(9)
one_card = prepare(setup(model_name, card_name, **{**choices, "dp": 1}))
swept = one_card(batches, sequence)
gigabytes = swept.memory_bytes.device_total / GB
speed = swept.time.tokens_per_s / 1000

size = {"figsize": (4.6, 4.6), "layout": "constrained"}
figure, (above, below) = plt.subplots(2, sharex=True, **size)
above.plot(batches, gigabytes, "o-", color="C1")
above.axhline(capacity / GB, color="C5", linestyle="--")
above.annotate("the card", (1, capacity / GB), va="bottom")
above.set(ylabel="GB", yscale="log", title="memory")
below.plot(batches, speed, "s-", color="C0")
below.set(xlabel="batch", ylabel="thousand tokens/s", xscale="log")
below.set(ylim=(0, None), title="speed of one card")
below.set_xticks(batches, [str(b) for b in batches])
below.minorticks_off()
plt.close(figure)

words = [
    f"batch {b} takes {g:.0f} GB and gives {s:.1f} thousand tokens/s"
    for b, g, s in zip(batches, gigabytes, speed, strict=True)
]
words.append(f"the card has {capacity / GB:.0f} GB")
display(figure, metadata={"alt": f"{', '.join(words)}."})

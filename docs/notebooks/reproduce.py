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
# # Reproduce the book's numbers
#
# Every number here stands in the first two pages of the book. Each is computed twice: by hand, from the shape of a
# model or the data of a paper, and by the engine. Where the two differ, a cell stops with an error, and this site is
# not built.

# %% [markdown]
# ## How a number is checked
#
# `check` takes the number as it was computed by hand and as the engine gives it. They must agree to nine digits. It
# keeps the number in the form in which the book shows it; a test of this site looks for that form on the page.

# %%
from math import isclose

from ironlaw import accelerator, model

found = []


def check(page, what, shown, by_hand, engine):
    """Compare a number that was computed in two ways, and keep it."""
    difference = f"{what}: {by_hand} by hand, {engine} by the engine"
    assert isclose(by_hand, engine, rel_tol=1e-9), difference
    found.append((page, what, shown))
    print(f"{what}: {shown}")


# %% [markdown]
# ## The parameters of GPT-2 XL
#
# A layer has four matrices: for queries, keys and values, for attention's output, and two for the MLP. Together they
# hold $12h^2$ weights. Biases and the two norms of a layer add $13h$. The tables of tokens and positions come once,
# and so does the last norm.

# %%
network = model("gpt2-xl")
L, h = network.layers, network.hidden
V, T = network.vocab, network.max_seq

P = V * h + T * h + L * (12 * h**2 + 13 * h) + 2 * h
check("iron-law", "parameters", f"{P:,}", P, network.parameters)

# %% [markdown]
# ## The operations of a token
#
# Each weight takes part in one multiplication and one addition, which makes $2P$ for the forward pass and $6P$ with
# the backward pass. Attention's scores add $12LhT$ by [the
# rule](../chapter/iron-law.md#the-flops-of-matrix-products). The table of positions is only looked up, so it is left
# out where attention is counted.

# %%
from ironlaw import flops_per_token
from ironlaw.graph import total_flops

rough = 6 * P
rule = 6 * (P - T * h) + 12 * L * h * T

answer = total_flops(network.parameters, tokens=1)
shown = f"{rough / 1e9:.1f} GFLOP"
check("why", "without attention", shown, rough, answer)

answer = flops_per_token(network, T)
shown = f"{rule / 1e9:.2f} GFLOP"
check("iron-law", "with attention", shown, rule, answer)

# %% [markdown]
# ## The exact count
#
# Now product by product, with $2mnk$ for each: queries, keys and values; the scores and what they average;
# attention's output; the MLP. The backward pass has two products for each one of the forward pass, so a step is three
# times the forward pass.
#
# The exact count is smaller than the rule, which charges for biases and norms as if they were multiplied with every
# token.

# %%
from ironlaw.graph import count_operations

layer = 6 * T * h**2 + 4 * T**2 * h + 2 * T * h**2 + 16 * T * h**2
forward = L * layer + 2 * T * h * V

exact = count_operations(network, 1, T, attention="standard")
assert exact.backward == 2 * exact.forward
token = 3 * forward / T
shown = f"{token / 1e9:.2f} GFLOP"
check("iron-law", "exactly", shown, token, exact.model / T)
print(f"the rule is {rule / token - 1:.2%} above it")

# %% [markdown]
# ## One run, and one use
#
# The run of the book has 32,000 steps of 1,024 sequences. One use is a forward pass over one full sequence. Their
# ratio is the asymmetry of [the first page](../chapter/why.md#many-steps), and $T$ and the shape of the model cancel
# in it.

# %%
sequences, steps = 1024, 32_000
step = count_operations(network, sequences, T, attention="standard")
run = step.model * steps

ratio = 3 * sequences * steps
assert f"{ratio:.1e}" == "9.8e+07"
check("why", "run over use", "9.8 × 10⁷", ratio, run / exact.forward)

free = sequences * steps
answer = step.forward * steps / exact.forward
check("why", "were backpropagation free", f"{free:,}", free, answer)

digits, power = f"{3 * forward * sequences * steps:.1e}".split("e+")
assert power == "20"
shown = f"{digits} × 10²⁰ FLOP"
by_hand = 3 * forward * sequences * steps
check("iron-law", "the run", shown, by_hand, run)

# %% [markdown]
# ## The longest bar and the shortest
#
# Llama 3.1 405B has eight heads of keys and values, a gated MLP of three matrices, no biases, and separate tables for
# reading and writing tokens. Its parameters come from that, and the ratio of two training runs from $6PD$.

# %%
llama = model("llama3.1-405b")
d, kv = llama.hidden, llama.kv_heads * llama.head_size
attention, mlp = 2 * d * d + 2 * d * kv, 3 * d * llama.ffn
big = llama.layers * (attention + mlp + 2 * d) + 2 * llama.vocab * d + d

small = total_flops(P, sequences * steps * T)
by_hand = big * 15.6e12 / (P * sequences * steps * T)
answer = total_flops(llama.parameters, 15.6e12) / small
shown = f"{float(f'{by_hand:.2g}'):,.0f}×"
check("why", "longest over shortest", shown, by_hand, answer)

# %% [markdown]
# ## The memory to train Llama 2 7B
#
# For each weight, mixed precision with AdamW holds 2 bytes of working weights, 2 of a gradient, 4 of a master copy,
# and 8 of two moments. What the forward pass keeps comes on top. The engine lists it tensor by tensor, and here we
# only add up its list.

# %%
from ironlaw import GB, training_memory

ledger = training_memory("llama2-7b", optimizer="adamw", precision="mixed")
weights = model("llama2-7b").parameters
kept = sum(
    tensor.bytes
    for tensor in ledger.tensors
    if tensor.component in ("activations", "logits")
)

shown = f"{2 * weights / GB:.1f} GB"
answer = ledger.component("parameters")
check("why", "the weights", shown, 2 * weights, answer)
total = (2 + 2 + 4 + 8) * weights + kept
check("why", "everything", f"{total / GB:.0f} GB", total, ledger.total_bytes)

# %% [markdown]
# ## How well Llama 2 70B used its devices
#
# The paper gives the tokens and the hours. The peak is that of an A100. So the iron law has one unknown left, and one
# more point of it has a price.

# %%
from ironlaw.economics import rent, worth_of_utilization
from ironlaw.graph import utilization

card, hours = accelerator("a100-80"), 1_720_320
peak, price = card.peak("bf16"), card.rent.dollars
work = total_flops(model("llama2-70b").parameters, tokens=2e12)

reached = work / (hours * 3600 * peak)
answer = utilization(work, hours * 3600, peak)
shown = f"{100 * reached:.0f} %"
check("iron-law", "utilization", shown, reached, answer)

bill = hours * price
shown = f"{float(f'{bill:.2g}'):,.0f} USD"
check("iron-law", "the bill", shown, bill, rent(hours, price))

# The work stays, so a run at one more point takes fewer hours.
saved = bill - bill * reached / (reached + 0.01)
shown = f"{float(f'{saved:.2g}'):,.0f} USD"
answer = worth_of_utilization(bill, reached)
check("iron-law", "a point", shown, saved, answer)

# %% [markdown]
# ## Where attention catches up
#
# The products with weights take $24Th^2$ in a layer, the scores $4T^2h$. They are equal at $T = 6h$. To check it, the
# engine counts a sequence of that length, and half of what it finds in the layers must be scores.

# %%
length = 6 * h
layers = count_operations(network, 1, length, attention="standard").forward
layers -= 2 * length * h * V
scores = L * 4 * length**2 * h
check("iron-law", "equal at", f"{length:,}", scores, layers / 2)

# %% [markdown]
# ## One row
#
# A vector times the first matrix of the MLP reads every weight for one multiplication and one addition. Bytes and
# bandwidth then bound the rate, far below the peak.

# %%
from ironlaw.time import attainable, matmul_intensity

h100 = accelerator("h100-sxm")
flops = 2 * 6400 * 1600
bytes_moved = 2 * (1600 + 6400 * 1600 + 6400)
bound = h100.bandwidth * flops / bytes_moved

intensity = matmul_intensity(1, 6400, 1600)
answer = attainable(intensity, h100.peak("bf16"), h100.bandwidth)
shown = f"{bound / 1e12:.1f} TFLOP/s"
check("operations", "one row", shown, bound, answer)

# %% [markdown]
# ## All of them
#
# If you change a cell above, run this one again. An assertion that fails has found a mistake: yours, or ours. Ours
# are worth telling us about.

# %%
for page, what, shown in found:
    print(f"{page:9} {what:26} {shown}")
print(len(found), "numbers, computed twice")

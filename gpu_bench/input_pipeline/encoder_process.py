"""A process that encodes text when told to: one line in, one line out. It does not import PyTorch, so it starts fast.

First it reads a line with the length of the text, and the text. Then every line is one order: `warm` encodes the text
with all words met before; `cold` with an empty cache of words. It answers with the number of tokens.
"""

from __future__ import annotations

import sys

from gpu_bench.measure.bpe import Encoder, new_encoder


def main() -> int:
    """Obey until standard input ends, which it does when the parent dies."""
    orders = sys.stdin.buffer
    text = orders.read(int(orders.readline())).decode("utf-8", "replace")
    warm = new_encoder()
    cold: list[Encoder] = []
    for order in orders:
        if order == b"prepare\n":
            # Reading the vocabulary is no part of encoding.
            cold.append(new_encoder())
            print(0, flush=True)
        else:
            print(len((cold.pop() if order == b"cold\n" else warm).encode(text)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

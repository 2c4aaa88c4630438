"""What this book counts in: operations, tokens and steps, as dimensions that no byte can be printed in."""

from __future__ import annotations

from explorable.book import Units

UNITS = Units(
    defined="""
        operation = [operation] = FLOP = FLOPs
        token = [token]
        sample = [sample]
        step = [step]
    """,
    offered=(
        *("FLOP", "GFLOP", "TFLOP", "PFLOP", "TFLOP/s", "PFLOP/s", "FLOP/B", "FLOP/token"),
        *("token", "token/s"),
    ),
    typed=(
        r"(?:[kMGTPEZ]i?)?(?:B|bytes?)/FLOP|[kMGTPEZ]?FLOPs?(?:/s|/B|/byte|/token)?|tokens?(?:/s)?"
        r"|parameters|operations|GPUs?"
    ),
    # The size in the name of a model, as in `Llama 2 70B`.
    names=r"\b[A-Z][\w.-]*(?:\s\d[\d.]*)?\s\d[\d.]*[BM]",
)

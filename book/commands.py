"""The commands that measure what this book shows."""


def command(suite: str, case: str = "") -> str:
    """The command that measures a suite, or one of its cases."""
    return f"python -m gpu_bench run --suite {suite}" + (f" --case {case}" if case else "")

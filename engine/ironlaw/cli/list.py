"""`python -m ironlaw list models | gpus | optimizers | precisions | links`: what the options know by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ironlaw.cli.parser import Parser, show
from ironlaw.cli.terminal import Row, UsageError, closest, number, quoted, table


def run(words: Sequence[str]) -> int:
    """List and print."""
    kinds = {"models": _models, "gpus": _gpus, "optimizers": _optimizers, "precisions": _precisions, "links": _links}
    kind = words[0] if words and not words[0].startswith("-") else ""
    parser = Parser("list", __doc__ or "")
    parser.add_switch("--json", "print JSON")
    values = parser.parse(words[1:] if kind else words)
    if kind not in kinds:
        what = f"list {quoted(kind)} is unknown{closest(kind, kinds)}" if kind else "what to list is missing"
        raise UsageError(f"{what}; allowed: {', '.join(kinds)}")
    header, right, rows = kinds[kind]()
    show(values, lambda: [row[0] for row in rows], [table(rows, header, right=right, indent=0)])
    return 0


Listing = tuple[tuple[str, ...], tuple[int, ...], list[Row]]


def _models() -> Listing:
    from ironlaw.models.transformer import list_models, model
    from ironlaw.networks.convnets import resnet50

    def rows() -> Iterator[Row]:
        for name in list_models():
            m = model(name)
            yield name, f"{m.parameters / 1e9:,.3f}", str(m.layers), str(m.hidden), str(m.heads), str(m.max_seq)
        yield "resnet50", f"{resnet50().parameters / 1e9:,.3f}", "-", "-", "-", "-"

    return ("model", "1e9 parameters", "layers", "hidden", "heads", "longest"), (1, 2, 3, 4, 5), [*rows()]


def _gpus() -> Listing:
    from ironlaw.hardware.accelerators import accelerator, list_accelerators

    def rows() -> Iterator[Row]:
        for name in list_accelerators():
            chip = accelerator(name)
            dense = {peak.dtype: peak.flops_per_second for peak in chip.peaks if peak.accumulate == "fp32"}
            best = next((dense[dtype] for dtype in ("bf16", "fp16", "fp32") if dtype in dense), 0.0)
            rates = number(best / 1e12), number(chip.bandwidth / 1e9), f"{chip.tdp:g}"
            yield name, f"{chip.nominal_gb:.3g}", number(chip.memory_bytes / 1e9), *rates, chip.title

    header = ("gpu", "sold as GB", "GB", "16-bit TFLOP/s", "GB/s", "W", "")
    return header, (1, 2, 3, 4, 5), [*rows()]


def _optimizers() -> Listing:
    from ironlaw.config.optimizers import list_optimizers, optimizer

    found = [optimizer(name) for name in list_optimizers()]
    rows: list[Row] = [(one.name, ", ".join(state.name for state in one.states) or "-", one.source) for one in found]
    return ("optimizer", "states", "source"), (), rows


def _precisions() -> Listing:
    from ironlaw.numerics.precision import list_precisions, precision

    found = [precision(name) for name in list_precisions()]
    rows: list[Row] = [
        (
            one.name,
            one.weights.name,
            f"{one.gradients.name} + {one.accumulation.name}" if one.accumulation else one.gradients.name,
            one.master.name if one.master else "-",
            one.states.name,
            one.compute.name,
            one.product_format,
        )
        for one in found
    ]
    return ("precision", "weights", "gradients", "master", "states", "compute", "products"), (), rows


def _links() -> Listing:
    from ironlaw.hardware.links import link, list_links

    found = [link(name) for name in list_links()]
    rows: list[Row] = [
        (one.name, number(one.bandwidth / 1e9), number(one.achievable / 1e9), one.scope, one.title) for one in found
    ]
    return ("link", "GB/s", "reached", "joins", ""), (1, 2), rows

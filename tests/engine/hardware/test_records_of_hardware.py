"""Hardware records: complete, sourced, dense, without duplicates."""

from __future__ import annotations

import tomllib
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest

from ironlaw.core.errors import EngineError
from ironlaw.core.records import DATA, Source, read_record, record_names
from ironlaw.hardware.accelerators import STREAM_EFFICIENCY, Accelerator, accelerator, list_accelerators
from ironlaw.hardware.links import Link, link, list_links
from ironlaw.hardware.storage import Storage, storage

ACCELERATORS = [accelerator(name) for name in list_accelerators()]
LINKS = [link(name) for name in list_links()]
STORAGE = [storage(name) for name in record_names("storage")]
RECORDS: list[Accelerator | Link | Storage] = [*ACCELERATORS, *LINKS, *STORAGE]

# Operations per second relative to fp32-accumulated 16-bit products, dense, by architecture: the vendors' white papers.
# A sparse figure taken by mistake is twice as large.
DENSE_RATIOS = {"tf32": 0.5, "fp8": 2.0, "int8": 2.0, "fp4": 4.0}
GEFORCE_RATIOS = {"tf32": 0.5, "fp8": 2.0, "int8": 4.0}


def every_source() -> list[tuple[str, Source]]:
    found = [(entry.name, source) for entry in RECORDS for source in entry.sources]
    for entry in ACCELERATORS:
        found += [(entry.name, ceiling.source) for ceiling in entry.ceilings]
        found += [(entry.name, sustained.source) for sustained in entry.sustained]
        found += [(entry.name, attention.source) for attention in entry.attentions]
        found += [(entry.name, entry.stream.source)] if entry.stream else []
        found += [(entry.name, price.source) for price in (entry.rent, entry.purchase) if price]
        found += [(entry.name, entry.memory_source)] if entry.memory_source else []
    for wire in LINKS:
        found += [(wire.name, reached.source) for reached in (wire.measured, wire.peers, wire.collective) if reached]
    return found


def test_every_figure_has_an_address_and_a_date_not_in_the_future() -> None:
    assert len(every_source()) > 60
    for name, source in every_source():
        assert source.url.startswith("https://"), name
        assert date.fromisoformat(source.date) <= date.today(), name


def test_titles_are_unique() -> None:
    titles = [entry.title for entry in RECORDS]
    assert len(titles) == len(set(titles))


@pytest.mark.parametrize("kind", ["accelerators", "links", "storage"])
def test_no_two_records_are_copies_of_each_other(kind: str) -> None:
    records = [repr(read_record(kind, name)) for name in record_names(kind)]
    assert len(records) == len(set(records)) > 5


@pytest.mark.parametrize("kind", ["accelerators", "links", "models", "storage"])
def test_records_that_are_parsed_one_by_one_are_those_of_the_whole_file(kind: str) -> None:
    whole = tomllib.loads((Path(DATA) / f"{kind}.toml").read_text("utf-8"))
    assert {name: read_record(kind, name) for name in record_names(kind)} == whole


@pytest.mark.parametrize("chip", ACCELERATORS, ids=lambda chip: chip.name)
def test_no_mode_of_a_chip_is_listed_twice(chip: Accelerator) -> None:
    modes = [(peak.dtype, peak.accumulate) for peak in chip.peaks]
    assert len(modes) == len(set(modes))
    assert len({ceiling.dtype for ceiling in chip.ceilings}) == len(chip.ceilings)


@pytest.mark.parametrize("chip", ACCELERATORS, ids=lambda chip: chip.name)
def test_peaks_have_the_ratios_of_dense_arithmetic(chip: Accelerator) -> None:
    rates = {peak.dtype: peak.flops_per_second for peak in chip.peaks if peak.accumulate in ("fp32", "int32")}
    sixteen_bit = rates.get("bf16", rates.get("fp16"))
    if not chip.title.startswith("NVIDIA") or sixteen_bit is None:
        return
    ratios = GEFORCE_RATIOS if "GeForce" in chip.title else DENSE_RATIOS
    for dtype in ratios.keys() & rates.keys():
        assert rates[dtype] / sixteen_bit == pytest.approx(ratios[dtype], rel=0.01), dtype


@pytest.mark.parametrize("chip", ACCELERATORS, ids=lambda chip: chip.name)
def test_measured_ceilings_lie_below_the_dense_peak_and_not_at_a_sparse_one(chip: Accelerator) -> None:
    # A GeForce card's clock rises above the nominal one of its peaks. In fp32 without tensor cores, half of its units
    # are shared with integers.
    lowest, highest = (0.45, 1.2) if chip.family == "geforce" else (0.5, 1.0)
    for ceiling in chip.ceilings:
        assert lowest < ceiling.flops_per_second / chip.peak(ceiling.dtype) <= highest


@pytest.mark.parametrize("chip", ACCELERATORS, ids=lambda chip: chip.name)
def test_gpus_of_a_data_center_and_geforce_cards_say_their_family(chip: Accelerator) -> None:
    assert (chip.family == "geforce") == ("GeForce" in chip.title)
    assert chip.family in ("", "data-center", "geforce")


def test_a_stream_through_the_memory_reaches_81_to_92_percent_of_its_peak() -> None:
    shares = [entry.stream.bandwidth / entry.bandwidth for entry in ACCELERATORS if entry.stream]
    assert min(shares) > 0.81
    assert max(shares) < 0.92
    assert sum(shares) / len(shares) == pytest.approx(STREAM_EFFICIENCY, abs=0.005)
    assert accelerator("h200").streaming == 4.15e12
    assert accelerator("v100-16").streaming == STREAM_EFFICIENCY * 900e9


def test_fused_attention_is_recorded_by_generation_the_usual_one_first() -> None:
    h100 = accelerator("h100-sxm")
    assert h100.attention == h100.fused_attention("flash-2")
    newer, older = h100.fused_attention("flash-3"), h100.fused_attention("flash-2")
    assert newer is not None
    assert older is not None
    assert newer.forward > older.forward
    assert h100.fused_attention("flash-4") is None


@pytest.mark.parametrize(
    ("name", "dense", "sparse"),
    [("a100-80", 312e12, 624e12), ("h100-sxm", 989.4e12, 1979e12), ("b200", 2250e12, 4500e12)],
)
def test_bf16_peak_is_the_dense_one(name: str, dense: float, sparse: float) -> None:
    assert accelerator(name).peak("bf16") == dense < sparse


@pytest.mark.parametrize("chip", ACCELERATORS, ids=lambda chip: chip.name)
def test_links_of_a_chip_are_on_record_and_fastest_first(chip: Accelerator) -> None:
    rates = [link(name).bandwidth for name in chip.links]
    assert rates == sorted(rates, reverse=True)


def test_published_gemm_ceilings() -> None:
    a100, h100 = accelerator("a100-80").ceiling("bf16"), accelerator("h100-sxm").ceiling("bf16")
    assert a100 is not None
    assert h100 is not None
    assert a100.flops_per_second == 271.2e12
    assert h100.flops_per_second == 794.5e12
    assert accelerator("b200").ceiling("fp16") is None


def test_what_a_chip_keeps_up_on_random_data_is_below_its_best_product() -> None:
    measured = [(chip, entry) for chip in ACCELERATORS for entry in chip.sustained]
    assert len(measured) >= 5
    for chip, entry in measured:
        assert entry.flops_per_second < (1.2 if chip.family == "geforce" else 1) * chip.peak(entry.dtype)
        best = chip.ceiling(entry.dtype)
        if best:
            assert entry.flops_per_second <= best.flops_per_second


def test_fused_attention_is_slower_backward_than_forward() -> None:
    measured = [entry for chip in ACCELERATORS for entry in chip.attentions]
    assert measured
    assert all(entry.backward < entry.forward for entry in measured)


def test_a_source_says_whether_it_was_opened_or_remembered() -> None:
    with pytest.raises(EngineError, match="verified 'maybe' is unknown"):
        Source("https://example.org", "2026-01-01", verified="maybe")


def test_a_link_is_never_faster_than_its_wire() -> None:
    for entry in LINKS:
        assert 0 < entry.achievable <= entry.bandwidth


def test_pcie_doubles_each_generation_and_ethernet_is_an_eighth_of_its_bits() -> None:
    assert link("pcie-5-x16").bandwidth == pytest.approx(2 * link("pcie-4-x16").bandwidth, rel=1e-4)
    assert link("pcie-4-x16").bandwidth == pytest.approx(2 * link("pcie-4-x8").bandwidth, rel=1e-4)
    assert link("ethernet-100").bandwidth == 100e9 / 8


def test_small_random_reads_get_a_small_part_of_a_disk() -> None:
    disk = storage("nvme-3")
    assert disk.read_rate(4096) < 0.05 * disk.sequential
    assert disk.read_rate(2**30) == pytest.approx(disk.sequential, rel=0.01)
    assert disk.read_rate(4096, 8) == pytest.approx(8 * disk.read_rate(4096))
    assert disk.read_rate(4096, 10_000) == disk.random_reads * 4096


def test_fewer_devices_send_larger_pieces_of_the_same_buffer() -> None:
    sweep = link("nvlink-4").collective
    assert sweep is not None
    assert sweep.scaled(2**20, 8) == sweep.rate(2**20)
    assert sweep.scaled(2**20, 4) == sweep.rate(2**21)


def test_cards_that_meet_over_the_host_share_it() -> None:
    bus = link("pcie-5-x16")
    assert bus.peers is not None
    assert bus.peers.bandwidth < bus.achievable / 1.5


def test_small_collectives_reach_a_small_part_of_a_link() -> None:
    sweep = link("nvlink-3").collective
    assert sweep is not None
    for size, rate in zip(sweep.sizes, sweep.rates, strict=True):
        assert sweep.rate(size) == pytest.approx(rate)
    assert sweep.rate(64 * 2**20) < 0.75 * sweep.rate(2**33)
    assert sweep.rate(1024) == pytest.approx(sweep.rates[0] * 1024 / sweep.sizes[0])
    assert sweep.rate(2**40) == sweep.rates[-1]
    assert sweep.rates[10] < sweep.rate(48 * 2**20) < sweep.rates[11]


@pytest.mark.parametrize("entry", [entry for entry in LINKS if entry.collective], ids=lambda entry: entry.name)
def test_measured_collectives_never_take_less_time_for_more_bytes_nor_beat_the_wire(entry: Link) -> None:
    sweep = entry.collective
    assert sweep is not None
    assert len(sweep.sizes) == len(sweep.rates)
    assert sorted(set(sweep.sizes)) == list(sweep.sizes)
    # Between nodes it is a node's devices together.
    assert max(sweep.rates) <= entry.achievable * (sweep.devices if sweep.nodes > 1 else 1) * 1.001
    seconds = [sweep.sizes[0] * 2**i / 8 / sweep.rate(sweep.sizes[0] * 2**i / 8) for i in range(30)]
    # Below a megabyte times are all latency, and measured times scatter by 3 to 11 %.
    assert all(later >= 0.89 * earlier for earlier, later in pairwise(seconds))

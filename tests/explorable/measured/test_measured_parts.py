"""Tables of a case's parts, columns computed from several values, downloads, and how to repeat a row."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from explorable.measured.tables.plot import tick_labels
from explorable.measured.tables.table import readable
from gpu_bench.record.derive import derive
from tests.explorable.measured.made import FULL_GPU, ROOT, Site, document, with_points
from tests.explorable.measured.test_measured_site import rows, text

ADAM, SGD = "gpt2-nano-fp32-adam", "gpt2-nano-fp32-sgd"
SCALING = """
/// measured | scaling
caption: Scaling
rows: points
cases: [scaling-ddp-gpt2]
columns:
  - {label: Step, path: seconds, unit: ms, format: .0f}
  - {label: Throughput, path: rates.tokens_per_s, unit: token/s, format: d}
  - {label: Efficiency, path: rates.tokens_per_s, per: settings.processes, ratio: first, unit: "%", format: .0f}
///
"""
ERROR = """
/// measured | smoke
caption: The engine's error
cases: [gpt2-nano-fp32-adam]
columns:
  - {label: Peak, path: memory.peak, unit: B, format: d}
  - {label: Error, path: predicted.memory.peak, error: memory.peak, unit: "%", format: "+.1f"}
  - {label: Of all, path: memory.held.optimizer_total, ratio: memory.peak, unit: "1", format: .2f}
///
"""


def _scaling(device: str = "nvidia-h200") -> dict[str, Any]:
    return with_points(
        "scaling-ddp-gpt2",
        [
            {"label": "1 process", "seconds": 0.5, "work": {"tokens": 500}, "settings": {"processes": 1}},
            {"label": "4 processes", "seconds": 0.625, "work": {"tokens": 2000}, "settings": {"processes": 4}},
            {"label": "8 processes", "seconds": None, "work": {"tokens": 4000}, "settings": {"processes": 8}},
        ],
        device=device,
    )


def test_the_points_of_a_case_are_rows_with_what_is_computed_from_them(site: Site) -> None:
    site.record(_scaling())
    site.page(SCALING)
    html = site.build()
    assert rows(html) == [
        ["1 process", "500 ± 0", "1000", "100"],
        ["4 processes", "625 ± 0", "3200", "80"],
        ["8 processes out of memory", "—", "—", "—"],
    ]
    assert ">Point</th>" in html


def test_points_of_several_devices_are_told_apart(site: Site) -> None:
    site.record(_scaling())
    site.record(_scaling("nvidia-b200"))
    site.page(SCALING)
    found = rows(site.build())
    assert len(found) == 6
    assert {row[1] for row in found} == {"NVIDIA H200", "NVIDIA B200"}


def test_an_unmeasured_case_with_points_shows_its_own_command(site: Site) -> None:
    site.page(SCALING)
    assert "python -m gpu_bench run --suite scaling --case scaling-ddp-gpt2" in text(site.build())


def test_a_failed_run_has_one_row_that_says_so(site: Site) -> None:
    failed = _scaling() | {"outcome": "oom", "message": "CUDA out of memory", "points": None}
    site.record(failed)
    site.page(SCALING)
    assert rows(site.build()) == [["scaling-ddp-gpt2 out of memory", "—", "—", "—"]]


def test_the_policies_of_a_fit_are_rows(site: Site) -> None:
    from gpu_bench.cases.suites import SUITES

    plan = SUITES["fit"][-1].as_dict()
    policies = [{"policy": name, "predicted_batch": 4} for name in plan["policies"]]
    trials = [
        {"policy": name, "batch": batch, "outcome": "fits", "message": None, "peak": 2**33, "step_s": 0.1}
        if batch < 8
        else {"policy": name, "batch": batch, "outcome": "oom", "message": FULL_GPU, "peak": None, "step_s": None}
        for name in plan["policies"]
        for batch in (4, 6, 8)
    ]
    fit = {"context": 2**29, "policies": policies, "trials": trials}
    made = _scaling() | {"suite": "fit", "case": plan, "points": None, "fit": fit}
    site.record(made)
    site.page(
        f"/// measured | fit\ncaption: Fit\nrows: policies\ncases: [{plan['name']}]\ncolumns:\n"
        '  - {label: Engine, path: predicted_batch, unit: "1", format: d}\n'
        '  - {label: Measured, path: largest_batch, unit: "1", format: d}\n///\n'
    )
    assert rows(site.build()) == [[name, "4", "6"] for name in plan["policies"]]
    size = plan["name"].rpartition("-")[2]
    site.page(
        "/// measured | fit\ncaption: Fit\nrows: policies\ncases: [fit-16gb-*]\ncolumns:\n"
        '  - {label: Engine, path: predicted_batch, unit: "1", format: d}\n///\n'
    )
    found = [row for row in rows(site.build()) if row[1] == "4"]
    assert found == [[f"{size}, {name}", "4"] for name in plan["policies"]], (
        "parts of several cases have the same names"
    )


def test_the_runs_that_are_compared_are_rows(site: Site) -> None:
    file = next((ROOT / "gpu_bench/results/hybrid").glob("hybrid-digits-ci--*.json"))
    made = json.loads(file.read_text("utf-8"))
    site.record(made)
    page = (
        "/// measured | hybrid\ncaption: Runs\nrows: runs\ncases: [{}]\ncolumns:\n"
        '  - {{label: Loss, path: summary.test_loss, unit: "1", format: .5f}}\n///\n'
    )
    site.page(page.format("hybrid-digits-ci"))
    runs = derive(made)["arms"]["runs"]
    assert rows(site.build()) == [[name, f"{run['summary']['test_loss']:.5f}"] for name, run in runs.items()]
    site.page(page.format("hybrid-gpt2"))
    assert 'class="il-not-measured"' in site.build()


def test_errors_and_ratios_are_computed_from_the_record(site: Site) -> None:
    made = document(ADAM)
    peak = made["memory"]["peak"]
    made["predicted"]["memory"]["peak"] = round(peak * 1.1)
    site.record(made)
    site.page(ERROR)
    error = f"+{(round(peak * 1.1) / peak - 1) * 100:.1f}"
    assert rows(site.build()) == [[ADAM, str(peak), error, f"{2 * 13162496 / peak:.2f}"]]


def test_what_was_not_predicted_has_no_error(site: Site) -> None:
    made = document(ADAM)
    made["predicted"]["step_s"] = None
    site.record(made)
    site.page(
        """
/// measured | smoke
caption: Step
columns:
  - {label: Step, path: summary.step_s, unit: s}
  - {label: Error, path: predicted.step_s, error: summary.step_s, unit: "%"}
cases: [gpt2-nano-fp32-adam]
///
"""
    )
    assert rows(site.build())[0][2] == "—"


def test_all_numbers_of_a_suite_can_be_downloaded(site: Site) -> None:
    site.record(document(ADAM))
    site.record(document(SGD, status="oom"))
    site.page(ERROR)
    html = site.build()
    assert 'href="measured/records/smoke.csv"' in html
    published = site.folder / "site/measured/records"
    listed = json.loads((published / "smoke.json").read_text("utf-8"))
    assert [(row["case"], row["status"]) for row in listed] == [(ADAM, "ok"), (SGD, "oom")]
    table = list(csv.DictReader(io.StringIO((published / "smoke.csv").read_text("utf-8"))))
    assert float(table[0]["step_s"]) == listed[0]["step_s"]
    assert table[1]["step_s"] == ""


def test_every_row_says_how_to_measure_it_again(site: Site) -> None:
    site.record(document(ADAM))
    site.page(ERROR)
    html = site.build()
    assert f"python -m gpu_bench run --suite smoke --case {ADAM} --again" in text(html)
    assert 'data-device="nvidia-h200"' in html


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rows: points", "rows: parts", 'rows is "parts". allowed: cases, points, policies, runs'),
        ("cases: [scaling-ddp-gpt2]\n", "", "a table of points needs one case"),
        ("ratio: first", "ratio: first, error: work.tokens", "keep one of them"),
        ('ratio: first, unit: "%", format: .0f', "ratio: first", "is computed and has no 'unit'"),
        ("per: settings.processes", "per: settings.nodes", "no 'nodes' in points.0.settings"),
    ],
)
def test_a_wrong_option_fails_the_strict_build(site: Site, old: str, new: str, message: str) -> None:
    site.record(_scaling())
    assert old in SCALING
    site.page(SCALING.replace(old, new))
    (warning,) = site.defects()
    assert message in warning


def test_a_trained_case_has_no_points(site: Site) -> None:
    site.record(document(ADAM))
    site.page(ERROR.replace("caption:", "rows: points\ncaption:"))
    (warning,) = site.defects()
    assert f"case '{ADAM}' has no points" in warning


def test_a_star_stands_for_every_case_that_fits(site: Site) -> None:
    site.record(document(ADAM))
    site.page(ERROR.replace("[gpt2-nano-fp32-adam]", "['gpt2-nano-fp32-*']"))
    assert [row[0] for row in rows(site.build())] == ["adam", "sgd", "momentum"]


def test_a_star_that_fits_nothing_is_a_defect(site: Site) -> None:
    site.page(ERROR.replace("[gpt2-nano-fp32-adam]", "['gpt3-*']"))
    (warning,) = site.defects()
    assert "suite 'smoke' has no case 'gpt3-*'" in warning


def test_rows_of_several_devices_can_be_filtered_and_one_device_needs_no_filter(site: Site) -> None:
    site.record(_scaling())
    site.page(SCALING)
    html = site.build()
    assert "il-devices" not in html
    assert not (site.folder / "site/assets/measured/devices.js").exists()
    site.record(_scaling("nvidia-b200"))
    html = site.build()
    assert html.count("<il-devices") == 1
    assert html.count('data-device="nvidia-b200" data-device-name="NVIDIA B200"') == 3
    assert (site.folder / "site/assets/measured/devices.js").exists()


PLOTTED = SCALING.replace(
    "rows: points", "rows: points\nplot: {y: Throughput, x: settings.processes, x_label: GPUs, log: true}"
)


def test_a_plot_draws_a_line_for_every_device_in_the_page_s_colors(site: Site) -> None:
    site.record(_scaling())
    site.record(_scaling("nvidia-b200"))
    site.page(PLOTTED)
    html = site.build()
    figure = html.partition('<figure class="il-measured-plot">')[2].partition("</figure>")[0]
    assert 'aria-label="Scaling: Throughput (tokens/s)"' in figure
    assert "GPUs" in text(figure)
    assert {"NVIDIA H200", "NVIDIA B200"} <= {part.strip() for part in text(figure).splitlines()}
    assert "var(--il-compute" in figure
    assert "#00763a;" not in figure.replace("var(--il-compute,#00763a)", "")
    assert "<style" not in figure, "a style sheet inside would hold for the whole page"
    assert site.build() == html, "the same records give the same bytes"


def test_bars_stand_for_rows_without_a_position(site: Site) -> None:
    site.record(_scaling())
    site.page(SCALING.replace("rows: points", "rows: points\nplot: {y: Step}"))
    figure = site.build().partition("<figure")[2].partition("</figure>")[0]
    assert "8 processes" in figure
    assert "Step (ms)" in text(figure)


def test_an_unmeasured_table_has_no_plot(site: Site) -> None:
    site.page(PLOTTED)
    assert "<figure" not in site.build()


@pytest.mark.parametrize(
    ("plot", "message"),
    [
        ("{y: Speed}", "the plot has no column 'Speed'"),
        ("{y: Step, x: settings.processes}", "'x_label' of the plot is missing"),
        ("{y: Step, z: 1}", "plot.z is unknown. allowed: log, x, x_label, y"),
        ("Step", 'plot is "Step". it must be a mapping'),
    ],
)
def test_a_wrong_plot_fails_the_strict_build(site: Site, plot: str, message: str) -> None:
    site.page(SCALING.replace("rows: points", f"rows: points\nplot: {plot}"))
    (warning,) = site.defects()
    assert message in warning


def test_where_a_column_more_does_not_fit_the_device_stands_beside_the_name(site: Site) -> None:
    site.record(document(ADAM))
    site.record(document(ADAM, device="nvidia-b200"))
    column = "  - {label: Peak, path: memory.peak, unit: B, format: d}\n"
    site.page(f"/// measured | smoke\ncaption: Peak\ncolumns:\n{6 * column}cases: [{ADAM}]\n///\n")
    assert [row[0] for row in rows(site.build())] == [f"{ADAM} NVIDIA B200", f"{ADAM} NVIDIA H200"]


def test_named_positions_of_many_bytes_have_binary_prefixes() -> None:
    assert tick_labels([1.0, 2.0, 1024.0]) == ["1", "2", "1,024"]
    assert tick_labels([65536.0, 2.0**20, 2.0**32]) == ["64 Ki", "1 Mi", "4 Gi"]


def test_the_bytes_in_a_name_are_written_as_the_axis_of_a_plot_writes_them() -> None:
    assert readable("copy 4294967296 B") == "copy 4\u00a0GiB"
    assert readable("copy 65536 B, rows of 8") == "copy 64\u00a0KiB, rows of 8"
    assert readable("2 x 512 B") == "2 x 512 B"

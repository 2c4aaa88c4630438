"""The packages of mkdocs.yml: fetched once, by hash; named as foreign where there is no network."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from explorable.live.build.assets import PYODIDE
from explorable.live.build.bundle import LOCK_FILE, distribution_url, lock
from explorable.live.build.packages import collect, elsewhere
from explorable.shared.errors import UnbuildableError
from tests.explorable.live.conftest import Site


def wheel(module: str) -> bytes:
    """The smallest valid wheel."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{module}.py", "")
        archive.writestr(f"{module}-1.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {module}\nVersion: 1\n")
        archive.writestr(
            f"{module}-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{module}-1.dist-info/RECORD", "")
    return buffer.getvalue()


class Host:
    """A host of wheels, and the lock file that names them. `asked` are the paths that were asked for."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[str] = []
        self.lock = folder / "lock.json"
        wheels = folder / "wheels"
        wheels.mkdir()
        entries: dict[str, Any] = {}
        for name, depends in {"upper": ["lower"], "lower": [], "other": []}.items():
            file_name = f"{name}-1-py3-none-any.whl"
            (wheels / file_name).write_bytes(wheel(name))
            entries[name] = {
                "name": name,
                "version": "1",
                "file_name": file_name,
                "sha256": hashlib.sha256(wheel(name)).hexdigest(),
                "imports": [name],
                "depends": depends,
                "install_dir": "site",
                "package_type": "package",
            }
        self.lock.write_text(json.dumps({"info": {}, "packages": entries}))
        host = self

        class Handler(SimpleHTTPRequestHandler):
            def __init__(self, *given: Any) -> None:
                super().__init__(*given, directory=str(wheels))

            def do_GET(self) -> None:
                host.asked.append(self.path)
                super().do_GET()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    one = Host(tmp_path)
    yield one
    one.close()


def test_the_build_fetches_each_wheel_once_with_what_it_depends_on(host: Host, tmp_path: Path) -> None:
    for _ in range(2):
        packages = collect(["upper"], host.lock, host.url, tmp_path / "kept")
        assert [one.name for one in packages] == ["upper", "lower"]
    assert sorted(host.asked) == ["/lower-1-py3-none-any.whl", "/upper-1-py3-none-any.whl"]
    listed = json.loads(lock((), PYODIDE, packages))["packages"]
    for one in packages:
        assert one.wheel is not None
        assert listed[one.name]["sha256"] == hashlib.sha256(one.wheel).hexdigest()
        assert listed[one.name]["file_name"] == one.path
        assert not one.path.startswith("http")
    assert elsewhere(packages) == {}


def test_a_wheel_with_another_hash_stops_the_build(host: Host, tmp_path: Path) -> None:
    host.lock.write_text(host.lock.read_text().replace(hashlib.sha256(wheel("lower")).hexdigest(), "0" * 64))
    with pytest.raises(UnbuildableError, match=r"lower-1.* has the hash .* the lock file says 0000"):
        collect(["upper"], host.lock, host.url, tmp_path / "kept")


def test_without_a_network_the_page_is_told_whom_an_import_would_ask(host: Host, tmp_path: Path) -> None:
    collect(["lower"], host.lock, host.url, tmp_path / "kept")
    host.close()
    packages = collect(["upper", "other", "lower"], host.lock, host.url, tmp_path / "kept")
    name = host.url.removeprefix("http://").rstrip("/")
    asks = {
        wheel: {"packages": [wheel], "hosts": [name], "urls": [f"{host.url}{wheel}-1-py3-none-any.whl"]}
        for wheel in ("upper", "other")
    }
    assert elsewhere(packages) == asks
    listed = json.loads(lock((), PYODIDE, packages))["packages"]
    assert listed["upper"]["file_name"] == f"{host.url}upper-1-py3-none-any.whl"


def test_without_a_network_a_wheel_that_was_changed_on_disk_is_not_used(host: Host, tmp_path: Path) -> None:
    collect(["lower"], host.lock, host.url, tmp_path / "kept")
    host.close()
    [kept] = (tmp_path / "kept").glob("*.whl")
    kept.write_bytes(wheel("elsewhere"))
    # For the first package the host does not answer; for the second it is not asked again.
    packages = collect(["upper", "lower"], host.lock, host.url, tmp_path / "kept")
    assert [one.wheel for one in packages] == [None, None]


def test_an_unknown_name_and_a_missing_lock_file_are_one_line(host: Host, tmp_path: Path) -> None:
    with pytest.raises(UnbuildableError, match="'nunpy' is not in the lock file, which has 3 packages"):
        collect(["nunpy"], host.lock, host.url, tmp_path)
    with pytest.raises(UnbuildableError, match=r"there is no .*none\.json"):
        collect(["upper"], tmp_path / "none.json", host.url, tmp_path)


def test_numpy_pandas_and_matplotlib_are_in_pyodides_own_distribution(host: Host, tmp_path: Path) -> None:
    """What is proved here of the wheels of others: they are named with a hash. Nothing here can fetch them."""
    entries = json.loads((PYODIDE / LOCK_FILE).read_text())["packages"]
    host.close()
    packages = collect(["numpy", "pandas", "matplotlib"], PYODIDE / LOCK_FILE, host.url, tmp_path / "kept")
    asks = elsewhere(packages)
    assert asks["numpy"]["packages"] == ["numpy"]
    assert {"numpy", "pandas", "python-dateutil"} <= set(asks["pandas"]["packages"])
    assert all(one.entry["sha256"] == entries[one.name]["sha256"] for one in packages)
    version = json.loads((PYODIDE / "package.json").read_text())["version"]
    assert distribution_url(PYODIDE) == f"https://cdn.jsdelivr.net/pyodide/v{version}/full/"


def test_a_site_serves_its_own_wheels_from_its_own_lock_file(host: Host, site: Site) -> None:
    site.configure(packages="[upper]", packages_lock=host.lock, packages_url=host.url, cache_dir=site.root / "cache")
    site.write("index.md", "# Home")
    assert site.build(), site.messages
    [listed] = (site.root / "site/assets/live/wheels").glob("pyodide-lock-*.json")
    packages = json.loads(listed.read_text())["packages"]
    for name in ("upper", "lower"):
        served = (listed.parent / packages[name]["file_name"]).read_bytes()
        assert hashlib.sha256(served).hexdigest() == packages[name]["sha256"]
    assert "other" not in packages


SCRIPT = """
const [pyodide, base] = process.argv.slice(2);
const { loadPyodide } = await import(pyodide + "/pyodide.mjs");
const options = { indexURL: pyodide, lockFileURL: base + "lock.json", packageBaseUrl: base, stdout: () => {} };
const python = await loadPyodide(options);
await python.loadPackagesFromImports("import iniconfig", { messageCallback: () => {} });
console.log(python.runPython("import iniconfig; iniconfig.__file__ + ' ' + iniconfig.IniConfig.__name__"));
"""


@pytest.mark.full
def test_a_wheel_of_pypi_is_imported_from_the_sites_own_files(host: Host, tmp_path: Path) -> None:
    """The lock file is the test's own and names a wheel of PyPI, which every machine of this project can reach."""
    wheels = tmp_path / "wheels"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*pip, "--dest", str(wheels), "iniconfig==2.3.1"], check=True, timeout=180)
    [path] = wheels.glob("iniconfig-*.whl")
    entry = {
        "name": "iniconfig",
        "version": "2.3.1",
        "file_name": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "imports": ["iniconfig"],
        "depends": [],
        "install_dir": "site",
        "package_type": "package",
    }
    host.lock.write_text(json.dumps({"packages": {"iniconfig": entry}}))
    packages = collect(["iniconfig"], host.lock, host.url, tmp_path / "kept")
    host.close()

    site = tmp_path / "site"
    for one in packages:
        assert one.wheel is not None
        (site / one.path).parent.mkdir(parents=True)
        (site / one.path).write_bytes(one.wheel)
    (site / "lock.json").write_bytes(lock((), PYODIDE, packages))
    (tmp_path / "run.mjs").write_text(SCRIPT)
    command = ["node", str(tmp_path / "run.mjs"), str(PYODIDE), f"{site}/"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    imported, value = done.stdout.splitlines()[-1].split()
    assert imported.endswith("site-packages/iniconfig/__init__.py")
    assert value == "IniConfig"

"""Build a book of one page whose snippet imports a wheel of its author's, with another wheel that this one needs.

    python -m tests.own_wheels.build FOLDER URL

In FOLDER it leaves `index/`, with the wheels that URL is to serve, and `book/site`. Where nobody answers at URL while
the book is built, the site has no wheel, and its page asks its readers.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

MODULES = {
    "tidal": "from ebb import HALF\n\ndef hours(tides):\n    return tides * 2 * HALF\n",
    "ebb": "HALF = 6.25\n",
}
"""Package and module -> its source."""
DEPENDS = {"tidal": ["ebb"], "ebb": []}
PAGE = """# Tides

```live name="tides"
from tidal import hours

hours(4)
```
"""
CONFIG = """site_name: Tides
theme: {{ name: material, font: false }}
plugins:
  - explorable:
      id: tides
      parts: [live]
      packages: [tidal]
      live: {{ packages_lock: lock.json, packages_url: "{url}" }}
markdown_extensions: [pymdownx.superfences]
"""


def build(folder: Path, url: str) -> Path:
    """Make the wheels and their lock file, and build the book strictly. Returns the folder of its site."""
    book, index = folder / "book", folder / "index"
    for made in (book / "docs", index):
        made.mkdir(parents=True)
    entries = {name: _entry(name, index) for name in MODULES}
    (book / "lock.json").write_text(json.dumps({"packages": entries}), encoding="utf-8")
    (book / "mkdocs.yml").write_text(CONFIG.format(url=url), encoding="utf-8")
    (book / "docs/index.md").write_text(PAGE, encoding="utf-8")
    # The build runs the snippet too. A wheel of pure Python can be imported as it is.
    wheels = os.pathsep.join(map(str, index.iterdir()))
    environment = {**os.environ, "PYTHONPATH": wheels, "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict"], cwd=book, env=environment, check=True)
    return book / "site"


def _entry(name: str, index: Path) -> dict[str, Any]:
    """Write a wheel. Returns what a lock file says of it."""
    wheel = index / f"{name}-1.0-py3-none-any.whl"
    facts = {
        f"{name}.py": MODULES[name],
        f"{name}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{name}-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{name}-1.0.dist-info/RECORD": "",
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in facts.items():
            archive.writestr(path, text)
    return {
        "name": name,
        "version": "1.0",
        "file_name": wheel.name,
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "imports": [name],
        "depends": DEPENDS[name],
        "install_dir": "site",
        "package_type": "package",
    }


if __name__ == "__main__":
    print(build(Path(sys.argv[1]).resolve(), sys.argv[2]))

"""The manifest with which a browser offers to install the site, and its icons.

Every address in it is relative to the manifest itself, so that it holds under any sub-path.
"""

from __future__ import annotations

import json
from pathlib import Path

from book.theme import social
from explorable.finish import put
from explorable.manifest import Manifest
from explorable.shared.cache import cached_file, digest

MANIFEST = "manifest.webmanifest"
SIZES = (192, 512)
"""Pixels of the icons: what browsers ask for before they offer to install."""
_SAFE = 0.55
"""Share of the icon's width that the mark takes, because systems cut icons to a circle or another shape."""


def write(site: Path, manifest: Manifest) -> None:
    """Write the manifest and its icons into a built site."""
    program = "".join(Path(str(one)).read_text(encoding="utf-8") for one in (__file__, social.__file__))
    icons = []
    for pixels in SIZES:
        uri = f"assets/icons/icon-{pixels}.png"
        path = Path(manifest.root, ".cache/social", f"icon-{digest(program)}-{pixels}.png")
        put(site / uri, cached_file(path, lambda pixels=pixels: draw(pixels)))  # type: ignore[misc]
        icons.append({"src": uri, "type": "image/png", "sizes": f"{pixels}x{pixels}", "purpose": "any maskable"})
    about = {
        "name": manifest.name,
        "short_name": manifest.short_name or manifest.name,
        "description": " ".join(manifest.description.split()),
        "lang": "en",
        "start_url": "./",
        "scope": "./",
        "display": "standalone",
        "background_color": social.PAPER,
        "theme_color": social.PAPER,
        "icons": icons,
    }
    (site / MANIFEST).write_text(json.dumps(about, indent=1), encoding="utf-8")


def draw(pixels: int) -> bytes:
    """The site's mark on its paper, as a square PNG."""
    unit = _SAFE * pixels / social.MARK_WIDTH
    corner = (pixels - social.MARK_WIDTH * unit) / 2
    with social.picture(pixels, pixels) as (axes, buffer):
        social.mark(axes, corner, corner, unit)
    return buffer.getvalue()

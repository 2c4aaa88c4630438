"""The policy in a page: hashes for the scripts that stand in it, nothing for data, and only hosts that are named."""

from __future__ import annotations

import re

from plugins.theme.policy import with_policy

PAGE = """<!doctype html><html><head><meta charset="utf-8"><script>let answer = 42</script></head><body>
<script type="application/json">{"not": "run"}</script><script src="x.js" defer></script>
<script>let answer = 42</script>
</body></html>"""
HASH = "'sha256-FLIuX1bfcB4bQH6E9CmNLetGZNRaEsER/J9B8EC9tm4='"
"""printf 'let answer = 42' | openssl dgst -sha256 -binary | base64"""


def directive(html: str, name: str) -> str:
    """The sources of a directive of the page's policy."""
    found = re.search(rf'content="(?:[^"]*; )?{name} ([^;"]*)', html)
    assert found
    return found[1]


def test_a_script_in_the_page_is_allowed_by_its_hash_alone() -> None:
    assert directive(with_policy(PAGE), "script-src") == f"'self' 'wasm-unsafe-eval' {HASH}"


def test_the_policy_stands_before_everything_that_it_governs() -> None:
    html = with_policy(PAGE)
    assert html.index("Content-Security-Policy") < html.index("<script")


def test_other_hosts_are_reached_only_where_packages_lie_there() -> None:
    assert directive(with_policy(PAGE), "connect-src") == "'self' blob:"
    assert directive(with_policy(PAGE, ["cdn.example"]), "connect-src") == "'self' blob: cdn.example"

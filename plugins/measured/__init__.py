"""The MkDocs plugin `measured`: inline numbers and tables whose values come from the engine or from a record.

What an author writes and what it becomes is described in `docs/authoring/`. The parts:

| module | what it does |
|---|---|
| `quantities` | units and number formats, one pint registry |
| `records`, `evidence` | the committed records: checked, read by path, put in words |
| `expressions`, `child`, `computed` | engine expressions: evaluated in a child process, cached |
| `inline`, `options`, `cells`, `table`, `plot`, `markup` | what an author writes, and what it becomes in the page |
| `claims_data`, `claims_accounting` | the claim files: read, checked, their accountings |
| `claims`, `claims_verdict`, `claims_page` | claims: evaluated in one request, judged, on one page |
| `claims_list`, `claims_mentions` | the list with its filter, and the pages that speak of each claim |
| `extension` | the Markdown extension that ties these to a page |
| `plugin`, `config` | the thin MkDocs shell |
"""

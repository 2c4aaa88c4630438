"""The MkDocs plugin `measured`: inline numbers and tables whose values come from the engine or from a record.

What an author writes and what it becomes is described in `docs/authoring/`. The parts:

| module | what it does |
|---|---|
| `quantities` | units and number formats, one pint registry |
| `records` | the committed records, checked against their schema, read by path |
| `expressions`, `child`, `computed` | engine expressions, evaluated in a child process, cached |
| `inline`, `table`, `markup` | what an inline number and a table look like |
| `extension` | the Markdown extension that ties these to a page |
| `plugin`, `config` | the thin MkDocs shell |
"""

"""The schema of a reader's ledger: what every ledger has, with the book's own fields."""

from __future__ import annotations

import json
from pathlib import Path

from explorable.book import Book

CORE = Path(__file__).with_name("web") / "src/ledger/ledger.schema.json"


def schema_text(book: Book) -> str:
    """The JSON Schema of the ledgers of a book, as the site publishes it."""
    schema, own = json.loads(CORE.read_text(encoding="utf-8")), book.ledger_fields()
    schema["title"] = own["title"]
    schema["properties"]["chapter"] = {"const": own["chapter"]}
    schema["$defs"]["decisions"]["properties"] = own["properties"]
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"

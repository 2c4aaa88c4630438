"""The JSON Schema of a record, written by pydantic from the dataclasses in `shape.py`; only at home, where it is there.

`python -m gpu_bench.record.schema` writes `schema.json`, and a test holds the file against what it would write. What
is `readOnly` there follows from the rest: it is computed when a record is read, and a file that states it is refused.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from dataclasses import is_dataclass
from functools import cache
from typing import Any

from gpu_bench.cases.kinds import KINDS
from gpu_bench.record import rules, shape
from gpu_bench.record.store import SCHEMA_FILE

_HEAD = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "record.json",
    "title": "A record of gpu_bench",
}


@cache
def adapter() -> Any:
    """Pydantic's `TypeAdapter` of a record, which reads a text as strictly as `rules.faults` reads plain data."""
    from pydantic import TypeAdapter

    return TypeAdapter(shape.Record)


def bounded(rule: rules.Rule, core: Any) -> Any:
    """Pydantic's description of a value, with the bounds of a rule."""
    if rule.unstated:
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(_refuse, core)
    by_type: dict[str, dict[str, Any]] = {
        "float": {"gt": rule.above, "ge": rule.least, "le": rule.most, "allow_inf_nan": False},
        "int": {"gt": rule.above, "ge": rule.least, "le": rule.most},
        "str": {"pattern": f"^(?:{rule.pattern})$" if rule.pattern else None, "max_length": rule.longest or None},
        "tuple": {"min_length": rule.fewest or None},
        "dict": {"min_length": rule.fewest or None},
    }
    return {**core, **{name: one for name, one in by_type.get(core["type"], {}).items() if one is not None}}


def _refuse(value: Any) -> Any:
    raise ValueError("no record states it")


def annotated(rule: rules.Rule, found: dict[str, Any]) -> dict[str, Any]:
    """What JSON Schema says of a value, with its unit, and whether it is computed when a record is read."""
    return {**found, **({"unit": rule.unit} if rule.unit else {}), **({"readOnly": True} if rule.unstated else {})}


def document() -> dict[str, Any]:
    """The JSON Schema."""
    made: dict[str, Any] = adapter().json_schema()
    for kind in {*(one.case for one in KINDS.values())}:
        for name in [name for name, (_, hint) in rules.hints(kind).items() if not rules.stated(hint)]:
            # Of the plan alone.
            made["$defs"][kind.__name__]["properties"].pop(name)
    named: dict[str, dict[str, Any]] = {"Record": made}
    named |= made["$defs"]
    for name, block in named.items():
        for field, told in _told(name).items():
            if field in block.get("properties", {}):
                block["properties"][field]["description"] = told
    return {**_HEAD, **_tidied(made)}


def _told(name: str) -> dict[str, str]:
    """What the source of a class says beside its fields, or above them."""
    found: dict[str, str] = {}
    for kind in reversed(_classes()[name].__mro__ if name in _classes() else ()):
        above: list[str] = []
        for line in inspect.getsource(kind).splitlines() if is_dataclass(kind) else ():
            if line.startswith("    # "):
                above.append(line[6:])
                continue
            field, beside = re.match(r"    (\w+): ", line), re.search(r"  # (?!type: |fmt: )(.*)", line)
            if field and (above or beside):
                found[field[1]] = " ".join([*above, *([beside[1]] if beside else [])])
            above = []
    return found


@cache
def _classes() -> dict[str, type]:
    made: dict[str, type] = {}
    waiting: list[type] = [shape.Record, *(one.case for one in KINDS.values())]
    while waiting:
        kind = waiting.pop()
        if kind.__name__ not in made:
            made[kind.__name__] = kind
            waiting += [one for _, hint in rules.hints(kind).values() for one in rules.blocks(hint)]
    return made


def _tidied(value: Any) -> Any:
    """Without the titles that pydantic makes from names."""
    if isinstance(value, list):
        return [_tidied(one) for one in value]
    return {name: _tidied(one) for name, one in value.items() if name != "title"} if isinstance(value, dict) else value


if __name__ == "__main__":
    SCHEMA_FILE.write_text(json.dumps(document(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.exit()

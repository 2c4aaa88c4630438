"""Executable snippets and interactive acts.

This module re-exports the vocabulary in which an act is written. It imports nothing outside the standard library,
because it also runs in the reader's browser; the MkDocs side lives in `plugins.live.plugin`.
"""

from plugins.live.runtime.contract import (
    Act,
    Blank,
    Choice,
    ChoiceQuestion,
    Column,
    Context,
    ControlOption,
    Failure,
    Figure,
    NumberQuestion,
    Option,
    Reflection,
    Row,
    State,
    Table,
    Toggle,
    Value,
    Verdict,
    View,
)
from plugins.live.runtime.records import MeasuredRecord, records
from plugins.live.runtime.tables import columns, row

__all__ = [
    "Act",
    "Blank",
    "Choice",
    "ChoiceQuestion",
    "Column",
    "Context",
    "ControlOption",
    "Failure",
    "Figure",
    "MeasuredRecord",
    "NumberQuestion",
    "Option",
    "Reflection",
    "Row",
    "State",
    "Table",
    "Toggle",
    "Value",
    "Verdict",
    "View",
    "columns",
    "records",
    "row",
]

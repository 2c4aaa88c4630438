"""Engine expressions of inline numbers: a small evaluator that knows the unit of every value it touches.

An expression is walked node by node, never handed to Python. Its names are those of the engine's vocabulary and a few
builtins. The unit of a number comes from the annotation of the engine's field, property or function that gave it, and
arithmetic checks dimensions.
"""

from __future__ import annotations

import ast
import functools
import inspect
import operator
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pint

from explorable.measured.errors import MeasuredError
from explorable.measured.values.quantities import describe_unit, powers, quantity, registry, unit_symbol
from explorable.shared.errors import nearest

MOST_BITS = 20_000
"""Of a whole number that a power may give: 10**6000 still has fewer."""


def _power(base: Any, exponent: Any) -> Any:
    """`base ** exponent`. Raises `ArithmeticError` for a whole number that would take hours to compute."""
    bare, times = (getattr(value, "magnitude", value) for value in (base, exponent))
    if isinstance(bare, int) and isinstance(times, int) and bare.bit_length() * abs(times) > MOST_BITS:
        raise ArithmeticError(f"the power has more than {MOST_BITS:,} binary digits")
    return base**exponent


def _product(one: Any, other: Any) -> Any:
    """`one * other`, for numbers alone: a text or a list times a number fills the memory."""
    if any(isinstance(value, str | tuple | list) for value in (one, other)):
        raise TypeError("only numbers are multiplied")
    return one * other


_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _product,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, container: item in container,
    ast.NotIn: lambda item, container: item not in container,
}


def _sum(values: Iterable[Any]) -> Any:
    """The sum of quantities; Python's own starts at a pure 0, which cannot be added to bytes."""
    items = tuple(values)
    return functools.reduce(operator.add, items) if items else 0


_BUILTINS: Mapping[str, Callable[..., Any]] = {
    "sum": _sum,
    "min": min,
    "max": max,
    "round": round,
    "len": len,
    "int": int,
    "float": float,
    "abs": abs,
    "quantity": quantity,
}


@dataclass(frozen=True)
class Tracked:
    """A value on its way through an expression.

    A number with a unit is a pint quantity, a typed number a plain one. `unit` is what a collection's annotation says
    of its items; `origin` is the dotted name of the public thing of the engine that gave the value.
    """

    value: Any
    unit: str | None = None
    origin: str = ""


@dataclass(frozen=True)
class Outcome:
    """A computed number: its value in the engine's own unit, and where it is documented."""

    value: int | float
    unit: str
    origin: str

    @property
    def quantity(self) -> pint.Quantity[Any]:
        """Value and unit."""
        return quantity(self.value, self.unit)

    @property
    def exact(self) -> str:
        """The number with all its digits and the engine's unit."""
        text = f"{self.value:,}" if isinstance(self.value, int) else f"{self.value:,.10g}"
        return text if self.unit == "1" else f"{text} {powers(self.unit)}"


def annotated_unit(hint: Any) -> str | None:
    """The unit in `Annotated[float, "min"]`; None for any other annotation."""
    return next((one for one in getattr(hint, "__metadata__", ()) if isinstance(one, str)), None)


class Evaluator:
    """Evaluates expressions over the vocabulary of one package: the public attributes of a module that are no modules.

    The vocabulary may have `unit_of`, which reads the unit of an annotation; else the unit is the text in
    `Annotated[float, "min"]`. Words and choices that a function passes on are those of the vocabulary's `setup`.
    """

    def __init__(self, vocabulary: types.ModuleType) -> None:
        self.vocabulary = vocabulary
        self.package = vocabulary.__name__.partition(".")[0]
        # `annotations` is the name that an import from `__future__` leaves.
        self.public = frozenset(
            name
            for name, value in vars(vocabulary).items()
            if not name.startswith("_") and not isinstance(value, types.ModuleType | type(annotations))
        )
        self.unit_of: Callable[[Any], str | None] = getattr(vocabulary, "unit_of", annotated_unit)

    def evaluate(self, text: str, *, from_engine: bool = True) -> Outcome:
        """The number that `text` stands for. Raises `MeasuredError` with the fix for anything it cannot be.

        Args:
            text: The expression.
            from_engine: Whether the value must come from the engine. If not, it must be arithmetic on typed numbers.
        """
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except SyntaxError as error:
            raise MeasuredError(f"'{text}' is not an expression: {error.msg}") from error
        result = self._visit(tree.body, {})
        value = result.value
        if from_engine is not bool(result.origin):
            if result.origin:
                raise MeasuredError(f"'{text}' takes something from the library", "write it as 'engine'")
            raise MeasuredError(f"'{text}' takes nothing from the library", "an inline number must be computed by it")
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = quantity(value, "1")
        if not isinstance(value, pint.Quantity):
            members = ", ".join(_public_members(value)) if self._is_engine(value) else ""
            raise MeasuredError(f"'{text}' is {_describe(value)}, not a number", members)
        return Outcome(value.magnitude, unit_symbol(value), result.origin)

    def _visit(self, node: ast.expr, names: Mapping[str, Tracked]) -> Tracked:
        """The value of one node. `names` are the loop variables in scope."""
        match node:
            case ast.Constant(value=str() | int() | float() | None as value):
                return Tracked(value)
            case ast.Name(id=name):
                return names[name] if name in names else self._name(name)
            case ast.Attribute(value=owner, attr=name):
                return self._attribute(self._visit(owner, names), name)
            case ast.Subscript(value=owner, slice=key):
                return self._item(self._visit(owner, names), self._visit(key, names))
            case ast.Call():
                return self._call(node, names)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                a, b = self._visit(left, names), self._visit(right, names)
                return self._arithmetic(node, lambda: _OPERATORS[type(op)](a.value, b.value), a.origin or b.origin)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self._visit(operand, names)
                return self._arithmetic(node, lambda: -inner.value, inner.origin)
            case ast.Compare(left=left, ops=[test], comparators=[right]) if type(test) in _COMPARISONS:
                a, b = self._visit(left, names), self._visit(right, names)
                return self._arithmetic(node, lambda: _COMPARISONS[type(test)](a.value, b.value), a.origin or b.origin)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                visited = [self._visit(item, names) for item in items]
                return Tracked(tuple(item.value for item in visited), None, _first_origin(visited))
            case ast.GeneratorExp(elt=item, generators=[loop]) | ast.ListComp(elt=item, generators=[loop]):
                visited = [self._visit(item, scope) for scope in self._scopes(loop, names)]
                return Tracked(tuple(item.value for item in visited), None, _first_origin(visited))
        raise MeasuredError(f"'{ast.unparse(node)}' is not allowed here", "use names, calls and arithmetic")

    def _name(self, name: str) -> Tracked:
        if name in self.public:
            value = getattr(self.vocabulary, name)
            origin = f"{getattr(value, '__module__', self.vocabulary.__name__)}.{getattr(value, '__qualname__', name)}"
            return self._wrap(value, None, origin)
        if name in _BUILTINS:
            return Tracked(_BUILTINS[name])
        raise MeasuredError(f"the library has no '{name}'", nearest(name, self.public | _BUILTINS.keys()))

    def _attribute(self, owner: Tracked, name: str) -> Tracked:
        if not self._is_engine(owner.value):
            raise MeasuredError(
                f"{_describe(owner.value)} has no '.{name}'", "only the library's own objects have parts"
            )
        if name.startswith("_") or not hasattr(owner.value, name):
            raise MeasuredError(
                f"{_describe(owner.value)} has no '{name}'", nearest(name, _public_members(owner.value))
            )
        kind = type(owner.value)
        definition = inspect.getattr_static(kind, name, None)
        getter = getattr(definition, "fget", None) or getattr(definition, "func", None)
        function = getter or (definition if inspect.isfunction(definition) else None)
        if function is not None:
            return self._wrap(
                getattr(owner.value, name),
                self.unit_of(_hint(function, "return")),
                f"{function.__module__}.{function.__qualname__}",
            )
        hint = next((_hint(base, name) for base in kind.__mro__ if name in inspect.get_annotations(base)), None)
        return self._wrap(getattr(owner.value, name), self.unit_of(hint), f"{kind.__module__}.{kind.__qualname__}")

    def _item(self, owner: Tracked, key: Tracked) -> Tracked:
        if not isinstance(owner.value, Mapping | tuple | list):
            raise MeasuredError(f"{_describe(owner.value)} has no items")
        try:
            return self._wrap(owner.value[key.value], owner.unit, owner.origin)
        except (KeyError, IndexError, TypeError) as error:
            keys = [str(name) for name in owner.value] if isinstance(owner.value, Mapping) else []
            raise MeasuredError(f"no item {key.value!r}", nearest(str(key.value), keys)) from error

    def _call(self, node: ast.Call, names: Mapping[str, Tracked]) -> Tracked:
        function = self._visit(node.func, names)
        if any(isinstance(item, ast.Starred) for item in node.args) or any(item.arg is None for item in node.keywords):
            raise MeasuredError(f"'{ast.unparse(node)}': write the arguments out, without * or **")
        positional = [self._visit(item, names) for item in node.args]
        named = {str(item.arg): self._visit(item.value, names) for item in node.keywords}
        if not callable(function.value):
            raise MeasuredError(f"'{ast.unparse(node.func)}' is {_describe(function.value)}, not a function")
        if function.value in _BUILTINS.values():
            origin = _first_origin([*positional, *named.values()])
            arguments = [self._items(item) for item in positional]
            keywords = {name: item.value for name, item in named.items()}
            return self._arithmetic(node, lambda: function.value(*arguments, **keywords), origin)
        return self._engine_call(ast.unparse(node.func), function, positional, named)

    def _engine_call(
        self, text: str, function: Tracked, positional: list[Tracked], named: dict[str, Tracked]
    ) -> Tracked:
        """Call the engine, with every quantity given in the unit that its parameter is annotated with.

        A function that takes any words and choices passes them to the vocabulary's `setup`.
        """
        signature, annotated = inspect.signature(function.value), _annotated(function.value)
        takes = annotated
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature.parameters.values()):
            takes = getattr(self.vocabulary, "setup", annotated)
            signature = inspect.signature(takes)
        if unknown := sorted(named.keys() - signature.parameters.keys()):
            hint = nearest(unknown[0], signature.parameters)
            raise MeasuredError(f"{text} has no argument '{unknown[0]}'", hint)
        try:
            bound = signature.bind(*positional, **named)
        except TypeError as error:
            raise MeasuredError(f"{text}: {error}") from error
        for name, argument in bound.arguments.items():
            unit = self.unit_of(_hint(takes, name))
            bound.arguments[name] = self._argument(f"{text}: argument '{name}'", argument, unit)
        try:
            value = function.value(*bound.args, **bound.kwargs)
        except Exception as error:
            kind = "" if self._is_engine(error) else f"{type(error).__name__}: "
            raise MeasuredError(f"{text}: {kind}{error}") from error
        return self._wrap(value, self.unit_of(_hint(annotated, "return")), function.origin)

    def _argument(self, where: str, argument: Any, unit: str | None) -> Any:
        """An argument as the engine takes it: a quantity becomes a plain number in the parameter's own unit."""
        if isinstance(argument, tuple | dict):
            raise MeasuredError(f"{where} takes one value")
        value = argument.value
        if not isinstance(value, pint.Quantity):
            return value
        try:
            return value.to(registry().parse_units(unit or "1")).magnitude
        except pint.DimensionalityError as error:
            raise MeasuredError(f"{where} is in '{unit or '1'}' but was given {describe_unit(value)}") from error

    def _arithmetic(self, node: ast.expr, compute: Callable[[], Any], origin: str) -> Tracked:
        try:
            return Tracked(compute(), None, origin)
        except pint.DimensionalityError as error:
            detail = f"{error.units1} and {error.units2}".replace("dimensionless", "a pure number")
            raise MeasuredError(f"'{ast.unparse(node)}' mixes units: {detail or error}") from error
        except (TypeError, ValueError, ArithmeticError) as error:
            raise MeasuredError(f"'{ast.unparse(node)}': {error}") from error

    def _scopes(self, loop: ast.comprehension, names: Mapping[str, Tracked]) -> Iterator[Mapping[str, Tracked]]:
        """The names in scope for every turn of a comprehension whose conditions hold."""
        if not isinstance(loop.target, ast.Name) or loop.is_async:
            raise MeasuredError("a loop in an inline number has one variable: 'x.bytes for x in …'")
        collection = self._visit(loop.iter, names)
        for item in self._items(collection) if isinstance(collection.value, Mapping | tuple | list) else ():
            scope = {**names, loop.target.id: Tracked(item, None, collection.origin)}
            if all(self._visit(condition, scope).value for condition in loop.ifs):
                yield scope

    def _items(self, collection: Tracked) -> Any:
        """A collection with the unit of its annotation on every item; a mapping gives its values."""
        if isinstance(collection.value, Mapping):
            collection = replace(collection, value=tuple(collection.value.values()))
        if isinstance(collection.value, tuple | list):
            return tuple(self._wrap(item, collection.unit, "").value for item in collection.value)
        return collection.value

    def _wrap(self, value: Any, unit: str | None, origin: str) -> Tracked:
        if isinstance(value, int | float) and not isinstance(value, bool):
            try:
                return Tracked(quantity(value, unit or "1"), None, origin)
            except MeasuredError as error:
                what = f"the annotation of {origin}: {error.what}" if origin else error.what
                raise MeasuredError(what, error.fix) from None
        return Tracked(value, unit, origin)

    def _is_engine(self, value: Any) -> bool:
        module = value.__name__ if inspect.ismodule(value) else type(value).__module__
        return module.partition(".")[0] == self.package


def _annotated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Where the annotations of something callable stand: of a class at its `__init__`, of an object at `__call__`."""
    function = inspect.unwrap(function)
    if inspect.isclass(function):
        return function.__init__
    return function if inspect.isroutine(function) else type(function).__call__


def _hint(owner: Any, name: str) -> Any:
    """One annotation of a function or a class, resolved; None where there is none.

    The others are left alone: what only type checkers import cannot be resolved. Such a name is no quantity's.
    """
    annotation = inspect.get_annotations(owner).get(name)
    if annotation is None:
        return None
    alone = types.SimpleNamespace(__annotations__={name: annotation})
    try:
        return typing.get_type_hints(alone, vars(sys.modules[owner.__module__]), include_extras=True)[name]
    except NameError:
        return None


def _first_origin(items: Iterable[Tracked]) -> str:
    return next((item.origin for item in items if item.origin), "")


def _public_members(value: Any) -> list[str]:
    return [name for name in dir(value) if not name.startswith("_")]


def _describe(value: Any) -> str:
    """A value in an author's words: `a Transformer`, `a number`, `the text 'adam'`."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, pint.Quantity | int | float):
        return "a number"
    if isinstance(value, str):
        return f"the text {value!r}"
    if inspect.isroutine(value) or inspect.isclass(value):
        return f"the function {value.__name__}"
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"

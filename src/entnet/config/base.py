"""Common to all configurations: frozen dataclasses whose values are checked.

Impossible values fail when a configuration is built, with the field, what was given and what would be
right. Where the paper's text and its authors' code differ, the field says so, and which is the default.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from entnet.errors import EntNetError


class ConfigError(EntNetError, ValueError):
    """A configuration that cannot be."""


@dataclass(frozen=True)
class Config:
    """Common to all configurations: values are checked, and they go to JSON and back."""

    aliases: ClassVar[Mapping[str, str]] = {}
    """Older names of fields: {old: new}."""
    value_aliases: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    """Older values: {field: {old: new}}."""

    def __post_init__(self) -> None:
        owner: Any = type(self)
        hints = _type_hints(owner)
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            value = _built(value, hints[field.name])
            object.__setattr__(self, field.name, value)
            _check_type(type(self).__name__, field.name, value, hints[field.name])
        self.check()

    def check(self) -> None:
        """Raise ConfigError where values of the right type do not make sense."""

    def require(self, holds: bool, message: str) -> None:
        if not holds:
            raise ConfigError(f"{type(self).__name__}: {message}")

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def at_least(self, bound: int, *names: str) -> None:
        """The values of these fields, where there are any, may not be lower."""
        limit = f"be at least {bound}" if bound else "not be negative"
        for name in names:
            value = getattr(self, name)
            self.require(value is None or value >= bound, f"{name} is {value}, but must {limit}")

    def changed(self, names: Iterable[str]) -> list[str]:
        """Those of these fields that are not at their defaults."""
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        return [name for name in names if getattr(self, name) != defaults[name]]

    @classmethod
    def renamed(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """The same options under today's names: older files and commands use older ones."""
        options: dict[str, Any] = {}
        for given, value in values.items():
            name = cls.aliases.get(given, given)
            if name in options:
                raise ConfigError(f"{cls.__name__}: {name} is given twice, once by an older name")
            known = cls.value_aliases.get(name, {})
            options[name] = known.get(value, value) if isinstance(value, str) else value
        return options

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        values = cls.renamed(values)
        names = {field.name for field in dataclasses.fields(cls)}
        unknown = sorted(set(values) - names)
        if unknown:
            raise ConfigError(
                f"{cls.__name__}: no such field: {', '.join(unknown)} (known: {', '.join(sorted(names))})"
            )
        return cls(**values)

    def replace(self, **changes: Any) -> Self:
        return self.from_dict({**self.to_dict(), **changes})


def _built(value: object, hint: Any) -> object:
    """Lists as tuples, and tables as the configurations that they are meant to be, as files have both."""
    if isinstance(value, Mapping) and isinstance(hint, type) and issubclass(hint, Config):
        return hint.from_dict(value)
    if isinstance(value, list | tuple):
        item = (typing.get_args(hint) or (None,))[0]
        return tuple(_built(each, item) for each in value)
    return value


@functools.cache
def _type_hints(config: type) -> dict[str, Any]:
    """What the fields of a class are; looking it up takes milliseconds, and presets build thousands."""
    return typing.get_type_hints(config)


def _check_type(owner: str, name: str, value: object, hint: Any) -> None:
    allowed = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if any(_fits(value, kind) for kind in allowed):
        return
    choices = [choice for kind in allowed for choice in _choices(kind)]
    raise ConfigError(f"{owner}: {name} is {value!r}, but must be {' or '.join(choices)}")


def _fits(value: object, kind: Any) -> bool:
    """Whether a value is of this type; a whole number is also a float, but a bool is no number."""
    origin = typing.get_origin(kind)
    if kind is Any:
        return True
    if origin is Literal:
        return value in typing.get_args(kind)
    if origin is tuple:
        return isinstance(value, tuple) and all(
            _fits(item, typing.get_args(kind)[0]) for item in value
        )
    if kind in (int, float):
        numbers = (int,) if kind is int else (int, float)
        return isinstance(value, numbers) and not isinstance(value, bool)
    return isinstance(value, origin or kind)


def _choices(kind: Any) -> list[str]:
    """What a message calls this type."""
    origin = typing.get_origin(kind)
    if origin is Literal:
        return [repr(choice) for choice in typing.get_args(kind)]
    if origin is tuple:
        return [f"a list of {' or '.join(_choices(typing.get_args(kind)[0]))}"]
    return [getattr(kind, "__name__", str(kind))]

"""Where a network has code of its own, which compiled code would never call.

Compiled code stands for one class and its parts, method by method. A subclass with a method of its own, a
hook, a part that was replaced or added: then it does not stand for that network, and PyTorch runs it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import chain
from operator import methodcaller

import torch
from torch import nn

from entnet.models.base import StoryModel

_HOOKS = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
)
_TORCHS = ("__call__", "_call_impl", "__getattr__", "__getattribute__")
"""Of the methods that every module has, those through which all others go."""
_HARMLESS = frozenset(
    ("__init__", "from_pretrained", "save_pretrained", "parameter_count", "slot_words")
)
"""Methods that decide nothing that compiled code computes; what ``__init__`` made is looked at itself."""


def is_own_method(module: nn.Module, known: type[nn.Module], name: str) -> bool:
    """Whether a method of a module is the one that ``known`` has."""
    own = inspect.getattr_static(type(module), name, None) is inspect.getattr_static(known, name)
    return own and name not in vars(module)


def own_code(model: StoryModel, known: type[StoryModel]) -> str | None:
    """What a network has that ``known``, of the same settings, has not; None if there is nothing."""
    if not isinstance(model, known):
        return f"it is {_a(type(model))}, not {_a(known)}"
    with torch.device("meta"), torch.random.fork_rng(devices=[]):
        plain = known(model.config, model.vocab)
    if torch.nn.modules.module._has_any_global_hook():  # type: ignore[no-untyped-call]
        return "there are hooks on all modules"
    parts, plain_parts = dict(model.named_modules()), dict(plain.named_modules())
    other = sorted(parts.keys() ^ plain_parts.keys())
    if other:
        return f"its parts are not those of {_a(known)}: {', '.join(other)}"
    reasons = (_difference(name, parts[name], plain_parts[name]) for name in parts)
    return next((reason for reason in reasons if reason is not None), _shared(model))


def _difference(name: str, module: nn.Module, plain: nn.Module) -> str | None:
    known, label = type(plain), name or "the network"
    if not isinstance(module, known):
        return f"{label} is {_a(type(module))}, not {_a(known)}"
    for method in _methods(known):
        if not is_own_method(module, known, method):
            return f"{label} has its own {method}"
    if any(vars(module)[hooks] for hooks in _HOOKS):
        return f"{label} has a hook"
    if _settings(module) != _settings(plain):
        return f"{label} was changed after it was built"
    tensors, wanted = _tensors(module), _tensors(plain)
    if tensors != wanted:
        names = sorted(n for n in tensors.keys() | wanted.keys() if tensors.get(n) != wanted.get(n))
        return f"{label} has other parameters than {_a(known)}: {', '.join(names)}"
    if any(p is not None and p._backward_hooks for p in module._parameters.values()):
        return f"{label} has a hook on a parameter"
    return None


def _methods(known: type[nn.Module]) -> Iterator[str]:
    """The methods and properties of a class and of those that it extends, up to torch's."""
    for owner in known.__mro__[: known.__mro__.index(nn.Module)]:
        for name, value in vars(owner).items():
            is_code = callable(value) or isinstance(value, property)
            if is_code and not isinstance(value, type) and name not in _HARMLESS:
                yield name
    yield from _TORCHS


def _settings(module: nn.Module) -> dict[str, object]:
    """Plain values that a module goes by."""
    plain = (bool, int, float, str)
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, plain) and name not in ("training", "slot_supervision")
    }


def _tensors(module: nn.Module) -> dict[str, tuple[object, ...] | None]:
    """Shape of each parameter, and whether it is trained."""
    return {
        name: None if p is None else (tuple(p.shape), p.requires_grad)
        for name, p in module._parameters.items()
    }


def _shared(model: nn.Module) -> str | None:
    every = [parameter for _, parameter in model.named_parameters(remove_duplicate=False)]
    return "parameters are shared" if len(every) != len({id(p) for p in every}) else None


def _a(known: type) -> str:
    return f"{'an' if known.__name__[0] in 'AEIOU' else 'a'} {known.__name__}"


_values = methodcaller("values")


class Watch:
    """A cheap look, call by call, whether a network got hooks, methods or parts since it was compiled."""

    def __init__(self, model: nn.Module) -> None:
        modules = list(model.modules())
        self.parts = [module._modules for module in modules if module._modules]
        tables = [(vars(m), m._forward_hooks, m._forward_pre_hooks, m._modules) for m in modules]
        self.tables = [table for of_module in tables for table in of_module]
        self.seen = self._look()

    def changed(self) -> bool:
        return self._look() != self.seen

    def _look(self) -> list[object]:
        return [*map(len, self.tables), *chain.from_iterable(map(_values, self.parts))]

"""A device that is not there: its tensors compute as usual, but never with tensors in main memory.

What a GPU would refuse is refused here too. The device goes by torch's name "meta"; its numbers are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

NAME = "meta"


class Elsewhere(torch.Tensor):
    numbers: torch.Tensor

    @staticmethod
    def __new__(cls, real: torch.Tensor) -> Elsewhere:
        made: Elsewhere = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, real.shape, strides=real.stride(), dtype=real.dtype, device=NAME
        )
        made.numbers = real
        return made

    def tolist(self) -> Any:
        """Plain numbers, as a GPU's tensors give them; torch refuses it for made-up ones."""
        return self.numbers.tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return compute(func, args, kwargs or {})


def compute(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Run an operator on the numbers; the result is where its tensors were, or where it was asked for."""
    device = kwargs.get("device")
    tensors = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, torch.Tensor)]
    away = [x for x in tensors if isinstance(x, Elsewhere)]
    name = str(func)
    moves = "_to_copy" in name or "aten.copy_" in name
    if away and not moves and any(not isinstance(x, Elsewhere) and x.dim() for x in tensors):
        raise RuntimeError(f"{func}: some tensors are elsewhere, and some in main memory")
    if device is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    there = bool(away) if device is None else torch.device(device).type == NAME
    real_args, real_kwargs = tree_map(
        lambda x: x.numbers if isinstance(x, Elsewhere) else x, (args, kwargs)
    )
    out = func(*real_args, **real_kwargs)
    if away and name.split(".")[1].endswith("_"):  # in place; lists of tensors give nothing back
        return None if out is None else args[0]
    wrap = (lambda x: Elsewhere(x) if isinstance(x, torch.Tensor) else x) if there else lambda x: x
    return tree_map(wrap, out)


class _Factories(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return compute(func, args, kwargs or {})


@contextmanager
def elsewhere() -> Iterator[str]:
    """The name of the device, while it can be used."""
    before = torch.__future__.get_overwrite_module_params_on_conversion()
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        with _Factories():
            yield NAME
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(before)

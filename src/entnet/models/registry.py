"""From a kind ("entnet", "lstm", …) to its class: the package's own, a plug-in's, or a file's.

The package's models are found by walking ``entnet.models``, so what a name means never depends on what
was imported before. An installed package adds its own through the entry point group ``entnet.models``;
a file of one's own is added by ``load_model_file`` (on the command line: ``--model-file``).
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import logging
import pkgutil
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from entnet.errors import ModelFileError

if TYPE_CHECKING:
    from entnet.models.base import StoryModel

ENTRY_POINTS = "entnet.models"
_log = logging.getLogger("entnet")

_classes: dict[str, type[StoryModel]] = {}
_sources: dict[str, bytes] = {}
"""Modules made from files, by name, with the text that was run."""

AnyModel = TypeVar("AnyModel", bound="type[StoryModel]")


def register(model_class: AnyModel) -> AnyModel:
    """Class decorator: models of this class are found by their configuration's kind."""
    kind = model_class.config_class.kind
    known = _classes.get(kind)
    if known is not None and _name(known) != _name(model_class):
        raise ModelFileError(
            f"{_name(model_class)}: the kind {kind!r} is taken by {_name(known)}; give the class a "
            "config_class of its own, with another kind"
        )
    _classes[kind] = model_class
    return model_class


def model_class(kind: str) -> type[StoryModel]:
    """The class of models of this kind: "entnet", "lstm", "memn2n", …"""
    if kind not in _classes:
        _import_all()
    if kind not in _classes:
        raise ModelFileError(
            f"no model of kind {kind!r}; known kinds: {', '.join(kinds())}. "
            "If a file of your own defines it, pass --model-file FILE"
        )
    return _classes[kind]


def kinds() -> list[str]:
    """Every kind there is: of the package, of plug-ins, and of files loaded so far."""
    _import_all()
    return sorted(_classes)


def load_model_file(path: Path | str) -> list[str]:
    """Run a Python file, and return the kinds of the models that it registers.

    It is code, and runs with all your rights: load only files that you have read.
    """
    path = Path(path)
    try:
        source = path.read_bytes()
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror}") from error
    name = _module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise ModelFileError(f"{path}: not a Python file (its name must end in .py)")
    module = importlib.util.module_from_spec(spec)
    _import_all()  # so that a kind which is taken is refused
    before = dict(_classes)
    sys.modules[name] = module
    _sources[name] = source
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(f"{path}: {type(error).__name__}: {error}") from error
    found = [kind for kind, known in _classes.items() if before.get(kind) is not known]
    if not found:
        raise ModelFileError(f"{path}: registers no model; put @register above the class")
    return found


def require_model_file(path: Path | str) -> None:
    """Run a model file unless it has been, as it is now."""
    if source_of_file(path) is None:
        load_model_file(path)


def source_of_file(path: Path | str) -> bytes | None:
    """The text of this file as it was run by ``load_model_file``, if it was and has not changed since."""
    source = _sources.get(_module_name(Path(path)))
    if source is None or not Path(path).is_file() or Path(path).read_bytes() != source:
        return None
    return source


def _module_name(path: Path) -> str:
    return f"entnet_model_file_{path.stem}"


def source_of(model_class: type[StoryModel]) -> bytes | None:
    """The text of the file that defines this class, if it came from ``load_model_file``."""
    return _sources.get(model_class.__module__)


@functools.cache
def _import_all() -> None:
    package = importlib.import_module("entnet.models")
    for module in pkgutil.walk_packages(package.__path__, "entnet.models."):
        importlib.import_module(module.name)
    for plugin in entry_points(group=ENTRY_POINTS):
        try:
            plugin.load()
        except Exception as error:
            # One broken plug-in must not keep all other models from loading.
            _log.warning(
                "the plug-in %s (%s) cannot be loaded: %s", plugin.name, plugin.value, error
            )


def _name(model_class: type[StoryModel]) -> str:
    return f"{model_class.__module__}.{model_class.__qualname__}"

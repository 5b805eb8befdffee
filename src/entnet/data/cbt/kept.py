"""What was made of a training file, kept beside it for the next time: reading one takes a minute."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from entnet.text import Vocab

Arrays = dict[str, NDArray[Any]]


def kept_beside(
    path: Path, name: str, layout: str, make: Callable[[], tuple[Arrays, Vocab]]
) -> tuple[Arrays, Vocab]:
    """Arrays and vocabulary as ``make`` gives them, from a hidden file if it is of today's ``path``.

    ``layout`` says what else they depend on.
    """
    kept = path.with_name(f".{path.stem}.{name}.npz")
    status = path.stat()
    text = f"{layout} {status.st_size} {status.st_mtime_ns}"
    stamp = hashlib.sha1(text.encode()).hexdigest()
    try:
        with np.load(kept, allow_pickle=False) as found:
            if str(found["stamp"]) == stamp:
                arrays = {key: found[key] for key in found.files if key not in ("stamp", "vocab")}
                return arrays, Vocab(json.loads(str(found["vocab"])))
    except (OSError, KeyError, ValueError, BadZipFile):
        pass
    arrays, vocab = make()
    part = kept.with_suffix(".part.npz")
    everything: Arrays = {"stamp": np.array(stamp), "vocab": np.array(vocab.to_json()), **arrays}
    np.savez(part, allow_pickle=False, **everything)
    part.replace(kept)
    return arrays, vocab

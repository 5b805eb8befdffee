"""Networks on the Hugging Face hub: four files of a repository, none of which holds code.

``user/name`` stands for the newest version of a repository, ``user/name@v2`` for that of a branch, a tag or
a commit. What was once downloaded stays in the hub's cache, and is used where the hub cannot be reached.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entnet.errors import EntNetError, ModelFileError

if TYPE_CHECKING:
    from huggingface_hub import HfApi

NEEDED = ("config.json", "vocab.json", "model.safetensors")
FILES = (*NEEDED, "card.json")
"""All that is ever downloaded."""
MOST_BYTES = 1 << 30
"""More are not downloaded."""

_REPOSITORY = re.compile(r"(?!.*\.\.)[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(@[\w./-]+)?", re.ASCII)


def is_repository(source: Path | str) -> bool:
    """Whether this may name a repository: ``user/name``, where ``user`` is no folder here."""
    if not isinstance(source, str) or not _REPOSITORY.fullmatch(source):
        return False
    return not Path(source.partition("/")[0]).exists()


def name_of(repository: str) -> str:
    """``name`` of ``user/name@v2``."""
    return repository.partition("@")[0].partition("/")[2]


def hub_api(repository: str) -> HfApi:
    """The hub, or the one that HF_ENDPOINT names."""
    try:
        from huggingface_hub import HfApi
    except ImportError as error:
        raise EntNetError(
            f"{repository}: no network of this name is here; to reach those of the Hugging Face hub, "
            "install huggingface_hub: pip install 'entnet[hub]'"
        ) from error
    return HfApi(endpoint=os.environ.get("HF_ENDPOINT"), library_name="entnet")


@cache
def fetch(source: str) -> Path:
    """The directory of a repository's network, downloaded if need be; looked for once in a process."""
    api = hub_api(source)
    import httpx2
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    repository, _, revision = source.partition("@")
    try:
        about = api.model_info(repository, revision=revision or None, files_metadata=True)
        _check(source, {file.rfilename: file.size or 0 for file in about.siblings or ()})
        return _downloaded(repository, revision or None)
    except GatedRepoError as error:
        raise ModelFileError(f"{source}: its owner lets in only those who asked") from error
    except RevisionNotFoundError as error:
        raise ModelFileError(f"{source}: {repository} has no version {revision!r}") from error
    except RepositoryNotFoundError as error:
        raise ModelFileError(
            f"{source}: neither a directory here nor a repository on the hub; "
            "for a private one, log in first: hf auth login"
        ) from error
    except HFValidationError as error:
        raise ModelFileError(f"{source}: no directory here, and {_first_line(error)}") from error
    except (httpx2.HTTPError, OSError, ValueError) as error:  # what is no JSON is a ValueError
        if isinstance(error, HfHubHTTPError) and error.response.status_code < 500:
            raise ModelFileError(f"{source}: the hub refuses: {_first_line(error)}") from error
        return _kept(source, error)


def _check(source: str, sizes: dict[str, int]) -> None:
    missing = [name for name in NEEDED if name not in sizes]
    if missing:
        raise ModelFileError(
            f"{source}: a repository, but not of a network that entnet wrote: it lacks {', '.join(missing)}"
        )
    size = sum(sizes.get(name, 0) for name in FILES)
    if size > MOST_BYTES:
        raise ModelFileError(f"{source}: {size:,} bytes; at most {MOST_BYTES:,} are downloaded")


def _downloaded(repository: str, revision: str | None, **options: Any) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.utils.tqdm import tqdm

    class Silent(tqdm):
        """Networks are too small for a bar."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **{**kwargs, "disable": True})  # type: ignore[no-untyped-call]

    found = snapshot_download(
        repository,
        revision=revision,
        allow_patterns=list(FILES),
        endpoint=os.environ.get("HF_ENDPOINT"),
        cache_dir=os.environ.get("HF_HUB_CACHE"),
        library_name="entnet",
        tqdm_class=Silent,
        **options,
    )
    return Path(found)


def _kept(source: str, error: Exception) -> Path:
    """What was downloaded before, where the hub does not answer."""
    repository, _, revision = source.partition("@")
    try:
        kept = _downloaded(repository, revision or None, local_files_only=True)
    except OSError:
        raise ModelFileError(
            f"{source}: no directory here, and the hub cannot be reached: {_first_line(error)}"
        ) from error
    if not (kept / FILES[0]).is_file():
        raise ModelFileError(f"{source}: the hub cannot be reached: {_first_line(error)}")
    return kept


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)

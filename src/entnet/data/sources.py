"""Where data is found, downloaded and verified.

Data lies under one directory: the one given, else ``$ENTNET_DATA``, else the user's data directory.

    babi/en/qa1_single-supporting-fact_train.txt …    1,000 training questions a task
    babi/en-10k/…                                     10,000 training questions a task
    cbt/data/…                                        the Children's Book Test
    propara/train/… grids.v1.train.json …             ProPara: the leaderboard's tables, and state grids

Files are recognised by checksum (Git's blob id), so data copied from anywhere can be verified.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import resources
from pathlib import Path
from typing import Literal

import platformdirs

from entnet.data.babi import file_name
from entnet.errors import EntNetError

FileState = Literal["ok", "changed", "missing"]


@dataclass(frozen=True)
class Archive:
    """Where an archive is officially had from, and the folder inside it."""

    addresses: tuple[str, ...]
    folder: str
    files: str = "*"
    """What of the data set is in it: a pattern of paths."""


SOURCES: dict[str, tuple[Archive, ...]] = {
    "babi": (
        Archive(
            (
                "https://s3.amazonaws.com/text-datasets/babi_tasks_1-20_v1-2.tar.gz",
                "http://www.thespermwhale.com/jaseweston/babi/tasks_1-20_v1-2.tar.gz",
            ),
            "tasks_1-20_v1-2",
        ),
    ),
    "cbt": (Archive(("http://www.thespermwhale.com/jaseweston/babi/CBTest.tgz",), "CBTest"),),
    "propara": (
        Archive(
            ("https://github.com/allenai/aristo-leaderboard/archive/refs/heads/master.tar.gz",),
            "aristo-leaderboard-master/propara/data",
            "*/*.tsv",
        ),
        Archive(
            ("https://github.com/allenai/propara/archive/refs/heads/master.tar.gz",),
            "propara-master/data/emnlp18",
            "grids.v1.*.json",
        ),
    ),
}


def data_root(directory: Path | str | None = None) -> Path:
    """The data directory."""
    chosen = directory or os.environ.get("ENTNET_DATA")
    return Path(chosen) if chosen else Path(platformdirs.user_data_dir("entnet"))


def checksums(name: str) -> dict[str, str]:
    """Git blob ids of a data set's files, by path below its folder."""
    text = (resources.files("entnet.data") / "checksums.json").read_text(encoding="utf-8")
    known: dict[str, str] = json.loads(text)[name]
    return known


def blob_id(path: Path) -> str:
    """A file's checksum, as Git computes it."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def verify(name: str, directory: Path | str | None = None) -> dict[str, FileState]:
    """The state of every known file of a data set."""
    folder = data_root(directory) / name
    states: dict[str, FileState] = {}
    for path, checksum in checksums(name).items():
        file = folder / path
        if not file.is_file():
            states[path] = "missing"
        else:
            states[path] = "ok" if blob_id(file) == checksum else "changed"
    return states


def find_babi(
    data_set: str, task: int, split: str, directory: Path | str | None = None
) -> Path | None:
    """An official bAbI file, e.g. ("en-10k", 2, "train"), or None if it is not here."""
    path = data_root(directory) / "babi" / data_set / file_name(task, split)
    return path if path.is_file() else None


def require_babi(data_set: str, task: int, split: str, directory: Path | str | None = None) -> Path:
    """An official bAbI file, or an error that says how to get it."""
    path = find_babi(data_set, task, split, directory)
    if path is None:
        raise EntNetError(
            f"{data_set}/{file_name(task, split)} is not under {data_root(directory) / 'babi'}; "
            "`entnet data download babi` fetches it, or set ENTNET_DATA to where it is"
        )
    return path


def download(
    name: str,
    directory: Path | str | None = None,
    address: str | Sequence[str] | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Path:
    """Fetch a data set's archives, resuming where an earlier try stopped, and unpack what is verified.

    ``address`` is another one to fetch the archive from, or one for each archive. ``progress`` is told
    bytes fetched and bytes in all. Returns the data set's folder.
    """
    archives = SOURCES[name]
    given = [address] if isinstance(address, str) else list(address or [])
    if given and len(given) != len(archives):
        raise EntNetError(
            f"{name} is had from {len(archives)} archives: give as many addresses, not {len(given)}"
        )
    root = data_root(directory)
    root.mkdir(parents=True, exist_ok=True)
    for number, archive in enumerate(archives):
        known = _files_in(name, archive)
        if known and all(_is(root / name / path, checksum) for path, checksum in known.items()):
            continue
        part = root / (f".{name}.download" if number == 0 else f".{name}-{number + 1}.download")
        addresses = (given[number],) if given else archive.addresses
        _fetch_any(name, addresses, part, progress or (lambda done, total: None))
        _unpack(part, name, archive, root / name)
        part.unlink()
    return root / name


def _files_in(name: str, archive: Archive) -> dict[str, str]:
    """The known files of a data set that an archive holds, with their checksums."""
    return {path: sum for path, sum in checksums(name).items() if fnmatch(path, archive.files)}


BABILONG = (
    "https://huggingface.co/datasets/RMT-team/babilong/resolve/main/data/{task}/{length}.json"
)


def download_babilong(
    task: str,
    length: str,
    directory: Path | str | None = None,
    address: str = BABILONG,
    progress: Callable[[int, int | None], None] | None = None,
) -> Path:
    """Fetch one file of BABILong, such as ("qa1", "16k"), resuming where an earlier try stopped.

    Its documents are checked as they are read; the benchmark has no checksums. Returns where the file is.
    """
    path = data_root(directory) / "babilong" / task / f"{length}.json"
    if path.is_file():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.download")
    url = address.format(task=task, length=length)
    _fetch_any("babilong", [url], part, progress or (lambda done, total: None))
    part.replace(path)
    return path


def _fetch_any(
    name: str, addresses: Sequence[str], part: Path, progress: Callable[[int, int | None], None]
) -> None:
    """Fetch from the first address that answers."""
    problems = []
    for url in addresses:
        try:
            return _fetch(url, part, progress)
        except (urllib.error.URLError, OSError) as error:
            problems.append(f"{url}: {getattr(error, 'reason', error)}")
    raise EntNetError(
        f"{name} could not be downloaded ({'; '.join(problems)}); the same command resumes"
    )


def _fetch(url: str, part: Path, progress: Callable[[int, int | None], None]) -> None:
    have = part.stat().st_size if part.is_file() else 0
    request = urllib.request.Request(url)
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        response = urllib.request.urlopen(request, timeout=30)
    except urllib.error.HTTPError as error:
        if error.code == 416 and have:  # nothing is left to fetch
            error.close()
            return
        raise
    with response:
        if response.status != 206:  # the server sends everything again
            have = 0
        length = response.headers.get("Content-Length")
        total = have + int(length) if length else None
        with part.open("ab" if have else "wb") as file:
            while block := response.read(1 << 16):
                file.write(block)
                have += len(block)
                progress(have, total)
    if total is not None and have < total:
        raise OSError(f"the connection closed after {have} of {total} bytes")


def _unpack(part: Path, name: str, archive: Archive, folder: Path) -> None:
    """Unpack beside the destination, verify, then move into place: all of it or nothing."""
    known = _files_in(name, archive)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{name}.") as temporary:
        unpacked = Path(temporary)
        try:
            with tarfile.open(part) as tar:
                tar.extractall(unpacked, filter="data")
        except (tarfile.TarError, EOFError, OSError) as error:
            part.unlink()
            raise EntNetError(
                f"the archive of {name} is damaged ({error}) and was deleted; try again"
            ) from error
        top = unpacked / archive.folder
        wrong = [p for p, checksum in known.items() if not _is(top / p, checksum)]
        if wrong:
            part.unlink()
            raise EntNetError(
                f"the archive of {name} is not the official one: {', '.join(wrong[:3])}"
                f"{' …' if len(wrong) > 3 else ''} missing or changed; it was deleted"
            )
        for path in sorted(top.rglob("*")):
            inside = path.relative_to(top)
            if path.is_file() and fnmatch(str(inside), archive.files):
                target = folder / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(path, target)


def _is(path: Path, checksum: str) -> bool:
    return path.is_file() and blob_id(path) == checksum

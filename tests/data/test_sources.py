"""Finding, verifying and downloading data; downloads run against a server on this machine."""

from __future__ import annotations

import io
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from entnet import EntNetError
from entnet.data import sources


class Server(ThreadingHTTPServer):
    """Serves one archive, with ranges, and can drop the connection after some bytes."""

    content = b""
    drop_after: int | None = None
    ignore_ranges = False
    ranges: list[str | None]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.server.ranges.append(wanted)
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        if self.server.ignore_ranges:
            start = 0
        if start >= len(self.server.content):
            self.send_error(416)
            return
        body = self.server.content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: self.server.drop_after])

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Handler)
    server.ranges = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def archive(files: dict[str, bytes], root: str = "tasks_1-20_v1-2/") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(f"{root}{name}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


FILES = {
    "en/one.txt": b"1 A b.\n" * 5000,
    "en/two.txt": bytes(range(256)) * 100,
    "README.txt": b"hi",
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: Server) -> Server:
    """bAbI, with an archive of our own in place of the official one."""
    known = {}
    for name in ("en/one.txt", "en/two.txt"):
        path = tmp_path / "blob"
        path.write_bytes(FILES[name])
        known[name] = sources.blob_id(path)
    monkeypatch.setattr(sources, "checksums", lambda name: known)
    server.content = archive(FILES)
    return server


def url(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}/archive.tar.gz"


def test_blob_id_is_gits(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.write_bytes(b"")
    assert sources.blob_id(path) == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


def test_download_unpacks_and_verifies(small: Server, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    folder = sources.download("babi", tmp_path, url(small), lambda *now: seen.append(now))
    assert {str(p.relative_to(folder)) for p in folder.rglob("*.txt")} == set(FILES)
    assert set(sources.verify("babi", tmp_path).values()) == {"ok"}
    assert seen[-1] == (len(small.content), len(small.content))
    assert [path.name for path in tmp_path.glob(".babi*")] == []


def test_interrupted_download_resumes(small: Server, tmp_path: Path) -> None:
    small.drop_after = 700
    with pytest.raises(EntNetError, match="resumes"):
        sources.download("babi", tmp_path, url(small))
    small.drop_after = None
    sources.download("babi", tmp_path, url(small))
    assert small.ranges == [None, "bytes=700-"]
    assert set(sources.verify("babi", tmp_path).values()) == {"ok"}


def test_complete_download_is_not_fetched_again(small: Server, tmp_path: Path) -> None:
    (tmp_path / ".babi.download").write_bytes(small.content)
    sources.download("babi", tmp_path, url(small))
    assert set(sources.verify("babi", tmp_path).values()) == {"ok"}


def test_server_without_ranges(small: Server, tmp_path: Path) -> None:
    (tmp_path / ".babi.download").write_bytes(small.content[:100])
    small.ignore_ranges = True
    sources.download("babi", tmp_path, url(small))
    assert set(sources.verify("babi", tmp_path).values()) == {"ok"}


def test_damaged_archive_leaves_nothing(small: Server, tmp_path: Path) -> None:
    small.content = b"\x1f\x8b nonsense" * 10
    with pytest.raises(EntNetError, match="damaged"):
        sources.download("babi", tmp_path / "data", url(small))
    assert list((tmp_path / "data").iterdir()) == []


def test_foreign_archive_leaves_nothing(small: Server, tmp_path: Path) -> None:
    small.content = archive({**FILES, "en/one.txt": b"changed"})
    with pytest.raises(EntNetError, match="not the official one: en/one.txt"):
        sources.download("babi", tmp_path / "data", url(small))
    assert list((tmp_path / "data").iterdir()) == []


def test_archive_that_escapes_is_refused(small: Server, tmp_path: Path) -> None:
    small.content = archive({**FILES, "../../escaped.txt": b"x"})
    with pytest.raises(EntNetError, match="damaged"):
        sources.download("babi", tmp_path / "data", url(small))
    assert not (tmp_path / "escaped.txt").exists()


def test_unreachable_server(tmp_path: Path) -> None:
    with pytest.raises(EntNetError, match="could not be downloaded"):
        sources.download("babi", tmp_path, "http://127.0.0.1:9/none.tar.gz")


def test_missing_official_file_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(EntNetError, match="entnet data download babi"):
        sources.require_babi("en", 1, "train", tmp_path)


def test_official_files_are_recognised(official_data: Path) -> None:
    states = sources.verify("babi", official_data)
    missing = [path for path, state in states.items() if state == "missing"]
    assert "changed" not in states.values()
    assert set(missing) <= {"en-10k/qa3_three-supporting-facts_train.txt"}
    found = sources.find_babi("en-10k", 2, "train", official_data)
    assert found is not None
    assert found.is_file()


def test_a_data_set_of_two_archives(
    small: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is verified by itself; what is there already is not fetched again."""
    text, grid = FILES["en/one.txt"], FILES["en/two.txt"]
    (tmp_path / "blob").write_bytes(text)
    first = sources.blob_id(tmp_path / "blob")
    (tmp_path / "blob").write_bytes(grid)
    second = sources.blob_id(tmp_path / "blob")
    known = {"train/answers.tsv": first, "grids.v1.train.json": second}
    monkeypatch.setattr(sources, "checksums", lambda name: known)
    tables, grids = (archive.folder for archive in sources.SOURCES["propara"])
    small.content = archive(
        {
            f"{tables}/train/answers.tsv": text,
            f"{grids}/grids.v1.train.json": grid,
            f"{grids}/parameters.json": b"{}",
        },
        root="",
    )
    with pytest.raises(EntNetError, match="as many addresses"):
        sources.download("propara", tmp_path, url(small))
    with pytest.raises(EntNetError, match="could not be downloaded"):
        sources.download("propara", tmp_path, [url(small), "http://127.0.0.1:9/none"])
    folder = sources.download("propara", tmp_path, [url(small), url(small)])
    assert {str(p.relative_to(folder)) for p in folder.rglob("*.*")} == set(known)
    assert set(sources.verify("propara", tmp_path).values()) == {"ok"}
    asked = len(small.ranges)
    sources.download("propara", tmp_path, [url(small), url(small)])
    assert (asked, len(small.ranges)) == (2, 2)


def test_a_file_of_babilong_is_fetched_by_name_and_resumed(server: Server, tmp_path: Path) -> None:
    server.content = b'[{"input": "Mary ran.", "question": "Where?", "target": "garden"}]' * 4000
    address = f"http://127.0.0.1:{server.server_port}/data/{{task}}/{{length}}.json"
    server.drop_after = 70_000
    with pytest.raises(EntNetError, match="the same command resumes"):
        sources.download_babilong("qa1", "1k", tmp_path, address)
    assert not (tmp_path / "babilong/qa1/1k.json").exists()
    server.drop_after = None
    path = sources.download_babilong("qa1", "1k", tmp_path, address)
    assert path == tmp_path / "babilong/qa1/1k.json"
    assert path.read_bytes() == server.content
    assert server.ranges[-1] is not None
    asked = len(server.ranges)
    assert sources.download_babilong("qa1", "1k", tmp_path, address) == path
    assert len(server.ranges) == asked

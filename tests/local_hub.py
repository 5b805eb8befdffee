"""A Hugging Face hub on this machine: as much of it as huggingface_hub needs for networks."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml

TOKEN = "hf_may_write"


@dataclass
class Repository:
    private: bool = False
    versions: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Files of every commit."""
    branches: dict[str, str] = field(default_factory=dict)

    def commit(self, files: dict[str, bytes], branch: str = "main") -> str:
        name = hashlib.sha1(
            repr((self.versions.keys(), sorted(files.items()))).encode()
        ).hexdigest()
        self.versions[name] = files
        self.branches[branch] = name
        return name


@dataclass
class Hub:
    """What a hub holds, and what it was asked."""

    url: str = ""
    repositories: dict[str, Repository] = field(default_factory=dict)
    large: dict[str, bytes] = field(default_factory=dict)
    """Files sent by themselves (LFS), by their hashes."""
    asked: list[str] = field(default_factory=list)
    broken: bool = False
    """Every request fails."""
    page: bool = False
    """Every request is answered with a page for people, as networks do that want a log-in first."""

    def add(self, name: str, files: dict[str, bytes]) -> str:
        return self.repositories.setdefault(name, Repository()).commit(files)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def _do(self) -> None:
        path = unquote(urlsplit(self.path).path)
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length) if length else self._chunks()
        self.hub.asked.append(f"{self.command} {path}")
        if self.hub.page:
            self._send(200, b"<html>log in</html>", {"content-type": "text/html"})
            return
        if self.hub.broken:
            self._json(503, {"error": "the hub has a bad day"})
            return
        for method, pattern, verb in ROUTES:
            found = re.fullmatch(pattern, path)
            if found and method in (self.command, "ANY"):
                if method in ("POST", "PUT") and not self._may_write(path):
                    self._json(401, {"error": "Invalid credentials"})
                else:
                    verb(self, body, *found.groups())
                return
        self._json(404, {"error": "no such path"}, {"X-Error-Code": "EntryNotFound"})

    do_GET = do_HEAD = do_POST = do_PUT = _do  # noqa: N815 (names that http.server looks for)

    def _chunks(self) -> bytes:
        body = b""
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            while size := int(self.rfile.readline().strip(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        return body

    def _may_write(self, path: str) -> bool:
        signed = path.startswith("/large/")  # as an address with its permission in it
        return signed or self.headers.get("authorization") == f"Bearer {TOKEN}"

    def _json(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        self._send(
            status,
            json.dumps(value).encode(),
            {"content-type": "application/json", **(headers or {})},
        )

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    # Finding.

    def _found(self, name: str, version: str) -> tuple[str, dict[str, bytes]] | None:
        repository = self.hub.repositories.get(name)
        if repository is None or (
            repository.private and self.headers.get("authorization") != f"Bearer {TOKEN}"
        ):
            self._json(401, {"error": "Repository not found"}, {"X-Error-Code": "RepoNotFound"})
            return None
        commit = repository.branches.get(version, version)
        if commit not in repository.versions:
            self._json(404, {"error": "Invalid rev id"}, {"X-Error-Code": "RevisionNotFound"})
            return None
        return commit, repository.versions[commit]

    # Reading.

    def about(self, _: bytes, name: str, version: str = "main") -> None:
        if found := self._found(name, version):
            commit, files = found
            siblings = [{"rfilename": path, "size": len(text)} for path, text in files.items()]
            self._json(200, {"id": name, "modelId": name, "sha": commit, "siblings": siblings})

    def tree(self, _: bytes, name: str, version: str) -> None:
        if found := self._found(name, version):
            self._json(200, [
                {"type": "file", "path": path, "size": len(text), "oid": _blob(text)}
                for path, text in found[1].items()
            ])  # fmt: skip

    def file(self, _: bytes, name: str, version: str, path: str) -> None:
        if found := self._found(name, version):
            commit, files = found
            if path not in files:
                self._json(404, {"error": "Entry not found"}, {"X-Error-Code": "EntryNotFound"})
                return
            self._send(
                200, files[path], {"ETag": f'"{_blob(files[path])}"', "X-Repo-Commit": commit}
            )

    # Writing.

    def create(self, body: bytes) -> None:
        wanted = json.loads(body)
        name = f"{wanted['organization']}/{wanted['name']}"
        status = 409 if name in self.hub.repositories else 200
        if status == 200:
            private = wanted.get("visibility") == "private"
            self.hub.add(name, {})
            self.hub.repositories[name].private = private
        self._json(status, {"url": f"{self.hub.url}/{name}", "error": "exists already"})

    def check_yaml(self, body: bytes) -> None:
        _, front, _ = json.loads(body)["content"].split("---\n", 2)
        assert isinstance(yaml.safe_load(front), dict)
        self._json(200, {"errors": [], "warnings": []})

    def before_upload(self, body: bytes, name: str, version: str) -> None:
        if found := self._found(name, version):
            self._json(200, {"files": [
                {
                    "path": file["path"],
                    "uploadMode": "lfs" if file["path"].endswith(".safetensors") else "regular",
                    "shouldIgnore": False,
                    "oid": _oid(file["path"], found[1][file["path"]])
                    if file["path"] in found[1]
                    else None,
                }
                for file in json.loads(body)["files"]
            ]})  # fmt: skip

    def where_to_put(self, body: bytes, name: str) -> None:
        objects = [
            {**one, "actions": {"upload": {"href": f"{self.hub.url}/large/{one['oid']}"}}}
            for one in json.loads(body)["objects"]
        ]
        self._json(200, {"transfer": "basic", "objects": objects})

    def put(self, body: bytes, oid: str) -> None:
        assert hashlib.sha256(body).hexdigest() == oid
        self.hub.large[oid] = body
        self._json(200, {})

    def commit(self, body: bytes, name: str, version: str) -> None:
        if found := self._found(name, version):
            files = dict(found[1])
            for line in map(json.loads, body.splitlines()):
                value = line["value"]
                if line["key"] == "file":
                    files[value["path"]] = base64.b64decode(value["content"])
                elif line["key"] == "lfsFile":
                    files[value["path"]] = self.hub.large[value["oid"]]
            oid = self.hub.repositories[name].commit(files, version)
            self._json(200, {"commitUrl": f"{self.hub.url}/{name}/commit/{oid}", "commitOid": oid})


def _oid(path: str, text: bytes) -> str:
    return hashlib.sha256(text).hexdigest() if path.endswith(".safetensors") else _blob(text)


def _blob(text: bytes) -> str:
    """git's name for the content of a file."""
    return hashlib.sha1(b"blob %d\0%s" % (len(text), text)).hexdigest()


_NAME, _VERSION = r"([\w.-]+/[\w.-]+)", r"([\w.-]+)"
ROUTES: list[tuple[str, str, Any]] = [
    ("GET", f"/api/models/{_NAME}", _Handler.about),
    ("GET", f"/api/models/{_NAME}/revision/{_VERSION}", _Handler.about),
    ("GET", f"/api/models/{_NAME}/tree/{_VERSION}", _Handler.tree),
    ("GET", f"/{_NAME}/resolve/{_VERSION}/(.+)", _Handler.file),
    ("HEAD", f"/{_NAME}/resolve/{_VERSION}/(.+)", _Handler.file),
    ("POST", "/api/repos/create", _Handler.create),
    ("POST", "/api/validate-yaml", _Handler.check_yaml),
    ("POST", f"/api/models/{_NAME}/preupload/{_VERSION}", _Handler.before_upload),
    ("POST", f"/{_NAME}.git/info/lfs/objects/batch", _Handler.where_to_put),
    ("PUT", r"/large/(\w+)", _Handler.put),
    ("POST", f"/api/models/{_NAME}/commit/{_VERSION}", _Handler.commit),
]


@contextmanager
def open_hub() -> Iterator[Hub]:
    """The hub in a thread, at an address of its own."""
    hub = Hub()
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

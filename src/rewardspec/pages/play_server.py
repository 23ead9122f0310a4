"""The playground's server: for this machine's own browser alone.

It listens on the loopback address, and answers only requests that name it as their host, so that no page of another
site can reach it, not even through a name that resolves here. It serves a fixed set of files and answers three
questions; bodies, formulas, the number of requests at once and the time of each are bounded: the work is done by a
process of its own, which is ended where it takes too long.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any

from rewardspec.pages.front_files import front_file
from rewardspec.pages.play_worker import QUESTIONS, BusyError, TooMuchWorkError, Worker
from rewardspec.pages.playground import first_content
from rewardspec.spec.spec import Spec
from rewardspec.types import Json

MOST_BYTES = 128 * 1024
MOST_WAITING = 8
_SECONDS = 15  # that a browser may take to send a request
_FILES = {
    "/": ("playground.html", "text/html; charset=utf-8"),
    "/playground.js": ("playground.js", "text/javascript; charset=utf-8"),
    "/board.js": ("board.js", "text/javascript; charset=utf-8"),
    "/timeline.js": ("timeline.js", "text/javascript; charset=utf-8"),
    "/style.css": ("style.css", "text/css; charset=utf-8"),
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class PlayServer(ThreadingHTTPServer):
    """The server, listening at once on a port, or for 0 on any that is free; `serve_forever` answers.

    The playground starts with a spec and what else its file has, as `request_of` takes them.
    """

    daemon_threads = True
    request_queue_size = 16

    def __init__(
        self, spec: Spec | None = None, port: int = 0, further: Mapping[str, Json] = MappingProxyType({})
    ) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.first = first_content(spec, further)
        self.files = {path: front_file(name).encode() for path, (name, _) in _FILES.items()}
        self.worker = Worker()
        self.waiting = threading.BoundedSemaphore(MOST_WAITING)
        number = self.server_address[1]
        self.hosts = {f"127.0.0.1:{number}", f"localhost:{number}"}

    @property
    def url(self) -> str:
        """The playground's address."""
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def server_close(self) -> None:
        """Stop listening, and end the process that does the work."""
        super().server_close()
        self.worker.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away is no error of ours."""


class _RefusedError(Exception):
    """A request that is not answered, with the status that says why."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    server: PlayServer
    server_version = "rewardspec"
    sys_version = ""
    timeout = _SECONDS

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_HEAD(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def _answer(self, find: Callable[[], tuple[bytes, str]]) -> None:
        try:
            self._check_origin()
            content, kind = find()
            self._send(HTTPStatus.OK, content, kind)
        except _RefusedError as refusal:
            self._send(refusal.status, str(refusal).encode(), "text/plain; charset=utf-8")

    def _check_origin(self) -> None:
        """Refuse what does not come from the playground's own page, or from the address bar."""
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or hosts[0].strip().lower() not in self.server.hosts:
            raise _RefusedError(HTTPStatus.FORBIDDEN, "This server answers to its own address alone.")
        origin = self.headers.get("Origin")
        if origin is not None and origin.strip().lower() not in {f"http://{host}" for host in self.server.hosts}:
            raise _RefusedError(HTTPStatus.FORBIDDEN, "Requests of other sites are refused.")
        if self.headers.get("Sec-Fetch-Site", "none").strip().lower() not in ("none", "same-origin"):
            raise _RefusedError(HTTPStatus.FORBIDDEN, "Requests of other sites are refused.")

    def _get(self) -> tuple[bytes, str]:
        path = self.path.partition("?")[0]
        if path == "/first":
            return json.dumps(self.server.first).encode(), "application/json"
        if path not in _FILES:
            raise _RefusedError(HTTPStatus.NOT_FOUND, "There is no such page.")
        return self.server.files[path], _FILES[path][1]

    def _post(self) -> tuple[bytes, str]:
        if self.path not in QUESTIONS:
            raise _RefusedError(HTTPStatus.NOT_FOUND, "There is no such question.")
        request = self._body()
        if not self.server.waiting.acquire(blocking=False):
            raise _RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "Too many questions at once. Try again.")
        try:
            found = self.server.worker.ask(self.path, request)
        except BusyError as error:
            raise _RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from None
        except TooMuchWorkError as error:
            raise _RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from None
        finally:
            self.server.waiting.release()
        return json.dumps(found, allow_nan=False).encode(), "application/json"

    def _body(self) -> Json:
        if self.headers.get("Content-Type", "").partition(";")[0].strip().lower() != "application/json":
            raise _RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Questions are asked in JSON.")
        length = self.headers.get("Content-Length", "")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdigit()):
            raise _RefusedError(HTTPStatus.LENGTH_REQUIRED, "A question says how long it is.")
        if len(length) > 9 or int(length) > MOST_BYTES:
            raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"Questions have at most {MOST_BYTES:,} bytes.")
        try:
            content = self.rfile.read(int(length))
        except OSError:
            raise _RefusedError(HTTPStatus.REQUEST_TIMEOUT, "The question did not come.") from None
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "This is not JSON.") from None

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self.close_connection = True
        self.request_version = "HTTP/1.1"  # an answer always has a status, whatever was asked in
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
        self._read_the_rest()

    def _read_the_rest(self) -> None:
        """Take what is still being sent, within reason: else it would not get to see the answer."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(1.0)
            for _ in range(8):
                if not self.connection.recv(MOST_BYTES):
                    break

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """A refusal of the base class, as plain text."""
        self.command = getattr(self, "command", None) or "GET"
        self._send(HTTPStatus(code), (message or HTTPStatus(code).phrase).encode(errors="replace"), "text/plain")

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is told of requests."""

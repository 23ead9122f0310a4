"""Malformed requests to the playground's server: nothing but clean refusals, and no growth.

python -m tests.pages.fuzz_server 10000
"""

from __future__ import annotations

import json
import random
import resource
import socket
import sys
import threading
import time
from collections import Counter

from rewardspec.pages.play_server import MOST_BYTES, PlayServer

JUNK = (b"\x00", b"\xff\xfe", b"%00", b"../", b"\r\n", b"<script>", "√".encode(), b"A" * 300, b"{", b"[" * 400, b'"')
FORMULAS = (
    "G(a -> F b)",
    "(" * 900,
    "!" * 999,
    "F" * 999,
    "a" * 2_000,
    "F[0,99999999999] a",
    "F[0,1000] a & G[3,990] b",
    "X[20000] a & F[0,1990] a",
    "F{9999} a",
    " & ".join(f"F(a{k} & F b{k})" for k in range(40)),
    " U ".join("abcdefgh"),
    "\x00",
    "</script>",
    "G(a -> F[0,5] (b U[2,9] (c U[0,7] d)))",
    "𝔸",
    '"',
    "",
    "0.5 * F[;0.9] a",
)
VALUES = (None, True, -1, 1e308, float("nan"), float("inf"), "", "value", [], {}, "x" * 5_000, 10**400)


def random_request(rng: random.Random, host: bytes) -> bytes:
    """A request, nearly always malformed."""
    kind = rng.randrange(6)
    if kind == 0:  # no HTTP at all
        return bytes(rng.randrange(256) for _ in range(rng.randrange(1, 200))) + rng.choice((b"", b"\r\n\r\n"))
    method = rng.choice((b"GET", b"POST", b"PUT", b"OPTIONS", b"HEAD", b"CONNECT", b"get", b"\x7f", b"POST " * 5))
    path = rng.choice((b"/", b"/compile", b"/toml", b"/automaton", b"/first", b"//", b"/../x", b"*", b"http://x/"))
    path += rng.choice((b"", b"", b"?a=b", rng.choice(JUNK)))
    version = rng.choice((b"HTTP/1.1", b"HTTP/1.0", b"HTTP/9.9", b"HTTP/1.1.1", b"FTP/1.1", b""))
    if kind in (1, 2):  # odd lines and headers
        headers = [b"Host: " + rng.choice((host, b"evil.example", b"127.0.0.1", b"localhost", b""))]
        headers += [rng.choice((b"A: b", b":", b"X" * 70_000, b"Content-Length: -1", b"Content-Length: 99999999999"))]
        headers += [b"Y%d: z" % k for k in range(rng.choice((0, 0, 3, 150)))]
        headers += [b"Origin: " + rng.choice((b"null", b"http://evil.example", b"http://" + host))]
        return b"\r\n".join([b" ".join([method, path, version]), *headers, b"", rng.choice(JUNK)])
    body = _body(rng)
    length = rng.choice((len(body), len(body), len(body), len(body) + 5, 0, MOST_BYTES + 1))
    lines = [
        rng.choice((b"POST /compile", b"POST /compile", b"POST /toml", b"POST /automaton")) + b" HTTP/1.1",
        b"Host: " + host,
        b"Content-Type: " + rng.choice((b"application/json", b"application/json", b"application/json", b"text/plain")),
        b"Content-Length: %d" % length,
    ]
    return b"\r\n".join([*lines, b"", body])


def _body(rng: random.Random) -> bytes:
    kind = rng.randrange(4)
    if kind == 0:
        return rng.choice((b"", b"{", b"[" * 50_000, b"null", b"\xff", b'"' + b"a" * 50_000 + b'"', b"1e999", b"NaN"))
    if kind == 1:
        return json.dumps(rng.choice(FORMULAS)).encode()
    pairs = []
    for _ in range(rng.choice((0, 1, 1, 2, 30))):
        pair = {"formula": rng.choice(FORMULAS), "weight": rng.choice((1, -2, *VALUES))}
        if rng.random() < 0.5:
            pair[rng.choice(("veto", "penalty", "name", "payment", "progress", "formula", "other"))] = rng.choice(
                VALUES
            )
        pairs.append(rng.choice((pair, pair, pair, rng.choice(VALUES))))
    request = {"pairs": rng.choice((pairs, pairs, pairs, rng.choice(VALUES)))}
    if rng.random() < 0.6:
        request[rng.choice(("payment", "penalty", "discount", "semantics"))] = rng.choice(VALUES)
    return json.dumps(request).encode()


def ask(port: int, request: bytes) -> bytes:
    """The answer to one request, whose sender then has no more to say."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            parts = []
            while part := connection.recv(65_536):
                parts.append(part)
        except TimeoutError:
            return b"HTTP/1.1 599 no answer came"
        except OSError:  # it refused before all had come
            return b""
    return b"".join(parts)


def fuzz(count: int, seed: int = 0) -> tuple[Counter[str], list[str], list[int]]:
    """Statuses of the answers, what was wrong, and the process's memory in KiB along the way."""
    rng, statuses, wrong, memory = random.Random(seed), Counter[str](), [], []
    trouble: list[str] = []
    with PlayServer() as server:
        server.handle_error = lambda *_: trouble.append(repr(sys.exc_info()[1]))  # type: ignore[method-assign]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        host = b"127.0.0.1:%d" % port
        for number in range(count):
            request = random_request(rng, host)
            answer = ask(port, request)
            status = answer.split(b" ", 2)[1].decode() if answer.startswith(b"HTTP/1.") else "closed"
            statuses[status] += 1
            if (status.startswith("5") and status not in ("501", "505")) or b"Traceback" in answer:
                wrong.append(f"{status}: {request[:300]!r}")
            if number % 500 == 499 or number == count - 1:
                memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
                if count > 1000:
                    print(f"{number + 1:,} requests, {memory[-1] // 1024} MiB at most", file=sys.stderr, flush=True)
        good = json.dumps({"pairs": [{"formula": "F goal", "weight": 1}]}).encode()
        last = b"POST /compile HTTP/1.1\r\nHost: %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
        if b" 200 " not in ask(port, last % (host, len(good), good)).split(b"\r\n")[0]:
            wrong.append("it no longer answers what is right")
        server.shutdown()
    return statuses, wrong + [text for text in trouble if "Connection" not in text and "BrokenPipe" not in text], memory


def main(count: int) -> int:
    """Print what became of so many requests."""
    began = time.time()
    statuses, wrong, memory = fuzz(count)
    print(f"{count:,} malformed requests in {time.time() - began:.0f} s: ", end="")
    print(", ".join(f"{number:,} × {status}" for status, number in statuses.most_common()))
    early, late = memory[0] // 1024, memory[-1] // 1024
    print(f"unclean answers: {len(wrong)}; peak memory {early} MiB after 500, {late} MiB at the end")
    print(*wrong[:10], sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))

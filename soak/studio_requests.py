"""Mutated prior texts, JSON and HTTP for the studio: each is answered, and it goes on."""

from __future__ import annotations

import inspect
import json
import socket
import threading
from functools import cache
from urllib.parse import urlsplit

import numpy as np

from easee import Equivalences
from easee.errors import EaseeError, PriorError
from easee.studio.prior_text import line_errors
from easee.studio.server import Studio
from easee.studio.tasks import TASKS, check_arguments, perform
from soak import prior_texts
from soak.attack import Attack, Case, Counts, expect

STATUS = range(200, 506)
PIECES = [
    "\r\n",
    "\r\n\r\n",
    ": ",
    "Host: x\r\n",
    "Content-Length: -1\r\n",
    "Origin: null\r\n",
    "/..",
]
GOOD = {"text": "actions: right left up down\nright left ~", "depth": 3, "word": ["up"], "seed": 1}
VALUES: list[object] = [None, True, -1, 0, 2**70, 1e308, "", "\ud800", [], {}, [[]], "os:path", "3"]
NAMES = ["text", "depth", "word", "seed", "confirmed", "env", "progress", "states", "size"]


def draw(rng: np.random.Generator) -> Case:
    """Draw a text, the arguments of a task, or a request."""
    kind = rng.integers(3)
    if kind == 0:
        return {"text": prior_texts.draw(rng).get("text", "actions: a")}
    if kind == 1:
        task = str(rng.choice([*TASKS, "eval"]))
        known = inspect.signature(TASKS[task]).parameters if task in TASKS else ()
        arguments = {name: value for name, value in GOOD.items() if name in known}
        for name in rng.choice(NAMES, rng.integers(0, 3), replace=False).tolist():
            arguments[name] = VALUES[rng.integers(len(VALUES))]
        return {"task": task, "arguments": arguments}
    body = json.dumps({"text": "actions: a b\na b ~ b a"})
    text = "POST /TOKEN/api/parse HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n"
    text += f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
    for _ in range(int(rng.integers(0, 5))):
        a = int(rng.integers(len(text)))
        piece = PIECES[rng.integers(len(PIECES))] if rng.random() < 0.5 else chr(rng.integers(256))
        text = text[:a] + piece + text[a + int(rng.integers(0, 9)) :]
    return {"request": text}


def check(case: Case) -> Counts:
    """Try a case."""
    if "text" in case:
        return _check_text(case["text"])
    if "task" in case:
        return _check_task(case["task"], case["arguments"])
    return _check_request(case["request"])


def _check_text(text: str) -> Counts:
    """Compare the errors of the lines with the parser's."""
    errors = line_errors(text)
    try:
        Equivalences.parse(text)
    except PriorError as error:
        expect(bool(errors), "a wrong text has no errors")
        first = errors[0]
        too_long = "the studio takes at most" in first.message  # found before everything else
        expect(
            too_long or error.line in (0, first.line),
            f"the first error is not in line {error.line}",
        )
    lines = text.count("\n") + 1
    expect(all(1 <= e.line <= lines for e in errors), "an error is outside of the text")
    expect(len({e.line for e in errors}) == len(errors), "a line has two errors")
    return {"texts": 1}


def _check_task(kind: str, arguments: dict[str, object]) -> Counts:
    """Call a task with any arguments: it returns JSON, or raises an error of the library."""
    try:
        check_arguments(kind, arguments)
        json.dumps(perform(kind, arguments, lambda done, expected: None), allow_nan=False)
    except EaseeError:
        return {"tasks rejected": 1}
    return {"tasks done": 1}


def _check_request(text: str) -> Counts:
    """Send any bytes: the answer has a status, or the connection is closed; then send good ones."""
    status = _answer(text)
    expect(status is None or status in STATUS, f"the status is {status}")
    good = "GET /TOKEN/api/start HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n"
    expect(_answer(good) == 200, "after this request, the studio does not answer")
    return {"requests": 1}


def _answer(text: str) -> int | None:
    studio = _studio()
    address = urlsplit(studio.url)
    filled = text.replace("TOKEN", studio.guard.token).replace("HOST", address.netloc)
    with socket.create_connection(("127.0.0.1", address.port or 0), timeout=20) as connection:
        connection.sendall(filled.encode("latin-1"))
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while b"\r\n" not in answer and (more := connection.recv(4096)):
            answer += more
    parts = answer.split(b" ", 2)
    return int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else None


@cache
def _studio() -> Studio:
    """Return a studio that runs until this process ends."""
    studio = Studio(port=0)
    threading.Thread(target=studio.serve_forever, daemon=True).start()
    return studio


ATTACK = Attack(
    name="studio",
    title="mutated texts, arguments and requests for the studio, which answers and goes on",
    draw=draw,
    check=check,
    share=0.5,
)

"""The answers of the studio: the page's files, and JSON for what the page asks."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from easee import __version__, priors
from easee.errors import ArgumentError, EaseeError
from easee.studio import limits
from easee.studio.export import python_lines
from easee.studio.jobs import Job, Jobs, TooManyJobsError
from easee.studio.prior_text import line_errors, read_prior
from easee.studio.tasks import check_arguments

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
MOST_WAIT = 2.0  # seconds that a request may wait for the end of a job
STATIC = {
    file.name: file.read_bytes()
    for file in files("easee.studio").joinpath("static").iterdir()
    if file.name.endswith(tuple(TYPES))
}

Json = dict[str, Any]


@dataclass(frozen=True)
class Response:
    """Status, type and body of an answer."""

    status: int
    kind: str
    body: bytes


class Api:
    """Answers requests; paths come without the token."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        self._posts: dict[str, Callable[[Json], Json | str]] = {
            "parse": self._parse,
            "jobs": self._start,
            "python": self._python,
        }

    def get(self, path: str) -> Response:
        """Answer a GET request."""
        if not path.startswith("api/"):
            return _file(path or "index.html")
        if path == "api/start":
            return _json(start_values())
        if path == "api/jobs":
            return _json({"jobs": [job.summary() for job in self.jobs.all()]})
        number = path.removeprefix("api/jobs/")
        if not number.isdecimal():
            return error(404, f"there is no {path!r}")
        return self._guarded(lambda: _with_result(self.jobs.get(int(number))))

    def post(self, path: str, body: bytes) -> Response:
        """Answer a POST request with a JSON object."""
        number, _, last = path.removeprefix("api/jobs/").partition("/")
        if number.isdecimal() and last == "stop":
            return self._guarded(lambda: self.jobs.stop(int(number)).summary())
        handle = self._posts.get(path.removeprefix("api/"))
        if handle is None:
            return error(404, f"there is no {path!r}")
        try:
            content = json.loads(body)
        except (ValueError, RecursionError):
            return error(400, "expected JSON")
        if not isinstance(content, dict):
            return error(400, f"expected a JSON object, found {type(content).__name__}")
        return self._guarded(lambda: handle(content))

    def _guarded(self, answer: Callable[[], Json | str]) -> Response:
        try:
            return _json(answer())
        except TooManyJobsError as refused:
            return error(429, str(refused))
        except EaseeError as wrong:
            return error(400, str(wrong))
        except Exception as bug:  # the server goes on, and the page says what happened
            return error(500, f"this is an error of the studio: {type(bug).__name__}: {bug}")

    def _parse(self, content: Json) -> Json:
        """Return the actions and the number of relations of a prior, or its errors."""
        text = content.get("text")
        errors = line_errors(text)
        if errors:
            return {"errors": [{"line": e.line, "message": e.message} for e in errors]}
        omega = read_prior(text)
        return {"errors": [], "actions": list(omega.actions), "relations": len(omega)}

    def _python(self, content: Json) -> Json:
        omega = read_prior(content.get("text"))
        return {"text": python_lines(omega, limits.checked_depth(content.get("depth")))}

    def _start(self, content: Json) -> str:
        """Start a job; a short one has its result in the answer."""
        arguments = content.get("arguments", {})
        if not isinstance(arguments, dict):
            raise ArgumentError(f"expected arguments as an object, found {arguments!r}")
        job = self.jobs.start(check_arguments(content.get("kind"), arguments), arguments)
        seconds = content.get("wait", 0.0)
        if isinstance(seconds, int | float) and seconds > 0:
            job.ended.wait(min(seconds, MOST_WAIT))
        return _with_result(job)


def start_values() -> Json:
    """Return what the page needs first: version, limits and the ready-made priors."""
    return {
        "version": __version__,
        "limits": {
            "depth": limits.MAX_DEPTH,
            "nodes": limits.MAX_NODES,
            "confirm": limits.CONFIRM_NODES,
            "drawn": limits.DRAWN_NODES,
            "body": limits.MAX_BODY,
        },
        "priors": [
            {"name": name, "description": priors.describe(name), "text": str(priors.get(name))}
            for name in priors.names()
        ],
    }


def _with_result(job: Job) -> str:
    """Return a job with its result, which is JSON already."""
    summary = json.dumps(job.summary())
    return f'{summary[:-1]}, "result": {job.result or "null"}}}'


def _file(name: str) -> Response:
    if name not in STATIC:
        return error(404, f"there is no {name!r}")
    return Response(200, TYPES[name[name.rindex(".") :]], STATIC[name])


def _json(content: Json | str, status: int = 200) -> Response:
    text = content if isinstance(content, str) else json.dumps(content, allow_nan=False)
    return Response(status, "application/json", text.encode())


def error(status: int, message: str) -> Response:
    """Return an answer that says what is wrong."""
    return _json({"error": message}, status)

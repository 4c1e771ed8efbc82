import json
import time
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from easee.studio.server import running


class Client:
    """A client that sends what it is told to, with good headers by default."""

    def __init__(self, studio):
        self.studio = studio
        self.parts = urlsplit(studio.url)

    def request(self, path, content=None, *, method=None, token=True, headers=()):
        body = content if isinstance(content, bytes | None) else json.dumps(content).encode()
        connection = HTTPConnection(self.parts.hostname, self.parts.port, timeout=30)
        known = {"Content-Type": "application/json"} if body is not None else {}
        full = f"{self.parts.path}{path}" if token else f"/{path}"
        default = "GET" if body is None else "POST"
        connection.request(method or default, full, body, {**known, **dict(headers)})
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        return response, answer

    def json(self, path, content=None, **options):
        response, answer = self.request(path, content, **options)
        return response.status, json.loads(answer)

    def start(self, kind, **arguments):
        status, job = self.json("api/jobs", {"kind": kind, "arguments": arguments})
        assert status == 200, job
        return job

    def finish(self, job, seconds=60):
        until = time.monotonic() + seconds
        while job["state"] == "running":
            assert time.monotonic() < until, job
            time.sleep(0.03)
            _, job = self.json(f"api/jobs/{job['id']}")
        return job

    def run(self, kind, **arguments):
        return self.finish(self.start(kind, **arguments))


@pytest.fixture(scope="module")
def studio():
    with running(modules=["tests.studio.failing_envs"]) as server:
        server.jobs.warm_up()
        yield server


@pytest.fixture
def client(studio):
    return Client(studio)

import json
import socket

import pytest

import easee
from easee.errors import ArgumentError
from easee.studio.limits import MAX_BODY
from easee.studio.security import Guard
from easee.studio.server import Studio

ROTATION = str(easee.priors.get("rotation-grid"))


def test_the_page_loads_nothing_from_elsewhere(client):
    response, page = client.request("")
    assert response.status == 200 and b"EASEE studio" in page
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src 'self';" in policy
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    for name in ("studio.css", "main.js", "graph.js", "icon.svg"):
        response, content = client.request(name)
        assert response.status == 200
        assert b"http" not in content.replace(b"http://www.w3.org/2000/svg", b"")


@pytest.mark.parametrize("path", ["", "main.js", "api/start", "api/jobs"])
def test_requests_without_the_secret_are_refused(client, path):
    for start in ("", "wrong/", client.studio.guard.token[:-1] + "/"):
        status, answer = client.json(start + path, token=False)
        assert status == 403 and "lacks the secret" in answer["error"]
    status, _ = client.json("wrong/api/parse", {"text": ""}, token=False)
    assert status == 403


@pytest.mark.parametrize(
    "host", ["example.com", "example.com:{port}", "127.0.0.1:1", "127.0.0.1", ""]
)
def test_foreign_hosts_are_refused(client, host):
    host = host.format(port=client.parts.port)
    status, answer = client.json("api/start", headers={"Host": host})
    assert status == 403 and "does not answer to the host" in answer["error"]


@pytest.mark.parametrize(
    "origin", ["http://example.com", "https://127.0.0.1:{port}", "null", "http://127.0.0.1:1"]
)
def test_foreign_origins_are_refused(client, origin):
    headers = {"Origin": origin.format(port=client.parts.port)}
    status, answer = client.json("api/parse", {"text": ROTATION}, headers=headers)
    assert status == 403 and "does not answer to pages of" in answer["error"]


def test_own_hosts_and_origins_are_accepted(client):
    for name in ("127.0.0.1", "localhost"):
        address = f"{name}:{client.parts.port}"
        headers = {"Host": address, "Origin": f"http://{address}"}
        assert client.json("api/parse", {"text": ROTATION}, headers=headers)[0] == 200


def test_on_other_interfaces_addresses_are_accepted_and_names_are_not():
    guard = Guard("0.0.0.0", 8000)
    assert guard.refusal("192.168.1.7:8000", "http://192.168.1.7:8000") is None
    assert guard.refusal("studio.example.com:8000", None)
    named = Guard("studio.local", 8000)
    assert named.refusal("Studio.local:8000", None) is None
    assert "[::1]:8000" in Guard("::1", 8000).url


def test_two_studios_have_different_secrets():
    tokens = {Guard("127.0.0.1", 1).token for _ in range(10)}
    assert len(tokens) == 10 and min(map(len, tokens)) >= 32


@pytest.mark.parametrize(
    "path", ["nothing.js", "../server.py", "..%2fserver.py", "api/nothing", "api/jobs/x", "static/"]
)
def test_unknown_paths_are_not_found(client, path):
    status, answer = client.json(path)
    assert status == 404 and "there is no" in answer["error"]


def test_bad_bodies_are_refused_and_the_server_goes_on(client):
    assert client.json("api/parse", b"{")[0] == 400
    assert client.json("api/parse", b"[" * 100_000)[0] == 400
    assert client.json("api/parse", [1])[1]["error"] == "expected a JSON object, found list"
    assert client.json("api/nothing", {})[0] == 404
    status, answer = client.json("api/parse", b"{}", headers={"Content-Type": "text/plain"})
    assert status == 415
    status, answer = client.json("api/parse", {"text": "x" * (MAX_BODY + 1)})
    assert status == 413 and "at most 1,000,000 bytes" in answer["error"]
    assert client.json("api/parse", {})[0] == 400
    assert client.json("api/parse", {"text": ROTATION})[0] == 200


def test_a_body_without_a_length_is_refused(client):
    head = f"POST {client.parts.path}api/parse HTTP/1.1\r\nHost: {client.parts.netloc}\r\n\r\n"
    with socket.create_connection((client.parts.hostname, client.parts.port)) as connection:
        connection.sendall(head.encode())
        assert b" 411 " in connection.recv(1000)


def test_the_start_values_are_the_library_s(client):
    status, start = client.json("api/start")
    assert status == 200 and start["version"] == easee.__version__
    assert [prior["name"] for prior in start["priors"]] == easee.priors.names()


def test_parsing_returns_actions_or_errors(client):
    _, good = client.json("api/parse", {"text": ROTATION})
    assert good == {"errors": [], "actions": ["forward", "left", "right"], "relations": 3}
    _, wrong = client.json("api/parse", {"text": ROTATION + "\nlfet ~"})
    assert [error["line"] for error in wrong["errors"]] == [5]


def test_python_lines_come_at_once(client):
    assert "depth=7" in client.json("api/python", {"text": ROTATION, "depth": 7})[1]["text"]
    status, answer = client.json("api/python", {"text": ROTATION, "depth": 700})
    assert status == 400 and "at most 100" in answer["error"]


def test_a_port_in_use_is_explained(client):
    with pytest.raises(ArgumentError, match=f"port {client.parts.port} is in use: choose another"):
        Studio(port=client.parts.port)
    with pytest.raises(ArgumentError, match="cannot listen at 192.0.2.1"):
        Studio("192.0.2.1", 0)
    with pytest.raises(ArgumentError, match="port 99999"):
        Studio(port=99999)


def test_answers_are_strict_json(client):
    _, raw = client.request("api/jobs")
    json.loads(raw, parse_constant=lambda name: pytest.fail(name))

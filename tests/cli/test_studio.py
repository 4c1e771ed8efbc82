import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest
from typer.testing import CliRunner

from easee.cli import app
from easee.studio.server import Studio


@pytest.fixture
def run(monkeypatch):
    """Run the command until it would wait for requests; return what it prints."""
    opened: list[str] = []

    def open_page(url):
        opened.append(url)
        return True

    def interrupt(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(Studio, "serve_forever", interrupt)
    monkeypatch.setattr("easee.studio.jobs.Jobs.warm_up", lambda self: None)
    monkeypatch.setattr("webbrowser.open", open_page)
    handler = signal.getsignal(signal.SIGTERM)

    def run(*options):
        result = CliRunner().invoke(app, ["studio", *options])
        return result, opened

    yield run
    signal.signal(signal.SIGTERM, handler)


def test_the_address_is_printed_and_opened(run, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    result, opened = run("--port", "0")
    assert result.exit_code == 0
    (url,) = opened
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", url)
    assert f"the studio is at {url}" in result.output and "the studio has ended" in result.output


def test_without_a_browser_the_address_is_enough(run, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    result, opened = run("--port", "0")
    assert result.exit_code == 0 and opened == []
    assert "open this address yourself" in result.output
    result, _ = run("--port", "0", "--no-browser")
    assert "yourself" not in result.output


def test_other_interfaces_are_warned_of(run):
    result, _ = run("--host", "0.0.0.0", "--port", "0", "--no-browser")
    assert result.exit_code == 0 and "warning: the studio listens at 0.0.0.0" in result.output
    assert "warning" not in run("--port", "0", "--no-browser")[0].output


def test_a_port_in_use_is_an_error_with_a_way_out(run):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        result, _ = run("--port", port, "--no-browser")
    assert result.exit_code == 1
    assert f"port {port} is in use: choose another with --port" in result.output


@pytest.mark.slow
def test_the_command_serves_until_it_is_ended():
    command = [sys.executable, "-m", "easee.cli", "studio", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().split()[-1]
            with urllib.request.urlopen(url, timeout=30) as page:
                assert b"EASEE studio" in page.read()
        finally:
            process.terminate()
        assert "the studio has ended" in process.stdout.read()
    assert process.returncode == 0

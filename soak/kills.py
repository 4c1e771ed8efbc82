"""Kills of `easee run` at random moments: the same command again must give the same results.

Runs are done by local processes, on a Ray cluster with or without a token, and as a population
whose checkpoints are written twice a second. After one or two kills, the command is given once
more; its table must equal that of an uninterrupted run, byte by byte.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from soak.attack import Attack, Case, Counts, Finding, expect

LIMIT = 240.0  # seconds for one command
PATIENCE = 30.0  # seconds in which a process must end after a signal
POPULATION = (
    "from easee.experiments.harness import population_backend as backend;"
    "backend.PAUSE, backend.WORTH, backend.INTERVAL = 0.5, 0.0, 0.3;"
    "from easee.cli import app;"
    "app()"
)
EASEE = [sys.executable, "-m", "easee.cli"]
ARMS = ["--arm", "CardinalGrid/uniform", "--arm", "CardinalGrid/cardinal-grid/*"]
COMMANDS = {
    "local": [*EASEE, "run", "fig3", "--seeds", "2", "--jobs", "2", *ARMS],
    "one process": [*EASEE, "run", "fig3", "--seeds", "2", "--jobs", "1", *ARMS],
    "population": [
        *(sys.executable, "-c", POPULATION),
        *("run", "catcher", "--backend", "population", "--steps", "1500", "--seeds", "1"),
    ],
    "ray": [*EASEE, "run", "fig3", "--seeds", "2", "--backend", "ray", *ARMS],
    "ray with a token": [*EASEE, "run", "fig3", "--seeds", "2", "--backend", "ray", *ARMS],
}
SIGNALS = ("SIGKILL", "SIGKILL", "SIGTERM", "SIGINT")


def draw(rng: np.random.Generator) -> Case:
    """Draw how runs are done, and when and how they are killed."""
    backend = str(rng.choice(list(COMMANDS), p=[0.4, 0.2, 0.2, 0.1, 0.1]))
    kills = [
        {
            "moment": round(float(rng.random() * 1.1), 3),  # in multiples of a whole run's time
            "signal": str(rng.choice(SIGNALS)),
            "group": bool(rng.random() < 0.5),
        }
        for _ in range(int(rng.integers(1, 3)))
    ]
    return {"backend": backend, "kills": kills}


def check(case: Case) -> Counts:
    """Kill a command, give it again, and compare its table."""
    backend = case["backend"]
    whole, seconds = _whole(backend)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "results"
        for kill in case["kills"]:
            _kill(_start(backend, folder), kill, seconds)
        output = _finish(backend, folder)
        expect("Traceback" not in output, f"{backend}: a traceback after a kill: {output[-300:]}")
        table = (folder / "runs.csv").read_bytes()
        expect(table == whole, f"{backend}: the results differ after a kill")
    return {f"kills, {backend}": len(case["kills"])}


@cache
def _whole(backend: str) -> tuple[bytes, float]:
    """Return the table of an uninterrupted run, and the seconds that it takes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "results"
        began = time.monotonic()
        _finish(backend, folder)
        return (folder / "runs.csv").read_bytes(), time.monotonic() - began


def _start(backend: str, folder: Path) -> subprocess.Popen[str]:
    options = ["--out", str(folder)]
    environment = dict(os.environ)
    if backend.startswith("ray"):
        address, home = _cluster(backend == "ray with a token")
        options += ["--address", address]
        environment["HOME"] = home
    return subprocess.Popen(
        [*COMMANDS[backend], *options],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # its own processes are in its group
    )


def _finish(backend: str, folder: Path) -> str:
    """Let a command finish and return its output."""
    process = _start(backend, folder)
    try:
        output, _ = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raise Finding(f"{backend}: the command took more than {LIMIT:.0f} s") from None
    finally:
        _end_group(process)
    code, last = process.returncode, " ".join(output.split())[-300:]
    expect(code == 0, f"{backend}: the command ended with {code}: {last}")
    return output


def _kill(process: subprocess.Popen[str], kill: dict[str, Any], seconds: float) -> None:
    try:
        process.wait(timeout=kill["moment"] * seconds)
    except subprocess.TimeoutExpired:
        number = signal.Signals[kill["signal"]]
        if kill["group"]:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
    try:
        process.communicate(timeout=PATIENCE)
        _await_group(process)
    except subprocess.TimeoutExpired:
        raise Finding(f"a process outlived {kill['signal']} by {PATIENCE:.0f} s") from None
    finally:
        _end_group(process)


def _await_group(process: subprocess.Popen[str]) -> None:
    """Wait until a process and all its children have ended."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise subprocess.TimeoutExpired(str(process.args), PATIENCE)


def _end_group(process: subprocess.Popen[str]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


# --- Ray --------------------------------------------------------------------------------------


@cache
def _cluster(token: bool) -> tuple[str, str]:
    """Start a cluster of one processor; return its address and its home.

    It has the process group of this process, whose supervisor ends it.
    """
    folder = Path(tempfile.mkdtemp(prefix=""))  # short: sockets have paths of 107 bytes
    home = folder / "home"
    (home / ".ray").mkdir(parents=True)
    if token:
        (home / ".ray" / "auth_token").write_text("5" * 64)
    port = _free_port()
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"]
    command += [f"--port={port}", f"--ray-client-server-port={_free_port()}", "--num-cpus=1"]
    command += ["--include-dashboard=false", "--disable-usage-stats", f"--temp-dir={folder}/ray"]
    environment = os.environ | {"HOME": str(home)}
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    for _ in range(600):
        if "Ray runtime started" in (folder / "log").read_text(errors="replace"):
            return f"127.0.0.1:{port}", str(home)
        if process.poll() is not None:
            break
        time.sleep(0.1)
    text = (folder / "log").read_text(errors="replace")[-300:]
    shutil.rmtree(folder, ignore_errors=True)
    raise RuntimeError(f"the Ray cluster did not start: {text}")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


ATTACK = Attack(
    "kills",
    "kills of easee run at random moments, locally, on Ray and for populations",
    draw,
    check,
    share=4.0,
    seconds=1200.0,
    gigabytes=1024.0,
)

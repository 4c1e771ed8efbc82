"""Damaged folders of results: a damaged run is done again and reported, or the folder is rejected.

The figure has few cheap runs, so that many folders can be damaged; everything that reads and writes
is the library's own.
"""

from __future__ import annotations

import io
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from rich.console import Console

from easee.errors import EaseeError
from easee.experiments.harness.backends import one_by_one
from easee.experiments.harness.figure import Figure, Measured, Run, runs_of
from easee.experiments.harness.runner import run_missing
from easee.experiments.harness.store import Store
from easee.experiments.registry import FIGURES
from soak.attack import Attack, Case, Counts, expect

SEEDS = 3
ARMS = ("uniform", "easee/2", "easee, deep", 'quoted "arm"')


def measure(run: Run) -> Measured:
    """Return values of different lengths, the same each time."""
    rng = np.random.default_rng([run.seed, len(run.arm)])
    values = 10.0 ** rng.uniform(-4, 5, 5)
    return [(10 * i, "value", round(float(value), i)) for i, value in enumerate(values, start=1)]


def _figure() -> Figure:
    runs = runs_of({arm: {} for arm in ARMS})
    return replace(FIGURES["fig3"], name="soak", runs=runs, backends=one_by_one(measure), seeds=3)


@cache
def _whole() -> dict[str, bytes]:
    """Return the files of an undamaged folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_missing(_figure(), folder, seeds=SEEDS, jobs=1)
        return {str(p.relative_to(folder)): p.read_bytes() for p in _files(folder)}


def _has_rows(path: Path) -> bool:
    return path.name == "runs.csv" or path.parent.name == "parts"


def _contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in _files(folder)}


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def draw(rng: np.random.Generator) -> Case:
    """Draw a damage, and whether the runs are still separate files."""
    parts = bool(rng.random() < 0.3)
    damage = str(rng.choice(list(DAMAGES)))
    return {"damage": damage, "parts": parts, "seed": int(rng.integers(2**32))}


def check(case: Case) -> Counts:
    """Damage a folder and run the figure again."""
    whole = _whole()
    rng = np.random.default_rng(case["seed"])
    folder = Path(tempfile.mkdtemp())
    try:
        _write(folder, whole, case["parts"])
        before = _contents(folder)
        DAMAGES[case["damage"]](folder, rng)
        damaged = _contents(folder)
        changed = {path for path in before | damaged if before.get(path) != damaged.get(path)}
        log = io.StringIO()
        try:
            run_missing(_figure(), folder, seeds=SEEDS, jobs=1, console=Console(file=log))
        except EaseeError as error:
            expect(bool(changed), f"an undamaged folder was rejected: {error}")
            return {"rejected": 1}
        table = (folder / "runs.csv").read_bytes()
        expect(table == whole["runs.csv"], f"damaged results are used: {case['damage']}")
        if case["damage"] in TOLD and any(map(_has_rows, changed)):
            expect(".csv" in log.getvalue(), f"nothing is said of this damage: {case['damage']}")
    finally:
        shutil.rmtree(folder)
    return {"repaired" if changed else "undamaged": 1}


def _write(folder: Path, whole: dict[str, bytes], parts: bool) -> None:
    """Write an undamaged folder, if wanted as it is before the runs are gathered."""
    if not parts:
        for name, contents in whole.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(contents)
        return
    store = Store(_figure(), folder)
    store.open()
    for run in _figure().runs(SEEDS):
        store.add(run, measure(run))


# --- damages ----------------------------------------------------------------------------------


def _table(folder: Path, rng: np.random.Generator) -> Path:
    """Return a file with rows."""
    tables = [path for path in _files(folder) if path.suffix == ".csv"] or _files(folder)
    return tables[rng.integers(len(tables))]


def _cut(folder: Path, rng: np.random.Generator) -> None:
    path = _table(folder, rng)
    data = path.read_bytes()
    path.write_bytes(data[: max(0, len(data) - int(rng.integers(1, 12)))])


def _lines(change: Callable[[list[str], int, np.random.Generator], None]) -> Damage:
    """Return the damage that changes the lines of a table."""

    def damage(folder: Path, rng: np.random.Generator) -> None:
        path = _table(folder, rng)
        lines = path.read_bytes().decode(errors="replace").splitlines(keepends=True)
        if len(lines) > 1:
            change(lines, int(rng.integers(1, len(lines))), rng)
            path.write_text("".join(lines))

    return damage


def _delete(lines: list[str], i: int, rng: np.random.Generator) -> None:
    del lines[i]


def _double(lines: list[str], i: int, rng: np.random.Generator) -> None:
    lines.insert(i, lines[i])


def _swap(lines: list[str], i: int, rng: np.random.Generator) -> None:
    lines[i], lines[i - 1] = lines[i - 1], lines[i]


def _value(lines: list[str], i: int, rng: np.random.Generator) -> None:
    values = ["nan", "inf", "-1.0", "1e5", "", "0x10", "1_0", "\N{ARABIC-INDIC DIGIT THREE}"]
    lines[i] = lines[i].rsplit(",", 1)[0] + f",{values[rng.integers(len(values))]}\n"


def _digit(lines: list[str], i: int, rng: np.random.Generator) -> None:
    places = [j for j, character in enumerate(lines[i]) if character.isdigit()]
    if places:
        j = places[rng.integers(len(places))]
        lines[i] = lines[i][:j] + str(rng.integers(10)) + lines[i][j + 1 :]


def _byte(folder: Path, rng: np.random.Generator) -> None:
    files = _files(folder)
    path = files[rng.integers(len(files))]
    data = bytearray(path.read_bytes())
    if data:
        data[rng.integers(len(data))] = rng.integers(256)
        path.write_bytes(bytes(data))


def _empty(folder: Path, rng: np.random.Generator) -> None:
    _table(folder, rng).write_bytes(b"")


def _meta(folder: Path, rng: np.random.Generator) -> None:
    texts = ["", "{", "[1]", "null", '{"figure": "soak"}', '{"config": {}, "versions": {}}', "\xff"]
    nested = json.dumps({"figure": "soak", "config": {"a": []}, "versions": {"easee": None}})
    whole = json.loads(_whole()["meta.json"])
    texts += [nested, json.dumps(whole | {"command": 3}), json.dumps(whole | {"machines": [1]})]
    (folder / "meta.json").write_text(texts[rng.integers(len(texts))], encoding="latin-1")


def _leftovers(folder: Path, rng: np.random.Generator) -> None:
    """Leave files behind, as an interrupted or foreign program may."""
    parts = folder / "parts"
    parts.mkdir(exist_ok=True)
    names = [".easee-0123456789abcdef", "x.csv", "x.json", "x.npz", "note.txt", "folder.csv/x"]
    path = parts / names[rng.integers(len(names))]
    path.parent.mkdir(exist_ok=True)
    contents = [b"", b"nonsense", b"\0\xff", b"soak,uniform,0,10,value,1.0\n", b"[[1]]", b"[]"]
    path.write_bytes(contents[rng.integers(len(contents))])


Damage = Callable[[Path, np.random.Generator], None]
DAMAGES: dict[str, Damage] = {
    "none": lambda folder, rng: None,
    "cut": _cut,
    "delete a line": _lines(_delete),
    "double a line": _lines(_double),
    "swap lines": _lines(_swap),
    "another value": _lines(_value),
    "another digit": _lines(_digit),
    "another byte": _byte,
    "empty file": _empty,
    "meta.json": _meta,
    "left-over files": _leftovers,
}

TOLD = ("delete a line", "double a line")  # damages that users must be told of

ATTACK = Attack(
    "results", "damaged folders of results: repaired, or rejected", draw, check, gigabytes=8.0
)

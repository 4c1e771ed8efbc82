"""Processes that share a folder. Threads lock it against each other as processes do."""

import secrets
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from easee._utils.files import locked
from easee.experiments.harness import store as store_module
from easee.experiments.harness.store import Store
from easee.experiments.registry import FIGURES

FIG3 = FIGURES["fig3"]
RUNS = FIG3.runs(1)[:3]
MEASURED = [(1, "states", 1.0)]
WHILE_LOCKED = 0.2  # seconds in which a method that does not wait for the lock would end


@pytest.fixture
def store(tmp_path):
    """Return a store with one finished run that was not gathered."""
    store = Store(FIG3, tmp_path / "results")
    store.open()
    store.add(RUNS[0], MEASURED)
    return store


class Gatherer(threading.Thread):
    """Simulates another process that gathers the folder once."""

    def __init__(self, store):
        super().__init__(target=Store(FIG3, store.folder).gather, args=(RUNS,))

    def begin(self):
        """Start gathering, unless it was started before."""
        if self.ident is None:
            self.start()
            self.join(WHILE_LOCKED)


@pytest.mark.parametrize(
    "use",
    [
        lambda store: store.read(),
        lambda store: store.missing(RUNS),
        lambda store: store.shown(),
        lambda store: store.show([(RUNS[1], MEASURED)]),
        lambda store: store.add(RUNS[1], MEASURED),
        lambda store: store.checkpoint(RUNS[1:]),
        lambda store: store.gather(RUNS),
    ],
    ids=["read", "missing", "shown", "show", "add", "checkpoint", "gather"],
)
def test_runs_are_used_by_one_process_at_a_time(store, use):
    with ThreadPoolExecutor(1) as pool:
        with locked(store.folder):
            done = pool.submit(use, store)
            with pytest.raises(TimeoutError):
                done.result(timeout=WHILE_LOCKED)
        done.result(timeout=60.0)


def test_another_process_cannot_gather_while_runs_are_read(store, monkeypatch):
    other = Gatherer(store)
    list_parts = Store._part_files

    def list_and_gather(self):
        parts = list_parts(self)
        other.begin()
        return parts

    monkeypatch.setattr(Store, "_part_files", list_and_gather)
    found = store.read()
    other.join()
    assert found.problems == [] and {row.key for row in found.rows} == {RUNS[0].key}
    assert store.missing(RUNS) == RUNS[1:] and not store.parts.exists()


def test_another_process_cannot_remove_the_folder_that_a_run_is_written_to(store, monkeypatch):
    other = Gatherer(store)
    token = secrets.token_hex

    def gather_and_name(size):
        """Return the name of a temporary file; called after its folder was created."""
        other.begin()
        return token(size)

    monkeypatch.setattr(secrets, "token_hex", gather_and_name)
    store.add(RUNS[1], MEASURED)
    other.join()
    assert store.missing(RUNS) == RUNS[2:]


def test_a_folder_that_was_removed_meanwhile_is_created_again(store):
    store.open(force=True)
    store.parts.rmdir()
    store.meta.unlink()
    store.folder.rmdir()
    store.add(RUNS[0], MEASURED)
    assert store.missing(RUNS) == RUNS[1:]


def test_a_missing_folder_has_no_runs(tmp_path):
    store = Store(FIG3, tmp_path / "none")
    store.check_settings()
    assert store.read().rows == store.shown() == [] and store.missing(RUNS) == RUNS
    assert not store.folder.exists()


def test_a_folder_that_cannot_be_locked_is_read(store, monkeypatch):
    store.show([(RUNS[1], MEASURED)])

    def refuse(folder):
        raise OSError(37, "No locks available", str(folder))

    monkeypatch.setattr(store_module, "locked", refuse)
    store.check_settings()
    assert {row.key for row in store.read().rows} == {RUNS[0].key}
    assert {row.key for row in store.shown()} == {RUNS[1].key}
    assert store.missing(RUNS) == RUNS[1:]

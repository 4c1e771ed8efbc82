import time

import pytest

from easee._utils.timing import listening, timed


def test_nested_parts_are_not_counted_twice(monkeypatch):
    seconds = iter([0.0, 1.0, 3.0, 7.0, 15.0])  # differences of 1, 2, 4 and 8
    monkeypatch.setattr(time, "perf_counter", lambda: next(seconds))
    with listening() as watch:
        with timed("outer"):
            with timed("inner"):
                assert watch.current == "inner"
            assert watch.current == "outer"
        assert watch.current is None
    assert watch.seconds == {"outer": 2.0 + 8.0, "inner": 4.0}
    assert list(watch.seconds) == ["outer", "inner"]


def test_a_part_ends_when_it_raises():
    with listening() as watch, pytest.raises(ZeroDivisionError), timed("failing"):
        raise ZeroDivisionError
    assert watch.current is None


def test_without_a_listener_nothing_is_recorded():
    with listening() as watch:
        pass
    with timed("unheard"):
        pass
    assert watch.seconds == {}

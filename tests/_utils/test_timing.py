import time

from easee._utils.timing import Stopwatch, listening, timed


def test_parts_within_parts_count_for_themselves():
    with listening() as watch:
        with timed("outer"):
            with timed("inner"):
                assert watch.current == "inner"
                time.sleep(0.02)
            assert watch.current == "outer"
        assert watch.current is None
    assert list(watch.seconds) == ["outer", "inner"]
    assert watch.seconds["inner"] >= 0.02 > watch.seconds["outer"]


def test_a_part_that_fails_is_left():
    with listening() as watch:
        try:
            with timed("failing"):
                raise ValueError
        except ValueError:
            pass
    assert watch.current is None


def test_without_a_listener_nothing_is_recorded():
    watch = Stopwatch()
    with timed("unheard"):
        pass
    assert watch.seconds == {}

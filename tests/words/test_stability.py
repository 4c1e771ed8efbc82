from easee.words.closure import close
from easee.words.presentation import Presentation, known_pairs


def test_stable_closures_may_miss_a_merge():
    """Two more layers change nothing, and a third one does; the derived rules find it at once."""
    pairs = (((1, 0, 0, 1), ()), ((0, 2), ()))
    sizes = [len(close(3, pairs, 2, slack=slack).depths) for slack in (4, 5, 6)]
    assert sizes == [12, 12, 10]
    found = close(3, pairs, 2)
    assert found.stable and not found.exact and len(found.depths) == 12
    assert len(close(3, known_pairs(Presentation(3, pairs)), 2).depths) == 10

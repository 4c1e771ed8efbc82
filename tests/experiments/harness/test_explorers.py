import numpy as np
import pytest

import easee
from easee.experiments.harness.explorers import deepest_policy, make_explorer, make_tables
from easee.experiments.harness.figure import Run

EASEE = {"explorer": "easee", "prior": "rotation-grid-complete", "depth": 3}


@pytest.mark.parametrize("changes", [{}, {"floor": 0.2}, {"last_only": True}, {"more": ["left ~"]}])
def test_populations_obey_all_settings_of_an_arm(changes):
    settings = EASEE | changes
    explorer = make_explorer(Run("arm", 0, settings), n_actions=3)
    assert isinstance(explorer, easee.Explorer)
    tables = make_tables(settings, n_actions=3)
    np.testing.assert_allclose(tables.probabilities, explorer.table.probabilities, atol=1e-6)
    if changes:
        plain = make_tables(EASEE, n_actions=3).probabilities
        same_graph = plain.shape == tables.probabilities.shape
        assert not same_graph or not np.allclose(plain, tables.probabilities, atol=1e-3)


def test_unknown_explorers_are_rejected():
    with pytest.raises(easee.ArgumentError, match="found 'tabu'"):
        make_tables({"explorer": "tabu", "prior": "cardinal-grid"}, n_actions=4)
    with pytest.raises(easee.ArgumentError, match="found 'esaee'"):
        make_explorer(Run("arm", 0, EASEE | {"explorer": "esaee"}), n_actions=3)


def test_the_deepest_policy_fits_and_keeps_its_floors():
    omega = easee.priors.get("doorkey-usual")
    small = deepest_policy(omega, 20, max_nodes=300)
    deeper = easee.unroll(omega, small.graph.depth + 1)
    assert len(small.graph) <= 300 < len(deeper)
    assert small.floors.tolist() == [0.0, 0.0, 0.0, 0.15, 0.15]
    assert deepest_policy(omega, 4).graph.depth == 4
    free = easee.Equivalences(["a", "b", "c"], [])
    assert deepest_policy(free, 9, max_nodes=2).graph.depth == 1

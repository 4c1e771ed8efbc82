import numpy as np
import pytest
from stable_baselines3.common.logger import configure

import easee
from tests.agents.sb3.models import COMMUTING, STRAIGHT, always, lines, small


@pytest.fixture
def log(tmp_path):
    """Return a function that trains with a CSV logger and returns the log as a record array."""
    logger = configure(str(tmp_path), ["csv"])

    def train(model, steps):
        model.set_logger(logger)
        model.learn(steps, log_interval=1)
        table = np.genfromtxt(tmp_path / "progress.csv", delimiter=",", names=True, deletechars="")
        return np.atleast_1d(table)

    yield train
    logger.close()


def test_the_log_has_share_entropy_and_depth(log):
    model = small(lines(8), STRAIGHT, learning_starts=100, exploration_final_eps=0.0)
    table = log(model, 400)
    share, steps = table["explorer/exploratory_share"], table["time/total_timesteps"]
    warm = steps <= 100
    assert (share[warm] == 1.0).all() and (share[steps > 250] == 0.0).all()
    assert ((0 < share) & (share < 1)).any()
    np.testing.assert_allclose(table["explorer/node_depth"][warm], 1.5)  # 0, 1, 2, 3, 0, ...
    # A fair coin at the empty word, and no choice after it.
    np.testing.assert_allclose(table["explorer/policy_entropy"][warm], np.log(2) / 4)


def test_explorers_without_nodes_log_only_their_share(log):
    model = small(lines(8), easee.ZetaExplorer(2, seed=0), learning_starts=1000)
    table = log(model, 40)
    assert (table["explorer/exploratory_share"] == 1.0).all()
    assert "explorer/node_depth" not in table.dtype.names


def test_means_cover_more_steps_than_a_chunk(log):
    options = always(0.0) | {"learning_starts": 1800}
    model = small(lines(2400), STRAIGHT, **options)
    assert log(model, 2400)["explorer/exploratory_share"] == 0.75


def test_a_new_explorer_starts_new_statistics(log):
    model = small(lines(8), COMMUTING, learning_starts=1000).learn(8, log_interval=None)
    model.explorer = STRAIGHT  # it has fewer nodes
    assert log(model, 8)["explorer/node_depth"] == pytest.approx(1.5)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tensorboard_has_the_explorer_s_statistics(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    model = small(lines(8), STRAIGHT, tensorboard_log=str(tmp_path))
    model.learn(80)
    events = EventAccumulator(str(tmp_path / "DQN_1"))
    events.Reload()
    first = {
        name: events.Scalars(f"explorer/{name}")[0].value
        for name in ("exploratory_share", "policy_entropy", "node_depth")
    }
    expected = {"exploratory_share": 1.0, "policy_entropy": np.log(2) / 4, "node_depth": 1.5}
    assert first == pytest.approx(expected)

"""Cases that once went wrong, kept so that they stay right."""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import easee
from easee import Equivalences, Explorer, balance, priors, unroll
from easee._utils.files import replacing
from easee.cli import app
from tests.oracles import assert_certified, cvxpy_objective


def interest(graph, nodes):
    return np.isin(np.arange(len(graph)), nodes)


@pytest.mark.parametrize(
    ("pairs", "depth", "nodes"),
    [(["a a ~ a"], 2, [3, 5]), (["a a ~", "b a b ~ a b a"], 5, [3, 4, 6])],
)
def test_nodes_without_weight_are_not_all_alike(pairs, depth, nodes):
    graph = unroll(Equivalences(["a", "b"], pairs), depth)
    chosen = interest(graph, nodes)
    policy = balance(graph, interest=chosen)
    assert_certified(policy, interest=chosen)
    assert policy.entropy == pytest.approx(cvxpy_objective(graph, interest=chosen), abs=1e-6)


def test_below_the_weighted_layer_every_path_is_as_likely():
    graph = unroll(priors.get("rotation-both-inverses"), 3)
    policy = balance(graph, weights=[1, 0, 0])
    np.testing.assert_allclose(policy.probabilities[1], [3 / 7, 2 / 7, 2 / 7], atol=1e-9)


ONE_TURN = {
    "square": [easee.power("T", 4), "F T T F T T ~", "F T F T T T ~ T F T T T F"],
    "hexagonal": [
        easee.power("T", 6),
        "F T T T F T T T ~",
        "F T F T T T T T ~ T F T T T T T F",
        "F T T F T T F T T ~",
    ],
}


@pytest.mark.parametrize("name", ONE_TURN)
def test_closure_gives_the_same_layers_at_every_depth(name):
    omega = Equivalences(["F", "T"], ONE_TURN[name])
    deep = unroll(omega, 10)
    assert deep.stable
    for depth in range(1, 10):
        graph = unroll(omega, depth)
        assert graph.stable and graph.layer_sizes == deep.layer_sizes[: depth + 1]


def test_closure_knows_what_completion_derived():
    omega = Equivalences(["a", "b"], ["b a a b ~"])
    graph = unroll(omega, 3)
    assert omega.equivalent("b a a", "a a b") is True
    assert graph.node("b a a") == graph.node("a a b")


def test_a_long_relation_beside_a_prior_that_does_not_complete_stays_small():
    rotation = priors.get("rotation-grid-complete")
    graph = unroll(
        Equivalences([*rotation.actions, "spin"], [rotation, easee.power("spin", 16)]), 3
    )
    assert len(graph) == 62 and not graph.stable  # it was not looked at far enough, and says so


def test_many_commuting_actions_complete():
    graph = unroll(easee.commute_all([f"a{i}" for i in range(40)]), 2)
    assert graph.exact and graph.layer_sizes == (1, 40, 820)


@pytest.mark.parametrize("small", [1e-6, 1e-8, 1e-12])
def test_layers_of_little_weight(small):
    graph = unroll(priors.get("freeway"), 6)
    weights = [1, 1, 1, small, 1, 1]
    assert_certified(balance(graph, weights=weights), weights)


@pytest.mark.parametrize("depth", [6, 10])
def test_random_interest_among_commuting_moves(depth):
    graph = unroll(priors.get("cardinal-all-commute"), depth)
    chosen = np.random.default_rng(0).random(len(graph)) < 0.5
    assert_certified(balance(graph, interest=chosen), interest=chosen)


# --- files ---------------------------------------------------------------------------------------


def test_a_link_stays_a_link(tmp_path):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    link.symlink_to(real)
    easee.commute("a", "b").save(link)
    assert link.is_symlink() and "a b ~ b a" in real.read_text()


def test_what_is_not_an_ordinary_file_is_left_alone(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, tmp_path / "file.txt" / "below", "/proc/nothing/here"):
        (tmp_path / "file.txt").touch()
        with pytest.raises(easee.WriteError, match="cannot write"), replacing(path) as file:
            file.write(b"x")
    assert pipe.is_fifo()


def test_a_full_disk_is_an_error_of_ours_and_leaves_the_old_file(tmp_path):
    path = tmp_path / "policy.npz"
    path.write_bytes(b"old")
    program = f"""
import resource, signal, easee
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
policy = easee.compile(easee.priors.catcher(), 20)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    policy.save({str(path)!r})
except easee.WriteError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "cannot write" in done.stdout, done.stderr
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_a_file_keeps_its_permissions_and_may_have_a_long_name(tmp_path):
    path = tmp_path / f"{'x' * 250}.txt"
    easee.commute("a", "b").save(path)
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask
    path.chmod(0o600)
    easee.commute("b", "a").save(path)
    assert path.stat().st_mode & 0o777 == 0o600 and "b a ~ a b" in path.read_text()


@pytest.mark.parametrize("output", ["", "/proc/nothing/x.npz", "/etc/hostname/x.npz"])
def test_cli_says_that_it_cannot_write(tmp_path, output):
    arguments = ["compile", "catcher", "-d", "3", "-o", output or str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1 and "error: cannot write" in result.output


def test_cli_prints_brackets_as_they_are(tmp_path):
    result = CliRunner().invoke(app, ["compile", "[/x]", "-d", "3"])
    assert result.exit_code == 1 and "'[/x]'" in result.output
    path = tmp_path / "p[bold].npz"
    result = CliRunner().invoke(app, ["compile", "catcher", "-d", "3", "-o", str(path)])
    assert "p[bold].npz" in result.output.replace("\n", "")


# --- errors and states ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [easee.MissingExtraError("matplotlib", "plot"), easee.ConvergenceError("no", 1.0, 0.5, None)],
)
def test_errors_survive_pickling_and_copying(error):
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is type(error) and str(twin) == str(error)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint64])
def test_any_integer_type_does_for_actions(dtype):
    greedy = np.array([0, 1], dtype)
    policy = easee.compile(easee.commute("a", "b"), 3)
    for explorer in (Explorer(policy, 2, 0), easee.ZetaExplorer(2, 2, 0)):
        actions = explorer.choose(greedy, 0.5)
        assert actions.dtype == np.int64
        explorer.step(actions.astype(dtype), [False, True])


def test_damaged_states_change_nothing():
    explorer = Explorer(easee.compile(easee.commute("a", "b"), 3), 2, seed=0)
    state = explorer.state_dict()
    expected = explorer.sample()
    explorer.load_state_dict(state)
    for damage in (
        {"nodes": np.array([99, 99])},
        {"nodes": np.array([0, 0, 0])},
        {"rng": {"bit_generator": "MT19937"}},
        {"policy": "another"},
        {"extra": 1},
    ):
        with pytest.raises(easee.ArgumentError):
            explorer.load_state_dict(state | damage)
    with pytest.raises(easee.ArgumentError):
        explorer.load_state_dict({})
    np.testing.assert_array_equal(explorer.sample(), expected)


@pytest.mark.parametrize(
    "call",
    [
        lambda: Equivalences(None),
        lambda: Equivalences(["a"], None),
        lambda: Equivalences(["a"], [([["a"]], [])]),
        lambda: Equivalences(["a\0"]),
        lambda: Equivalences(["\ud800"]),
        lambda: Equivalences.parse(None),
        lambda: Equivalences.load("a\0b"),
        lambda: easee.commute("a", "b").equivalent([["a"]], "a"),
        lambda: easee.commute_all(5),
        lambda: easee.power("a", True),
        lambda: easee.power("a", 1.5),
        lambda: priors.get(5),
        lambda: priors.atari(None),
        lambda: unroll(easee.commute("a", "b"), 4, slack=-2),
        lambda: unroll(easee.commute("a", "b"), 4, slack="a"),
        lambda: unroll(easee.commute("a", "b"), 4, max_nodes=0),
        lambda: unroll(easee.commute("a", "b"), 10**30),
        lambda: unroll(easee.commute("a", "b"), 3).word(1.5),
        lambda: balance(unroll(easee.commute("a", "b"), 3), tolerance="x"),
        lambda: easee.duality_gap(unroll(easee.commute("a", "b"), 3), "x"),
        lambda: easee.duality_gap(None, None),
        lambda: easee.UniformExplorer(4, seed=-1),
        lambda: easee.UniformExplorer(4, seed="a"),
        lambda: easee.UniformExplorer(4).choose([0], "a"),
        lambda: easee.ZetaExplorer(4, mu=None),
        lambda: Explorer(easee.compile(easee.commute("a", "b"), 3), floor="a"),
    ],
)
def test_bad_arguments_give_our_errors(call):
    with pytest.raises(easee.EaseeError):
        call()


def save_with(path, **changes):
    easee.compile(easee.commute("a", "b"), 3).save(path)
    with np.load(path) as archive:
        data = dict(archive) | changes
    np.savez(path, **data)


@pytest.mark.parametrize(
    "changes",
    [
        {"depths": np.array(3)},
        {"depth": np.array([3, 3])},
        {"depth": np.array(-1)},
        {"certificate": np.array(["a", "b", "c"])},
        {"certificate": np.full(3, np.nan)},
        {"exact": np.array([True, False])},
        {"successors": np.full((10, 2), 0.5)},
        {"successors": np.full((10, 2), 99)},
        {"probabilities": np.full((10, 2), np.nan)},
        {"probabilities": np.full((10, 2), 0.1)},
        {"probabilities": np.full((10, 2), -1.0)},
        {"depths": np.arange(10)[::-1].copy()},
        {"actions": np.array(["a", "a"])},
    ],
)
def test_files_that_contradict_themselves_are_refused(tmp_path, changes):
    path = tmp_path / "policy.npz"
    save_with(path, **changes)
    with pytest.raises(easee.PolicyFileError):
        easee.ExplorationPolicy.load(path)


def test_dollars_in_names_are_drawn_as_they_are(tmp_path):
    pytest.importorskip("matplotlib")
    from easee.viz import graph as draw

    omega = easee.commute("$x", "$\\frac{") | easee.commute("日", "本")
    draw.draw_graph(easee.compile(omega, 2), tmp_path / "graph.png")


def test_rows_of_nodes_that_are_never_reached_may_be_empty():
    graph = unroll(easee.commute("a", "b"), 2)
    table = np.zeros(graph.successors.shape)
    table[0, 0] = 1.0
    table[graph.node("a")] = 0.5
    assert easee.duality_gap(graph, table, weights=[0, 1]) == pytest.approx(np.log(3 / 2))
    only_ab = interest(graph, [graph.node("a b")])
    assert 0 < easee.duality_gap(graph, table, interest=only_ab) < 1
    table[0] = 0.5  # now b is reached, and has no way on
    with pytest.raises(easee.ArgumentError, match="sum to 1, found 0 at node 2"):
        easee.duality_gap(graph, table)


def test_names_of_numpy_are_plain_text():
    omega = Equivalences(np.array(["a", "b"]), [(np.array(["a", "b"]), "b a")])
    assert repr(omega) == repr(Equivalences(["a", "b"], ["a b ~ b a"]))
    assert all(type(name) is str for name in (*omega.actions, *omega.pairs[0][0]))


@pytest.mark.parametrize("depth", [5, 9, 12])
def test_the_most_nodes_are_those_of_the_graph(depth):
    prior = priors.get("rotation-grid-complete")  # by closure: nodes merge late
    sizes = np.cumsum(unroll(prior, depth).layer_sizes)
    assert len(unroll(prior, depth, max_nodes=int(sizes[-1]))) == sizes[-1]
    with pytest.raises(easee.GraphTooLargeError, match=rf"depth {depth - 1} fits \({sizes[-2]} "):
        unroll(prior, depth, max_nodes=int(sizes[-1]) - 1)
    with pytest.raises(easee.GraphTooLargeError, match="no depth fits"):
        unroll(prior, depth, max_nodes=3)


@pytest.mark.parametrize(("nodes", "lengths"), [([24], [2]), ([1], [0])])
def test_states_that_cannot_be_are_refused(nodes, lengths):
    explorer = Explorer(easee.compile(priors.get("cardinal-grid"), 3), seed=0)
    state = explorer.state_dict() | {"nodes": np.array(nodes), "lengths": np.array(lengths)}
    with pytest.raises(easee.ArgumentError, match="a forward action and are no deeper"):
        explorer.load_state_dict(state)
    assert explorer.nodes == [0]


@pytest.mark.parametrize("kind", ["easee", "zeta", "tabu"])
def test_environments_to_reset_are_not_taken_for_numbers(kind):
    omega = easee.commute("a", "b")
    explorer = {
        "easee": lambda: Explorer(easee.compile(omega, 3), n_envs=2),
        "zeta": lambda: easee.ZetaExplorer(2, n_envs=2),
        "tabu": lambda: easee.TabuExplorer(omega, n_envs=2),
    }[kind]()
    explorer.reset([True, False])
    with pytest.raises(easee.ArgumentTypeError, match="as booleans"):
        explorer.reset([0, 1])


@pytest.mark.parametrize("again", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
def test_copies_are_immutable_too(again):
    policy = easee.compile(easee.commute("a", "b"), 3)
    assert policy.graph.forward.any()  # computed once and kept
    twin = again(policy)
    for array in (twin.probabilities, twin.visits, twin.graph.successors, twin.graph.forward):
        assert not array.flags.writeable
    np.testing.assert_array_equal(twin.probabilities, policy.probabilities)


def test_a_policy_leaves_the_arrays_of_its_maker_alone():
    policy = easee.compile(easee.commute("a", "b"), 2)
    table = policy.probabilities.copy()
    easee.ExplorationPolicy(policy.graph, table, policy.visits, 0.0, 0.0, 0.0)
    assert table.flags.writeable


@pytest.mark.parametrize("name", priors.names())
@pytest.mark.parametrize("depth", [1, 3, 4])
def test_entropy_is_never_above_its_bound(name, depth):
    policy = easee.compile(priors.get(name), min(depth, 2) if name == "boxing" else depth)
    assert policy.entropy <= policy.bound


def test_environments_are_there_with_the_package():
    code = (
        "import easee, gymnasium; print(gymnasium.make('easee/RotationGrid-v0').unwrapped); "
        "print(easee.envs.DoorKey.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "RotationGrid" in done.stdout and "DoorKey" in done.stdout, done.stderr

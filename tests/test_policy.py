import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import easee
from easee import Equivalences, ExplorationPolicy, PolicyFileError, priors


@pytest.fixture
def policy():
    return easee.compile(priors.get("rotation-grid-complete"), 5)


@pytest.fixture
def saved(policy, tmp_path):
    path = tmp_path / "policy.npz"
    policy.save(path)
    return path


def test_compile_is_unroll_and_balance(policy):
    graph = easee.unroll(priors.get("rotation-grid-complete"), 5)
    np.testing.assert_array_equal(easee.balance(graph).probabilities, policy.probabilities)


def test_a_loaded_policy_equals_the_saved_one(policy, saved):
    loaded = ExplorationPolicy.load(saved)
    for name in ("entropy", "bound", "gap"):
        assert getattr(loaded, name) == getattr(policy, name)
    for name in ("actions", "depth", "layer_sizes", "exact", "stable"):
        assert getattr(loaded.graph, name) == getattr(policy.graph, name)
    np.testing.assert_array_equal(loaded.probabilities, policy.probabilities)
    np.testing.assert_array_equal(loaded.visits, policy.visits)
    np.testing.assert_array_equal(loaded.graph.successors, policy.graph.successors)
    assert [p.name for p in saved.parent.iterdir()] == ["policy.npz"]


def test_file_names_need_no_extension(policy, tmp_path):
    policy.save(tmp_path / "policy")
    assert ExplorationPolicy.load(tmp_path / "policy").graph.depth == 5


def test_an_interrupted_save_keeps_the_old_file(policy, saved, monkeypatch):
    before = saved.read_bytes()

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        policy.save(saved)
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == ["policy.npz"]


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(PolicyFileError, match="no policy file"):
        ExplorationPolicy.load(tmp_path / "none.npz")


@pytest.mark.parametrize("keep", [0, 1, 10, 100, 0.5, 0.9, 0.999])
def test_truncated_files_are_rejected(saved, keep):
    whole = saved.read_bytes()
    saved.write_bytes(whole[: keep if isinstance(keep, int) else int(keep * len(whole))])
    with pytest.raises(PolicyFileError):
        ExplorationPolicy.load(saved)


def test_damaged_files_are_rejected(saved):
    data = bytearray(saved.read_bytes())
    data[len(data) // 2] ^= 0xFF
    saved.write_bytes(bytes(data))
    with pytest.raises(PolicyFileError):
        ExplorationPolicy.load(saved)


def test_flipped_bits_are_detected_or_harmless(saved, policy):
    whole = saved.read_bytes()
    rng = np.random.default_rng(0)
    places = {*rng.integers(8 * len(whole), size=300).tolist()}
    # The flags of the archive entries, among them "encrypted".
    places |= {8 * (at + 6) for at in _positions(whole, b"PK\x03\x04")}
    places |= {8 * (at + 8) for at in _positions(whole, b"PK\x01\x02")}
    detected = 0
    for place in sorted(places):
        data = bytearray(whole)
        data[place // 8] ^= 1 << place % 8
        saved.write_bytes(bytes(data))
        try:
            loaded = ExplorationPolicy.load(saved)
        except PolicyFileError:
            detected += 1
            continue
        np.testing.assert_array_equal(loaded.probabilities, policy.probabilities)
    assert detected > len(places) / 2


def _positions(data, pattern):
    at = data.find(pattern)
    while at >= 0:
        yield at
        at = data.find(pattern, at + 1)


def test_a_file_name_that_is_too_long_is_rejected():
    with pytest.raises(PolicyFileError, match="too long"):
        ExplorationPolicy.load("x" * 5000)


def test_foreign_files_are_rejected(tmp_path):
    text, archive, single = tmp_path / "a.npz", tmp_path / "b.npz", tmp_path / "c.npy"
    text.write_text("hello")
    np.savez(archive, x=np.arange(3))
    np.save(single, np.arange(3))
    for path in (text, archive, single):
        with pytest.raises(PolicyFileError):
            ExplorationPolicy.load(path)


def rewrite(path, **changes):
    with np.load(path) as archive:
        data = dict(archive)
    data.update(changes)
    np.savez(path, **{key: value for key, value in data.items() if value is not None})


@pytest.mark.parametrize(
    "change",
    [
        lambda data: {"visits": -data["visits"]},
        lambda data: {"visits": np.where(np.arange(len(data["visits"])) == 1, 5, data["visits"])},
        lambda data: {"certificate": data["certificate"] * [1, 1, -1] - [0, 0, 3]},
        lambda data: {"certificate": data["certificate"] + [9, 0, 0]},
        lambda data: {"successors": np.where(data["depths"][:, None] == 0, -1, data["successors"])},
        lambda data: {"successors": np.abs(data["successors"])},
        lambda data: {"depth": np.array(50)},
    ],
)
def test_inconsistent_files_are_rejected(saved, change):
    with np.load(saved) as archive:
        data = dict(archive)
    rewrite(saved, **change(data))
    with pytest.raises(PolicyFileError, match="is inconsistent"):
        ExplorationPolicy.load(saved)


def test_files_of_a_newer_version_are_rejected(saved):
    rewrite(saved, version=np.array(99))
    with pytest.raises(PolicyFileError, match="version 99.*update"):
        ExplorationPolicy.load(saved)


def test_missing_arrays_and_wrong_shapes_are_rejected(saved):
    rewrite(saved, visits=None)
    with pytest.raises(PolicyFileError, match="lacks .'visits'"):
        ExplorationPolicy.load(saved)
    rewrite(saved, visits=np.zeros(3))
    with pytest.raises(PolicyFileError, match="visits of shape"):
        ExplorationPolicy.load(saved)


def test_pickles_are_rejected(saved):
    rewrite(saved, visits=np.array([{}], dtype=object))
    with pytest.raises(PolicyFileError):
        ExplorationPolicy.load(saved)


def test_policies_are_read_only(policy):
    with pytest.raises(ValueError, match="read-only"):
        policy.probabilities[0, 0] = 1


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
def test_contradicting_arrays_are_rejected(tmp_path, changes):
    path = tmp_path / "policy.npz"
    save_with(path, **changes)
    with pytest.raises(PolicyFileError):
        ExplorationPolicy.load(path)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
def test_copies_are_read_only(duplicate):
    policy = easee.compile(easee.commute("a", "b"), 3)
    assert policy.graph.forward.any()  # cached, so it is copied too
    twin = duplicate(policy)
    for array in (twin.probabilities, twin.visits, twin.graph.successors, twin.graph.forward):
        assert not array.flags.writeable
    np.testing.assert_array_equal(twin.probabilities, policy.probabilities)


def test_a_policy_does_not_freeze_the_arrays_it_is_given():
    policy = easee.compile(easee.commute("a", "b"), 2)
    probabilities = policy.probabilities.copy()
    ExplorationPolicy(policy.graph, probabilities, policy.visits, 0.0, 0.0, 0.0)
    assert probabilities.flags.writeable


# --- floors --------------------------------------------------------------------------------------

USUAL = easee.commute("go", "turn") | easee.noop("pickup", rate=0.05)


def test_compile_gives_floors_to_actions_that_usually_do_nothing(policy):
    usual = easee.compile(USUAL, 4)
    assert usual.floors.tolist() == [0, 0, 0.15] and not usual.floors.flags.writeable
    assert not usual.probabilities[:, 2].any()  # the optimal policy never takes it
    assert policy.floors.tolist() == [0, 0, 0]
    assert easee.balance(usual.graph).floors.tolist() == [0, 0, 0]


def test_rates_do_not_change_the_certificate():
    usual = easee.compile(USUAL, 4)
    exact = easee.compile(easee.commute("go", "turn") | easee.noop("pickup"), 4)
    np.testing.assert_array_equal(usual.probabilities, exact.probabilities)
    assert (usual.entropy, usual.bound, usual.gap) == (exact.entropy, exact.bound, exact.gap)


def test_the_policy_of_a_convergence_error_has_floors():
    omega = Equivalences(
        ["f", "r", "l", "pickup"], ["r l ~", "l r ~", "l l ~ r r", "pickup ~ @ 0.05"]
    )
    with pytest.raises(easee.ConvergenceError) as caught:
        easee.compile(omega, 3, tolerance=1e-300)
    assert caught.value.policy.floors.tolist() == [0, 0, 0, 0.15]
    assert caught.value.gap > caught.value.tolerance


def test_floors_are_copied():
    policy = easee.compile(Equivalences(["a", "b"], []), 2)
    floors = np.array([0.1, 0.0])
    changed = replace(policy, floors=floors)
    floors[0] = 0.5
    assert changed.floors.tolist() == [0.1, 0.0]


def test_floors_are_saved(tmp_path):
    easee.compile(USUAL, 3).save(tmp_path / "policy.npz")
    assert ExplorationPolicy.load(tmp_path / "policy.npz").floors.tolist() == [0, 0, 0.15]


def test_files_of_version_1_have_no_floors(tmp_path):
    path = tmp_path / "policy.npz"
    np.savez(
        path,
        format="easee-policy",
        version=1,
        actions=["a", "b"],
        depth=1,
        depths=[0, 1, 1],
        successors=[[1, 2], [-1, -1], [-1, -1]],
        exact=True,
        stable=True,
        probabilities=[[0.5, 0.5], [0.0, 0.0], [0.0, 0.0]],
        visits=[1.0, 0.5, 0.5],
        certificate=[np.log(2), np.log(2), 0.0],
    )
    policy = ExplorationPolicy.load(path)
    assert policy.floors.tolist() == [0, 0]
    policy.save(path)
    with np.load(path) as archive:
        assert archive["version"] == 3 and archive["floors"].tolist() == [0, 0]
    rewrite(path, floors=None)
    with pytest.raises(PolicyFileError, match="lacks .'floors'"):
        ExplorationPolicy.load(path)


@pytest.mark.parametrize(
    "floors",
    [[0.1, -0.1, 0], [0.5, 0.5, 0.1], [np.nan, 0, 0], [np.inf, 0, 0], [0.1, 0.1]],
)
def test_files_with_invalid_floors_are_rejected(saved, floors):
    rewrite(saved, floors=np.array(floors))
    with pytest.raises(PolicyFileError, match="is inconsistent.*floors"):
        ExplorationPolicy.load(saved)


@pytest.mark.parametrize(
    ("floors", "message"),
    [
        ([0.5, 0.4, 0.2], "sum to at most 1"),
        ([0.1, 0.1], "floors"),
        ([-0.1, 0, 0], "floors"),
        ([np.nan, 0, 0], "floors"),
        (["a", "b", "c"], "floors"),
    ],
)
def test_invalid_floors_are_rejected(policy, floors, message):
    with pytest.raises(easee.ArgumentError, match=message):
        replace(policy, floors=floors)
    assert replace(policy, floors=[0.5, 0.25, 0.25]).floors.tolist() == [0.5, 0.25, 0.25]


@pytest.mark.parametrize("name", priors.names())
@pytest.mark.parametrize("depth", [1, 3, 4])
def test_entropy_is_never_above_its_bound(name, depth):
    policy = easee.compile(priors.get(name), min(depth, 2) if name == "boxing" else depth)
    assert policy.entropy <= policy.bound


def test_tables_say_what_a_policy_does():
    policy = easee.compile(easee.Equivalences(["go", "wait"], ["wait ~"]), depth=5)
    text = str(policy)
    assert "actions      go, wait" in text and "never taken  wait" in text
    assert "layers stay small; about depth" in text
    assert policy._repr_html_().count("<tr>") == len(text.splitlines())
    assert "layers         1, 1, 1, 1, 1, 1" in str(policy.graph)
    assert policy.graph._repr_html_().startswith("<table>")
    assert repr(policy).startswith("ExplorationPolicy(")


def test_floors_and_ends_are_in_the_table():
    usual = easee.compile(easee.Equivalences(["go", "wait"], ["wait ~ @ 0.1"]), depth=5)
    assert "floors       wait 0.15" in str(usual) and "never taken" not in str(usual)
    finite = easee.compile(easee.power("turn", 4), depth=8)
    assert "finite: no new nodes after depth 3" in str(finite) and "gain" not in str(finite)


def test_pictures_are_svg(tmp_path):
    policy = easee.compile(easee.priors.get("rotation-grid"), depth=2)
    picture = policy.draw()
    assert picture._repr_svg_().startswith("<?xml") and "characters of SVG" in repr(picture)
    assert policy.draw(tmp_path / "policy.svg", pruned=True)._repr_svg_().count("<path") > 5
    policy.draw(tmp_path / "policy.png")
    assert (tmp_path / "policy.png").read_bytes().startswith(b"\x89PNG")

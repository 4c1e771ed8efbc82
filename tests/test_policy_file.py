"""Policy files of unknown origin: what is read is consistent, or an error."""

import io
import tracemalloc
import zipfile

import numpy as np
import pytest

import easee
from easee import ExplorationPolicy, PolicyFileError

OMEGA = easee.commute("a", "b") | easee.inverse("b", "c")


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "policy.npz"
    easee.compile(OMEGA, 4).save(path)
    return path


def rewrite(path, **changes):
    with np.load(path) as archive:
        data = dict(archive) | changes
    np.savez_compressed(path, **data)


def replace_member(path, name, contents):
    with zipfile.ZipFile(path) as archive:
        members = {key: archive.read(key) for key in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:  # with right checksums
        for key, old in members.items():
            archive.writestr(key, contents(old) if key == f"{name}.npy" else old)


MEMBERS = ["format", "version", "actions", "depths", "exact", "probabilities", "certificate"]


@pytest.mark.parametrize("name", MEMBERS)
@pytest.mark.parametrize(
    "contents",
    [
        lambda old: b"",
        lambda old: b"hello",
        lambda old: b"\x92" + old[1:],
        lambda old: old[:6] + b"\x09" + old[7:],
        lambda old: old[:-1],
        lambda old: old + b"\0",
    ],
    ids=["empty", "foreign", "magic", "version", "short", "long"],
)
def test_members_that_are_not_arrays_are_rejected(saved, name, contents):
    replace_member(saved, name, contents)
    with pytest.raises(PolicyFileError):
        ExplorationPolicy.load(saved)


def test_flipped_bytes_with_right_checksums_are_detected_or_harmless(saved):
    whole, policy = saved.read_bytes(), ExplorationPolicy.load(saved)
    rng, detected = np.random.default_rng(0), 0
    for _ in range(120):
        saved.write_bytes(whole)

        def flip(old):
            data = bytearray(old)
            data[rng.integers(len(data))] ^= 1 << rng.integers(8)
            return bytes(data)

        replace_member(saved, rng.choice([*MEMBERS, "successors", "visits"]), flip)
        try:
            loaded = ExplorationPolicy.load(saved)
        except PolicyFileError:
            detected += 1
            continue
        np.testing.assert_array_equal(loaded.graph.successors, policy.graph.successors)
        np.testing.assert_allclose(loaded.probabilities, policy.probabilities, atol=1e-5)
        assert loaded.entropy == pytest.approx(policy.entropy, abs=1e-5)
        for node in range(len(loaded.graph)):
            loaded.graph.word(node)
    assert detected > 60


@pytest.mark.parametrize("kind", [np.uint8, np.uint32, np.uint64])
def test_unsorted_unsigned_depths_are_rejected(saved, kind):
    with np.load(saved) as archive:
        depths = archive["depths"].astype(kind)
    rewrite(saved, depths=depths)
    assert ExplorationPolicy.load(saved).graph.depths.dtype == np.int32
    depths[[2, -1]] = depths[[-1, 2]]
    rewrite(saved, depths=depths)
    with pytest.raises(PolicyFileError, match="depths that are not sorted"):
        ExplorationPolicy.load(saved)


def graph_file(path, depth, depths, successors, probabilities, visits):
    """Write a graph over two actions with a policy that would be right for it."""
    np.savez(
        path,
        format="easee-policy",
        version=3,
        actions=["a", "b"],
        depth=depth,
        depths=depths,
        successors=successors,
        exact=True,
        stable=True,
        probabilities=np.array(probabilities, float),
        visits=np.array(visits, float),
        certificate=[0.0, 0.0, 0.0],
        floors=[0.0, 0.0],
    )


def test_unreachable_nodes_are_rejected(tmp_path):
    # Nodes 2 and 3 lead to each other, and `word` would follow their edges for ever.
    successors = [[1, 0], [-1, -1], [3, 3], [-1, -1]]
    graph_file(
        tmp_path / "p.npz", 1, [0, 1, 1, 1], successors, [[1, 0], [0, 0], [0, 0], [0, 0]], [1] * 4
    )
    with pytest.raises(PolicyFileError, match="inconsistent"):
        ExplorationPolicy.load(tmp_path / "p.npz")
    successors = [[1, 0], [0, 0], [3, 3], [2, 2]]
    graph_file(
        tmp_path / "p.npz", 4, [0, 1, 2, 3], successors, [[1, 0], [0, 0], [1, 0], [0, 0]], [1] * 4
    )
    with pytest.raises(PolicyFileError, match="nodes that no action of the layer above leads to"):
        ExplorationPolicy.load(tmp_path / "p.npz")


def test_depths_that_are_not_shortest_distances_are_rejected(tmp_path):
    # Node 2 is one action from the root, but is said to be at depth 2.
    successors, probabilities = [[1, 2], [2, 0], [0, 0]], [[1, 0], [1, 0], [0, 0]]
    graph_file(tmp_path / "p.npz", 3, [0, 1, 2], successors, probabilities, [1, 1, 1])
    with pytest.raises(PolicyFileError, match="not shortest distances"):
        ExplorationPolicy.load(tmp_path / "p.npz")


@pytest.mark.parametrize(
    "certificate",
    [
        lambda c: [-1e300, 1e300, 0],
        lambda c: [c[0] / 2, c[1], 0],
        lambda c: [c[0], c[1] + 1, c[2]],
        lambda c: [c[0], c[1], np.inf],
        lambda c: [c[0], c[1], -1.0],
    ],
)
def test_wrong_certificates_are_rejected(saved, certificate):
    with np.load(saved) as archive:
        found = archive["certificate"]
    rewrite(saved, certificate=np.array(certificate(found), float))
    with pytest.raises(PolicyFileError, match="is inconsistent"):
        ExplorationPolicy.load(saved)


def test_a_gap_of_zero_is_rejected_for_a_policy_that_is_not_optimal(tmp_path):
    graph = easee.unroll(OMEGA, 4)
    even = graph.forward / np.maximum(graph.forward.sum(axis=1, keepdims=True), 1)
    gap = easee.duality_gap(graph, even)
    optimal = easee.balance(graph)
    optimal.save(tmp_path / "p.npz")
    visits = np.zeros(len(graph))
    visits[0] = 1
    for node, action in zip(*np.nonzero(graph.forward), strict=True):
        visits[graph.successors[node, action]] += visits[node] * even[node, action]
    entropy = float(-(visits[1:] * np.log(visits[1:])).sum() / 4)
    certificate = [entropy, optimal.bound, gap]
    rewrite(tmp_path / "p.npz", probabilities=even, visits=visits, certificate=certificate)
    assert ExplorationPolicy.load(tmp_path / "p.npz").gap == gap > 0.01
    rewrite(tmp_path / "p.npz", certificate=[entropy, optimal.bound, 0.0])
    with pytest.raises(PolicyFileError, match="do not follow from its policy"):
        ExplorationPolicy.load(tmp_path / "p.npz")


@pytest.mark.parametrize("what", ["weights", "interest", "outcomes"])
def test_the_certificate_of_any_objective_is_checked(tmp_path, what):
    graph = easee.unroll(OMEGA, 4)
    n, rng = len(graph), np.random.default_rng(0)
    argument = {
        "weights": [0, 1, 0, 5.0],
        "interest": rng.random(n) < 0.5,
        "outcomes": rng.dirichlet(np.ones(3), size=n),
    }[what]
    policy = easee.balance(graph, **{what: argument})
    path = tmp_path / "p.npz"
    policy.save(path)
    loaded = ExplorationPolicy.load(path)
    assert (loaded.entropy, loaded.bound, loaded.gap) == (policy.entropy, policy.bound, policy.gap)
    values = [
        value.toarray() if what == "outcomes" else value
        for value in (getattr(policy, what), getattr(loaded, what))
    ]
    np.testing.assert_array_equal(values[0], np.asarray(argument))
    np.testing.assert_array_equal(*values)
    loaded.save(path)  # a copy of a copy
    assert ExplorationPolicy.load(path).gap == policy.gap
    rewrite(path, certificate=[policy.entropy - 0.1, policy.bound, policy.gap])
    with pytest.raises(PolicyFileError, match="do not follow from its policy"):
        ExplorationPolicy.load(path)


def test_files_of_version_2_are_read_if_they_have_equal_weights(tmp_path):
    path = tmp_path / "p.npz"
    easee.compile(OMEGA, 3).save(path)
    rewrite(path, version=2)
    assert ExplorationPolicy.load(path).weights is None
    easee.compile(OMEGA, 3, weights=[1, 0, 0]).save(path)
    rewrite(path, version=2)
    with pytest.raises(PolicyFileError, match="version 2 .* compile and save it again"):
        ExplorationPolicy.load(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"outcomes_indptr": np.zeros(3, int)},
        {"outcomes_indices": np.full(2, 99)},
        {"outcomes_data": np.full(2, -1.0)},
        {"outcomes_states": 10**15},
        {"outcomes_states": np.array([2])},
        {"interest": np.ones(3, bool)},
        {"weights": np.ones(7)},
    ],
)
def test_wrong_arrays_of_the_objective_are_rejected(tmp_path, changes):
    graph = easee.unroll(easee.Equivalences(["a"]), depth=1)
    easee.balance(graph, outcomes=np.eye(2)).save(tmp_path / "p.npz")
    rewrite(tmp_path / "p.npz", **changes)
    with pytest.raises(PolicyFileError):
        ExplorationPolicy.load(tmp_path / "p.npz")


def test_incomplete_outcomes_are_rejected(tmp_path):
    graph = easee.unroll(easee.Equivalences(["a"]), depth=1)
    easee.balance(graph, outcomes=np.eye(2)).save(tmp_path / "p.npz")
    with np.load(tmp_path / "p.npz") as archive:
        data = {key: archive[key] for key in archive if key != "outcomes_indices"}
    np.savez(tmp_path / "p.npz", **data)
    with pytest.raises(PolicyFileError, match="some arrays of the outcomes"):
        ExplorationPolicy.load(tmp_path / "p.npz")


@pytest.mark.parametrize("consistent", [True, False])
def test_a_small_file_of_deflated_zeros_takes_little_memory(saved, consistent):
    n = 3_000_000
    changes = {"depths": np.zeros(n, np.int32), "visits": np.zeros(n)}
    if consistent:
        changes |= {"successors": np.zeros((n, 3), np.int32), "probabilities": np.zeros((n, 3))}
    rewrite(saved, **changes)
    assert saved.stat().st_size < 200_000
    tracemalloc.start()
    try:
        with pytest.raises(PolicyFileError, match="is inconsistent"):
            ExplorationPolicy.load(saved)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_a_policy_larger_than_the_memory_is_rejected_before_it_is_read(saved, monkeypatch):
    monkeypatch.setattr("easee.policy_file.free_memory", lambda: 1000)
    with pytest.raises(PolicyFileError, match="GiB of memory"):
        ExplorationPolicy.load(saved)


def test_a_header_that_lies_about_its_size_is_rejected(saved):
    def longer(old):
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "<i4", "fortran_order": False, "shape": (10**12,)}
        )
        return header.getvalue()

    replace_member(saved, "depths", longer)
    with pytest.raises(PolicyFileError, match="size that its header states"):
        ExplorationPolicy.load(saved)

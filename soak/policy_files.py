"""Damaged and forged policy files: loading one raises PolicyFileError or gives a valid policy.

Bytes are flipped, cut and repeated; members of the archive are emptied, replaced, or changed with a
right checksum; arrays get other types and values that contradict each other; and members claim to
be large, or are. A file that loads must have a graph whose depths are shortest distances, and the
entropy and the gap that follow from its arrays. Reading a small file must not take much memory.
"""

from __future__ import annotations

import io
import tempfile
import tracemalloc
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import easee
from easee import ExplorationPolicy, priors
from easee.errors import PolicyFileError
from soak.attack import Attack, Case, Counts, expect
from tests import oracles

PRIORS = {"cardinal-grid": 4, "rotation-grid-complete": 6, "catcher": 5, "doorkey": 2}
MOST_MEGABYTES = 100.0  # while a file of at most a few megabytes is read
ROUNDING = 1e-6  # tolerance of entropy and gap, as documented for visits
CLAIMS = [2**20, 2**25, 2**28, 2**62]  # elements that a header may promise
BOMBS = [2**22, 2**24, 2**25]  # zeros that a member may hold

Members = dict[str, bytes]
Arrays = dict[str, NDArray[Any]]


def draw(rng: np.random.Generator) -> Case:
    """Draw a policy and a mutation of its file."""
    prior = str(rng.choice(list(PRIORS)))
    kind = str(rng.choice(list(MUTATIONS)))
    seed = int(rng.integers(2**32))
    weighted = bool(rng.random() < 0.2)
    return {"prior": prior, "weighted": weighted, "mutation": kind, "seed": seed}


@cache
def _file(prior: str, weighted: bool) -> bytes:
    depth = PRIORS[prior]
    weights = np.arange(1, depth + 1) if weighted else None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.npz"
        easee.compile(priors.get(prior), depth, weights=weights).save(path)
        return path.read_bytes()


def check(case: Case) -> Counts:
    """Load a mutated file, and check what was loaded."""
    data = _file(case["prior"], case["weighted"])
    data = MUTATIONS[case["mutation"]](data, np.random.default_rng(case["seed"]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.npz"
        path.write_bytes(data)
        tracemalloc.start()
        try:
            policy = ExplorationPolicy.load(path)
        except PolicyFileError:
            expect(case["mutation"] != "none", "an undamaged file does not load")
            return {"rejected": 1}
        finally:
            peak = tracemalloc.get_traced_memory()[1] / 2**20
            tracemalloc.stop()
            expect(peak < MOST_MEGABYTES, f"a {len(data):,}-byte file took {peak:.0f} MB to read")
    _check_graph(policy)
    _check_certificate(policy, case["weighted"])
    return {"loaded": 1}


def _check_graph(policy: ExplorationPolicy) -> None:
    graph = policy.graph
    shortest = _distances(graph.successors) == graph.depths.tolist()
    expect(shortest, "a file loads whose depths are not shortest distances")
    for node in range(len(graph)):
        expect(graph.node(graph.word(node)) == node, "a node of a file is not that of its word")
    easee.Explorer(policy, n_envs=2, seed=0).sample()


def _check_certificate(policy: ExplorationPolicy, weighted: bool) -> None:
    """Compute entropy and gap from the arrays."""
    graph, table = policy.graph, policy.probabilities
    weights = getattr(policy, "weights", None)
    if weighted and weights is None:  # the objective is not known
        return
    entropy = oracles.plain_objective(graph, table, weights)
    expect(
        abs(entropy - policy.entropy) <= ROUNDING,
        f"a file loads that says entropy {policy.entropy:.6g}, its arrays say {entropy:.6g}",
    )
    expect(policy.bound >= policy.entropy - ROUNDING, "a file loads with entropy above its bound")
    # Where some node is never visited, the definition has no finite gap.
    if (policy.visits > 0).all():
        gap = min(oracles.plain_gap(graph, table, weights), policy.bound - entropy)
        expect(
            policy.gap >= gap - ROUNDING,
            f"a file loads that says gap {policy.gap:.2g}, its arrays say {gap:.2g}",
        )


def _distances(successors: NDArray[Any]) -> list[int]:
    """Return the distance of each node from the first, -1 if it cannot be reached."""
    distance = {0: 0}
    queue = [0]
    for node in queue:  # grows during the loop
        for head in successors[node].tolist():
            if head >= 0 and head not in distance:
                distance[head] = distance[node] + 1
                queue.append(head)
    return [distance.get(node, -1) for node in range(len(successors))]


# --- mutations of bytes -----------------------------------------------------------------------


def _unchanged(data: bytes, rng: np.random.Generator) -> bytes:
    return data


def _flip(data: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(data)
    for place in rng.integers(0, len(data), int(rng.integers(1, 6))):
        changed[place] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _cut(data: bytes, rng: np.random.Generator) -> bytes:
    a, b = sorted(rng.integers(0, len(data) + 1, 2).tolist())
    return data[:a] if rng.random() < 0.5 else data[:a] + data[b:]


def _repeat(data: bytes, rng: np.random.Generator) -> bytes:
    a, b = sorted(rng.integers(0, len(data) + 1, 2).tolist())
    return data[:b] + data[a:]


def _random(data: bytes, rng: np.random.Generator) -> bytes:
    start = rng.choice([b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00", b"\x80\x04"])
    return bytes(start) + rng.bytes(int(rng.integers(0, 300)))


# --- mutations of members ---------------------------------------------------------------------


def _members(data: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _archive(members: Members) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, contents in members.items():
            archive.writestr(name, contents)
    return buffer.getvalue()


def _member(data: bytes, rng: np.random.Generator) -> bytes:
    """Change the bytes of a member, with a right checksum."""
    members = _members(data)
    name = str(rng.choice(list(members)))
    change = [_flip, _cut, _random, lambda *_: b"", lambda *_: b"foreign"][rng.integers(5)]
    if rng.random() < 0.1:
        del members[name]
    else:
        members[name] = change(members[name], rng)
    return _archive(members)


def _claim(data: bytes, rng: np.random.Generator) -> bytes:
    """Let a member's header promise many elements that are not there."""
    members = _members(data)
    name = str(rng.choice(["depths.npy", "successors.npy", "probabilities.npy", "actions.npy"]))
    members[name] = _header(int(rng.choice(CLAIMS))) + b"\0" * 100
    return _archive(members)


def _bomb(data: bytes, rng: np.random.Generator) -> bytes:
    """Replace a member by zeros, which deflate to a thousandth."""
    members = _members(data)
    name = str(rng.choice(["depths.npy", "probabilities.npy", "visits.npy", "floors.npy"]))
    count = int(rng.choice(BOMBS))
    members[name] = _header(count) + b"\0" * (8 * count)
    return _archive(members)


def _header(count: int) -> bytes:
    buffer = io.BytesIO()
    shape = {"descr": "<i8", "fortran_order": False, "shape": (count,)}
    np.lib.format.write_array_header_1_0(buffer, shape)
    return buffer.getvalue()


# --- mutations of arrays ----------------------------------------------------------------------


def _arrays(change: Callable[[Arrays, np.random.Generator], None]) -> Any:
    """Return the mutation that changes the arrays of a file."""

    def mutate(data: bytes, rng: np.random.Generator) -> bytes:
        with np.load(io.BytesIO(data)) as archive:
            arrays = dict(archive)
        change(arrays, rng)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)
        return buffer.getvalue()

    return mutate


def _retype(arrays: Arrays, rng: np.random.Generator) -> None:
    """Change the type of an array, and often a value so that it wraps."""
    name = str(rng.choice(["depths", "successors", "probabilities", "visits", "depth", "floors"]))
    kind = str(rng.choice(["u1", "u4", "u8", "i1", "i8", "f4", ">i4", "c8", "S3", "?"]))
    with np.errstate(all="ignore"):
        arrays[name] = arrays[name].astype(kind)
    if rng.random() < 0.5 and arrays[name].ndim:
        rng.shuffle(arrays[name])


def _unsort(arrays: Arrays, rng: np.random.Generator) -> None:
    """Give depths in another order, signed or not."""
    depths = arrays["depths"].astype(rng.choice(["u4", "u8", "i4"]))
    rng.shuffle(depths[1:])
    arrays["depths"] = depths


def _redirect(arrays: Arrays, rng: np.random.Generator) -> None:
    """Change successors that the policy does not use, so that nodes may become unreachable."""
    successors = arrays["successors"]
    unused = np.argwhere((arrays["probabilities"] == 0) & (successors >= 0))
    for _ in range(int(rng.integers(1, 8))):
        if len(unused):
            row, action = unused[rng.integers(len(unused))]
            successors[row, action] = rng.integers(0, len(successors))


def _deepen(arrays: Arrays, rng: np.random.Generator) -> None:
    """Add nodes that nothing leads to."""
    count = int(rng.integers(1, 4))
    last, k = int(arrays["depth"]), arrays["successors"].shape[1]
    arrays["depths"] = np.append(arrays["depths"], np.full(count, last, np.int32))
    arrays["successors"] = np.append(arrays["successors"], np.full((count, k), -1, np.int32), 0)
    arrays["probabilities"] = np.append(arrays["probabilities"], np.zeros((count, k)), 0)
    arrays["visits"] = np.append(arrays["visits"], np.zeros(count))


def _certify(arrays: Arrays, rng: np.random.Generator) -> None:
    """Claim another certificate."""
    entropy, bound, gap = arrays["certificate"].tolist()
    options = [(-1e300, 1e300, 0.0), (entropy / 2, bound, 0.0), (entropy, bound / 2, gap)]
    options += [(np.nan, bound, gap), (entropy, np.inf, gap), (entropy, bound, -1.0)]
    options += [(entropy - 0.1, bound, 0.0), (bound, bound, 0.0)]
    arrays["certificate"] = np.array(options[rng.integers(len(options))])


def _perturb(arrays: Arrays, rng: np.random.Generator) -> None:
    """Move some probability to another action of a node, and often the visits with it."""
    table = arrays["probabilities"]
    rows = np.flatnonzero((table > 0).sum(axis=1) > 1)
    if len(rows):
        row = int(rng.choice(rows))
        a, b = rng.choice(np.flatnonzero(table[row]), 2, replace=False)
        moved = table[row, a] * rng.random()
        table[row, a] -= moved
        table[row, b] += moved
    if rng.random() < 0.7:
        arrays["visits"] = _plain_visits(arrays)


def _plain_visits(arrays: Arrays) -> NDArray[Any]:
    visits = np.zeros(len(arrays["visits"]))
    visits[0] = 1.0
    for node, row in enumerate(arrays["probabilities"]):
        for action in np.flatnonzero(row):
            visits[arrays["successors"][node, action]] += visits[node] * row[action]
    return visits


def _scalar(arrays: Arrays, rng: np.random.Generator) -> None:
    """Set one value of an array to something else."""
    name = str(rng.choice(list(arrays)))
    values: list[Any] = [-1, 0, 1, 2**31 - 1, -(2**31), np.nan, np.inf, 1e300, 0.5]
    value = values[rng.integers(len(values))]
    if arrays[name].dtype.kind in "iuf" and arrays[name].size:
        with np.errstate(all="ignore"):
            flat = arrays[name].reshape(-1).copy()
            flat[rng.integers(flat.size)] = np.asarray(value).astype(flat.dtype)
            arrays[name] = flat.reshape(arrays[name].shape)
    else:
        arrays[name] = np.asarray(value)


MUTATIONS: dict[str, Callable[[bytes, np.random.Generator], bytes]] = {
    "none": _unchanged,
    "flip": _flip,
    "cut": _cut,
    "repeat": _repeat,
    "random": _random,
    "member": _member,
    "claim": _claim,
    "bomb": _bomb,
    "retype": _arrays(_retype),
    "unsort": _arrays(_unsort),
    "redirect": _arrays(_redirect),
    "deepen": _arrays(_deepen),
    "certify": _arrays(_certify),
    "perturb": _arrays(_perturb),
    "scalar": _arrays(_scalar),
}


ATTACK = Attack(
    "policy-files",
    "damaged and forged policy files: rejected, or consistent",
    draw,
    check,
    share=1.5,
    seconds=30.0,
    gigabytes=6.0,
)

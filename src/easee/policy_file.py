"""Policy files: one `.npz` archive without pickles, validated when it is read.

A file is data of unknown origin. The headers of all arrays are read first and checked against each
other and against limits, then the arrays are read and checked, and the certificate is computed
again from them.
"""

import os
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from easee._utils.arrays import Floats, Mask
from easee._utils.checks import excerpt
from easee._utils.files import replacing
from easee._utils.memory import free_memory
from easee._utils.npz import Header, read_array, read_header
from easee.errors import ArgumentError, EaseeError, PolicyFileError
from easee.flow.certificate import checked_probabilities
from easee.flow.network import push
from easee.flow.objective import make_objective
from easee.graph import MOST_DEPTH, LocalGraph
from easee.priors.equivalences import check_action_names

FORMAT = "easee-policy"
VERSION = 3  # version 1 had no floors, version 2 no weights, interest and outcomes
ROUNDING = 1e-6  # tolerance for visits and entropy that do not follow exactly from the policy
GAP_ROUNDING = 1e-9  # tolerance for a duality gap that was computed on another machine
NODES_PER_BYTE = 4  # of compressed successors, which name every node; real files stay below 1
COPIES = 3  # memory for checking a policy, in multiples of its size
MOST_ENTRY = 40_000  # bytes of the longest name of an action, and of any other entry
FIELDS = {  # shape and kinds of each array; n and k are the numbers of nodes and actions
    "format": ("", "U"),
    "version": ("", "iu"),
    "actions": ("k", "U"),
    "depth": ("", "iu"),
    "depths": ("n", "iu"),
    "successors": ("nk", "iu"),
    "exact": ("", "b"),
    "stable": ("", "b"),
    "probabilities": ("nk", "f"),
    "visits": ("n", "f"),
    "certificate": ("3", "f"),
    "floors": ("k", "f"),
    "weights": ("d", "f"),  # this and the following ones are present if they are not None
    "interest": ("n", "b"),
    "outcomes_data": ("m", "f"),
    "outcomes_indices": ("m", "iu"),
    "outcomes_indptr": ("+", "iu"),  # n + 1 entries
    "outcomes_states": ("", "iu"),
}
OUTCOMES = ("outcomes_data", "outcomes_indices", "outcomes_indptr", "outcomes_states")
OPTIONAL = ("weights", "interest", *OUTCOMES)
REQUIRED = tuple(key for key in FIELDS if key not in OPTIONAL)


class Contents(NamedTuple):
    """The contents of a policy file, in the order of the fields of `ExplorationPolicy`."""

    graph: LocalGraph
    probabilities: Floats
    visits: Floats
    entropy: float
    bound: float
    gap: float
    floors: Floats
    weights: Floats | None
    interest: Mask | None
    outcomes: csr_array | None


def write(path: str | os.PathLike[str], policy: Contents) -> None:
    """Write a policy atomically."""
    graph = policy.graph
    arrays: dict[str, Any] = {"weights": policy.weights, "interest": policy.interest}
    if policy.outcomes is not None:
        arrays |= {
            "outcomes_data": policy.outcomes.data,
            "outcomes_indices": policy.outcomes.indices,
            "outcomes_indptr": policy.outcomes.indptr,
            "outcomes_states": policy.outcomes.shape[1],
        }
    with replacing(path) as file:
        np.savez_compressed(
            file,
            format=FORMAT,
            version=VERSION,
            actions=graph.actions,
            depth=graph.depth,
            depths=graph.depths,
            successors=graph.successors,
            exact=graph.exact,
            stable=graph.stable,
            probabilities=policy.probabilities,
            visits=policy.visits,
            certificate=(policy.entropy, policy.bound, policy.gap),
            floors=policy.floors,
            **{key: array for key, array in arrays.items() if array is not None},
        )


def read(path: str | os.PathLike[str]) -> Contents:
    """Return the contents of a policy file.

    Raises:
        PolicyFileError: the file is missing, damaged, of a newer version, or not a policy.
    """
    name = repr(str(path))
    try:
        if not Path(path).is_file():
            raise PolicyFileError(f"no policy file at {name}")
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            version = _read_version(archive, name)
            headers = _read_headers(archive, version)
            _check_sizes(headers)
            return _read_policy(archive, headers, version)
    except PolicyFileError:
        raise
    except EaseeError as error:
        raise PolicyFileError(f"{name} is inconsistent: {error}") from error
    except Exception as error:  # unpacking a damaged file raises errors of many types
        raise PolicyFileError(
            f"{name} is not a policy file, or damaged ({excerpt(str(error), 200)}): "
            "compile and save the policy again"
        ) from error


def _check(consistent: Any, problem: str) -> None:
    if not consistent:
        raise ArgumentError(problem)  # `read` adds the name of the file


# --- headers -------------------------------------------------------------------------------------


def _has(archive: zipfile.ZipFile, key: str) -> bool:
    return f"{key}.npy" in archive.NameToInfo


def _read_version(archive: zipfile.ZipFile, name: str) -> int:
    keys = [key for key in ("format", "version") if _has(archive, key)]
    sizes = [read_header(archive, key).nbytes for key in keys]
    small = max(sizes, default=0) < 1000
    found = {key: read_array(archive, key).tolist() for key in keys if small}
    if found.get("format") != FORMAT:
        raise PolicyFileError(f"{name} is an .npz file, but not an EASEE policy")
    version = found.get("version")
    if not isinstance(version, int) or version < 1:
        raise PolicyFileError(f"{name} has no valid format version, found {version!r}")
    if version > VERSION:
        raise PolicyFileError(
            f"{name} has format version {version}, but this release reads up to {VERSION}: "
            "update easee-rl"
        )
    return version


def _read_headers(archive: zipfile.ZipFile, version: int) -> dict[str, Header]:
    """Return the headers of the arrays that the file has and that its version knows."""
    required = [key for key in REQUIRED if key != "floors" or version > 1]
    missing = [key for key in required if not _has(archive, key)]
    _check(not missing, f"it lacks {missing}")
    optional = [key for key in OPTIONAL if _has(archive, key)] if version > 2 else []
    partial = [key for key in OUTCOMES if (key in optional) != (OUTCOMES[0] in optional)]
    _check(not partial, f"it has some arrays of the outcomes, but not all of {list(OUTCOMES)}")
    return {key: read_header(archive, key) for key in [*required, *optional]}


def _check_sizes(headers: dict[str, Header]) -> None:
    """Check shapes and types against each other, and sizes against limits."""
    sizes: dict[str, tuple[int, ...]] = {"3": (3,)}
    for axis, key in {"n": "depths", "k": "actions", "d": "weights", "m": OUTCOMES[0]}.items():
        sizes[axis] = headers[key].shape if key in headers else ()
        _check(len(sizes[axis]) == (key in headers), f"expected {key} in one dimension")
    (n,), (k,) = sizes["n"], sizes["k"]
    sizes["+"] = (n + 1,)
    for key, header in headers.items():
        axes, kinds = FIELDS[key]
        shape = tuple(size for axis in axes for size in sizes[axis])
        _check(
            header.shape == shape
            and header.dtype.kind in kinds
            and header.dtype.itemsize <= MOST_ENTRY,
            f"expected {key} of shape {shape}, found {header.dtype} of shape {header.shape}",
        )
    stored = headers["successors"].stored
    _check(
        n <= NODES_PER_BYTE * (stored + 100),
        f"{n:,} nodes cannot be described by {stored:,} bytes of successors",
    )
    needed = COPIES * (sum(header.nbytes for header in headers.values()) + 8 * n * k)
    free = free_memory()
    _check(
        needed <= free,
        f"checking it takes {needed / 2**30:.1f} GiB of memory, and {free / 2**30:.1f} are free",
    )


# --- contents ------------------------------------------------------------------------------------


def _read_policy(archive: zipfile.ZipFile, headers: dict[str, Header], version: int) -> Contents:
    graph = _read_graph(archive)
    entropy, bound, gap = _floats(archive, "certificate").tolist()
    floors = _floats(archive, "floors") if "floors" in headers else np.zeros(len(graph.actions))
    _check((floors >= 0).all() and floors.sum() <= 1, "it has floors that are not probabilities")
    contents = Contents(
        graph=graph,
        probabilities=_floats(archive, "probabilities"),
        visits=_floats(archive, "visits"),
        entropy=entropy,
        bound=bound,
        gap=gap,
        floors=floors,
        weights=_floats(archive, "weights") if "weights" in headers else None,
        interest=read_array(archive, "interest") if "interest" in headers else None,
        outcomes=_read_outcomes(archive, len(graph)) if OUTCOMES[0] in headers else None,
    )
    _check_certificate(contents, version)
    return contents


def _floats(archive: zipfile.ZipFile, key: str) -> Floats:
    array = read_array(archive, key).astype(float, copy=False)
    _check(np.isfinite(array).all(), f"it has {key} that are not finite")
    return array


def _read_graph(archive: zipfile.ZipFile) -> LocalGraph:
    """Read the graph and check that its depths are the shortest distances from node 0."""
    depth, depths = int(read_array(archive, "depth")), read_array(archive, "depths")
    n = depths.size
    # Differences of unsigned integers would wrap around.
    _check(
        n and depths[0] == 0 and (depths[1:2] > 0).all() and (depths[1:] >= depths[:-1]).all(),
        "it has depths that are not sorted from a single 0",
    )
    _check(int(depths[-1]) <= depth <= MOST_DEPTH, "it has nodes deeper than its depth")
    successors = read_array(archive, "successors")
    _check(
        successors.size and -1 <= int(successors.min()) and int(successors.max()) < n,
        "it has successors that do not exist",
    )
    graph = LocalGraph(
        actions=check_action_names(map(str, read_array(archive, "actions"))),
        depth=depth,
        depths=depths.astype(np.int32, copy=False),
        successors=np.ascontiguousarray(successors, dtype=np.int32),
        exact=bool(read_array(archive, "exact")),
        stable=bool(read_array(archive, "stable")),
    )
    last = int(np.searchsorted(graph.depths, depth))
    _check(
        (graph.successors[:last] >= 0).all() and (graph.successors[last:] < 0).all(),
        "it has missing successors above its depth, or successors at it",
    )
    reached = np.zeros(n, bool)
    reached[graph.successors[graph.forward]] = True
    _check(reached[1:].all(), "it has nodes that no action of the layer above leads to")
    jumps = graph.depths[graph.successors[:last]] > graph.depths[:last, None] + 1
    _check(not jumps.any(), "it has depths that are not shortest distances")
    return graph


def _read_outcomes(archive: zipfile.ZipFile, n_nodes: int) -> csr_array:
    data, indices, indptr, states = (read_array(archive, key) for key in OUTCOMES)
    _check(0 < int(states) < 2**31, f"it has outcomes over {states} states")
    outcomes = csr_array((data, indices, indptr), shape=(n_nodes, int(states)))
    outcomes.check_format(full_check=True)
    return outcomes


def _check_certificate(policy: Contents, version: int) -> None:
    """Compute visits, entropy, bound and gap again from the policy and compare them."""
    graph = policy.graph
    objective = make_objective(
        graph, weights=policy.weights, interest=policy.interest, outcomes=policy.outcomes
    )
    table = checked_probabilities(graph, policy.probabilities)
    visits = push(objective.network, table[graph.forward])
    _check(np.abs(visits - policy.visits).max() <= ROUNDING, "visits do not match the policy")
    follows = (
        abs(policy.entropy - objective.value(visits)) <= ROUNDING
        and abs(policy.bound - objective.bound) <= ROUNDING
        and objective.certificate(visits) <= policy.gap + GAP_ROUNDING
        and policy.gap >= 0
    )
    problem = "its entropy, bound and gap do not follow from its policy"
    if version < 3:
        problem += (
            f"; files of format version {version} can be read only if the policy was compiled with "
            "equal weights, because they do not contain others: compile and save it again"
        )
    _check(follows, problem)

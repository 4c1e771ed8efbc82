"""Arrays in a file, so that a population goes on where it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from easee.errors import ArgumentError, MissingExtraError
from easee.files import replacing

try:
    import jax
except ImportError:
    raise MissingExtraError("jax", "jax") from None

Tree = TypeVar("Tree")


def save(path: Path, tree: Any, about: dict[str, Any]) -> None:
    """Write arrays, and plain data that says what they are; an old file is replaced at the end."""
    leaves = {f"{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(tree))}
    note = np.frombuffer(json.dumps(about).encode(), np.uint8)
    with replacing(path) as file:
        np.savez(file, allow_pickle=False, about=note, **leaves)


def load(path: Path, like: Tree, about: dict[str, Any]) -> Tree:
    """Read arrays of the same shapes as those of a tree.

    Raises:
        ArgumentError: the file is damaged, or of something else.
    """
    leaves = jax.tree.leaves(like)
    try:
        with open(path, "rb") as handle, np.load(handle) as file:
            found = dict(json.loads(bytes(file["about"])))
            arrays = [file[f"{i}"] for i in range(len(leaves))]
    except Exception as error:  # whatever unpacking and parsing of a damaged file comes upon
        raise ArgumentError(
            f"{path} is no checkpoint, or not a whole one ({error}): remove it to start over"
        ) from None
    ours = json.loads(json.dumps(about))
    other = [
        f"{key} {ours[key]}, found {found.get(key)}" for key in ours if found.get(key) != ours[key]
    ]
    other += [
        f"an array {leaf.dtype} {leaf.shape}, found {array.dtype} {array.shape}"
        for array, leaf in zip(arrays, leaves, strict=True)
        if array.shape != leaf.shape or array.dtype != leaf.dtype
    ]
    if other:
        raise ArgumentError(
            f"{path} is a checkpoint of other runs: expected {other[0]}. Remove it to start over"
        )
    read: Tree = jax.tree.unflatten(jax.tree.structure(like), arrays)
    return read

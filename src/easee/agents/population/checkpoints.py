"""Arrays in a file, so that a population goes on where it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from easee._utils.files import replacing
from easee.errors import ArgumentError, MissingExtraError

try:
    import jax
except ImportError:
    raise MissingExtraError("jax", "jax") from None

Tree = TypeVar("Tree")


def save(path: Path, tree: Any, about: dict[str, Any]) -> None:
    """Write arrays, and plain data that says what they are; an old file is replaced at the end."""
    leaves = {f"{i}": np.asarray(_plain(leaf)) for i, leaf in enumerate(jax.tree.leaves(tree))}
    note = np.frombuffer(json.dumps(about).encode(), np.uint8)
    with replacing(path) as file:
        np.savez(file, allow_pickle=False, about=note, **leaves)


def load(path: Path, like: Tree, about: dict[str, Any]) -> Tree:
    """Read arrays of the same shapes as those of a tree.

    Raises:
        ArgumentError: the file is damaged, or of something else.
    """
    found, arrays = _read(path)
    leaves, structure = jax.tree.flatten(like)
    other = _differences(json.loads(json.dumps(about)), found)
    other += _other_arrays([_plain(leaf) for leaf in leaves], arrays)
    if other:
        raise ArgumentError(
            f"{path} is a checkpoint of other runs: expected {other[0]}. Remove it to start over"
        )
    read: Tree = jax.tree.unflatten(structure, map(_like, arrays, leaves))
    return read


def _read(path: Path) -> tuple[dict[str, Any], list[Any]]:
    """Return what a file says of its arrays, and the arrays."""
    try:
        with open(path, "rb") as handle, np.load(handle) as file:
            about = dict(json.loads(bytes(file["about"])))
            return about, [file[f"{i}"] for i in range(len(file.files) - 1)]
    except FileNotFoundError:
        raise ArgumentError(f"there is no checkpoint {path}") from None
    except Exception as error:  # whatever unpacking and parsing of a damaged file comes upon
        raise ArgumentError(
            f"{path} is no checkpoint, or not a whole one ({error}): remove it to start over"
        ) from None


def _differences(ours: dict[str, Any], found: dict[str, Any]) -> list[str]:
    return [
        f"{key} {ours[key]}, found {found.get(key)}" for key in ours if found.get(key) != ours[key]
    ]


def _other_arrays(leaves: list[Any], arrays: list[Any]) -> list[str]:
    if len(arrays) != len(leaves):
        return [f"{len(leaves)} arrays, found {len(arrays)}"]
    return [
        f"an array {leaf.dtype} {leaf.shape}, found {array.dtype} {array.shape}"
        for array, leaf in zip(arrays, leaves, strict=True)
        if array.shape != leaf.shape or array.dtype != leaf.dtype
    ]


def _is_key(leaf: Any) -> bool:
    return bool(jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key))


def _plain(leaf: Any) -> Any:
    """Return an array of numbers: those of a random key, if it is one."""
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _like(array: Any, leaf: Any) -> Any:
    """Return numbers as what they were read for."""
    if not _is_key(leaf):
        return array
    return jax.random.wrap_key_data(array, impl=jax.random.key_impl(leaf))

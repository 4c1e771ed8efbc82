"""Checkpoints: trees of arrays in a file, with a description of the runs they belong to."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np

from easee._utils.files import replacing
from easee.errors import ArgumentError

Tree = TypeVar("Tree")


def save(path: Path, tree: Any, description: dict[str, Any]) -> None:
    """Write a tree of arrays and its description; an existing file is replaced atomically."""
    arrays = {f"{i}": np.asarray(_as_numbers(a)) for i, a in enumerate(jax.tree.leaves(tree))}
    text = np.frombuffer(json.dumps(description).encode(), np.uint8)
    with replacing(path) as file:
        np.savez(file, allow_pickle=False, description=text, **arrays)


def load(path: Path, template: Tree, description: dict[str, Any]) -> Tree:
    """Read a tree of arrays with the structure, shapes and types of a template.

    Raises:
        ArgumentError: the file is damaged, or has another description or other arrays.
    """
    found, arrays = _read(path)
    leaves, structure = jax.tree.flatten(template)
    expected = _with_arrays(json.loads(json.dumps(description)), map(_as_numbers, leaves))
    found = _with_arrays(found, arrays)
    mismatches = [
        f"{key} {expected.get(key)}, found {found.get(key)}"
        for key in expected | found
        if expected.get(key) != found.get(key)
    ]
    if mismatches:
        raise ArgumentError(
            f"{path} is a checkpoint of other runs: expected {mismatches[0]}. Remove it to start "
            "over"
        )
    restored = (
        jax.random.wrap_key_data(array, impl=jax.random.key_impl(leaf)) if _is_key(leaf) else array
        for leaf, array in zip(leaves, arrays, strict=True)
    )
    tree: Tree = jax.tree.unflatten(structure, restored)
    return tree


def _read(path: Path) -> tuple[dict[str, Any], list[Any]]:
    """Return the description and the arrays of a file."""
    try:
        with open(path, "rb") as handle, np.load(handle) as file:
            description = dict(json.loads(bytes(file["description"])))
            return description, [file[f"{i}"] for i in range(len(file.files) - 1)]
    except FileNotFoundError:
        raise ArgumentError(f"there is no checkpoint {path}") from None
    except Exception as error:  # a damaged file can make NumPy and JSON raise many kinds
        raise ArgumentError(
            f"{path} is not a checkpoint, or is incomplete ({error}): remove it to start over"
        ) from None


def _with_arrays(description: dict[str, Any], arrays: Iterable[Any]) -> dict[str, Any]:
    """Return a description together with the type and shape of each array."""
    return description | {f"array {i}": f"{a.dtype} {a.shape}" for i, a in enumerate(arrays)}


def _is_key(leaf: Any) -> bool:
    return bool(jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key))


def _as_numbers(leaf: Any) -> Any:
    """Return the data of random keys, and other arrays unchanged."""
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf

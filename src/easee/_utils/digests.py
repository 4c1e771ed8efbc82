"""Digests of nested observations: what tells one observation from another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np


def digest(observation: Any) -> bytes:
    """Return what tells one observation from another, whatever it is made of.

    >>> digest({"image": np.zeros(3)}) == digest({"image": np.zeros(3)})
    True
    """
    found = hashlib.blake2b(digest_size=16)
    for path, value in leaves(observation):
        found.update(path.encode() + b"=" + _contents(value))
    return found.digest()


def _contents(value: Any) -> bytes:
    if isinstance(value, np.ndarray) and value.ndim == 0:  # a number of NumPy's is that number
        value = value.item()
    if not isinstance(value, np.ndarray):  # adding 0 makes 0.0 of -0.0, which is equal
        return repr(value + 0.0 if isinstance(value, float) else value).encode()
    if value.dtype.hasobject:
        return repr(value.tolist()).encode()
    same = value + value.dtype.type(0) if value.dtype.kind in "fc" else value
    return f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(same).tobytes()


def leaves(observation: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the arrays and plain values that an observation is made of, with where they are."""
    if isinstance(observation, Mapping | tuple | list) and not observation:
        yield path, observation
    elif isinstance(observation, Mapping):
        for key in sorted(observation, key=repr):
            yield from leaves(observation[key], f"{path}[{key!r}]")
    elif isinstance(observation, tuple | list):
        for i, part in enumerate(observation):
            yield from leaves(part, f"{path}[{i}]")
    elif hasattr(observation, "__array__"):  # numbers of NumPy's, tensors
        yield path, np.asarray(observation)
    else:
        yield path, observation

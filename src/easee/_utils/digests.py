"""Digests of nested observations."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np


def digest(observation: Any) -> bytes:
    """Return a hash of an observation; equal observations have equal hashes.

    >>> digest({"image": np.zeros(3)}) == digest({"image": np.zeros(3)})
    True
    """
    result = hashlib.blake2b(digest_size=16)
    for path, value in leaves(observation):
        result.update(path.encode() + b"=" + _contents(value))
    return result.digest()


def _contents(value: Any) -> bytes:
    # Adding 0 turns -0.0 into 0.0, which is equal to it.
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if not isinstance(value, np.ndarray):
        return repr(value + 0.0 if isinstance(value, float) else value).encode()
    if value.dtype.hasobject:
        return repr(value.tolist()).encode()
    if value.dtype.kind in "fc":
        value = value + value.dtype.type(0)
    return f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes()


def leaves(observation: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and value of each array and plain value in an observation."""
    if isinstance(observation, Mapping | tuple | list) and not observation:
        yield path, observation
    elif isinstance(observation, Mapping):
        for key in sorted(observation, key=repr):
            yield from leaves(observation[key], f"{path}[{key!r}]")
    elif isinstance(observation, tuple | list):
        for i, part in enumerate(observation):
            yield from leaves(part, f"{path}[{i}]")
    elif hasattr(observation, "__array__"):  # NumPy scalars and tensors
        yield path, np.asarray(observation)
    else:
        yield path, observation

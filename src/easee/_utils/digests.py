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


def observation_key(observation: Any) -> bytes:
    """Return bytes that identify an observation among those of one environment, fast.

    Equal integers of different types are equal.

    >>> observation_key(3) == observation_key(np.int32(3))
    True
    """
    if isinstance(observation, int | np.integer) and abs(int(observation)) < 2**63:
        return np.int64(observation).tobytes()
    if not isinstance(observation, np.ndarray | float | np.floating):
        return digest(observation)
    array = np.asarray(observation)
    return (array + 0 if array.dtype.kind == "f" else array).tobytes()  # 0.0 and -0.0 are equal


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

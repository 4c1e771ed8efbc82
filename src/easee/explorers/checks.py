"""Checks of the arguments and states of explorers."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from easee._utils.checks import checked_count, excerpt
from easee.errors import ArgumentError, ArgumentTypeError
from easee.explorers.sampling import Actions, Mask

Seed = int | np.integer[Any] | np.random.Generator | None

MOST = 10_000_000  # environments or actions of an explorer


def checked_size(value: Any, name: str) -> int:
    """Return a number of environments or actions.

    >>> checked_size(10**30, "n_envs")
    Traceback (most recent call last):
    easee.errors.ArgumentError: expected n_envs of at most 10,000,000, found ...
    """
    count = checked_count(value, name)
    if count > MOST:
        raise ArgumentError(f"expected {name} of at most {MOST:,}, found {count:,}")
    return count


def checked_generator(seed: Seed) -> np.random.Generator:
    """Return the generator of a seed."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"expected a seed as None, a non-negative integer or a Generator, found {seed!r}"
        ) from None


def checked_actions(actions: ArrayLike, n_envs: int, n_actions: int) -> Actions:
    """Return the actions of all environments, int (n_envs,)."""
    array = _per_env(actions, n_envs)
    if array.shape != (n_envs,):
        raise ArgumentError(
            f"expected one action for each of {n_envs} environments, found {_found(actions, array)}"
        )
    if array.dtype.kind not in "iu":
        raise ArgumentTypeError(f"expected actions as integers, found {array.dtype}")
    integers = array.astype(np.int64, copy=False)
    # Viewed as unsigned, negative numbers are large: one comparison finds both. For small arrays,
    # count_nonzero takes half the time of any.
    if np.count_nonzero(integers.view(np.uint64) >= n_actions):
        raise ArgumentError(
            f"expected actions from 0 to {n_actions - 1}, found {excerpt(array.tolist())}"
        )
    return integers


def checked_flags(flags: ArrayLike | None, name: str, n_envs: int) -> Mask:
    """Return one flag per environment, bool (n_envs,); all False for None."""
    if flags is None:
        return np.zeros(n_envs, bool)
    array = _per_env(flags, n_envs)
    if array.shape != (n_envs,):
        raise ArgumentError(f"expected {name} of shape ({n_envs},), found {_found(flags, array)}")
    return _as_booleans(array, name)


def checked_which(which: ArrayLike | None, n_envs: int) -> Mask:
    """Return the environments to reset, bool (n_envs,); all of them for None.

    Integers are rejected, because [0, 1] could be two flags or two environments.
    """
    if which is None:
        return np.ones(n_envs, bool)
    if _as_array(which).dtype != bool:
        raise ArgumentTypeError(
            f"expected which as booleans, one for each of {n_envs} environments, found "
            f"{excerpt(repr(which))}: to reset some by number, pass "
            "np.isin(np.arange(n_envs), numbers)"
        )
    return checked_flags(which, "which", n_envs)


def checked_epsilon(epsilon: float | ArrayLike, n_envs: int) -> float | NDArray[np.float64]:
    """Return the exploration probability, a float or float (n_envs,)."""
    array = _as_array(epsilon)
    if array.dtype.kind not in "biuf":
        raise ArgumentTypeError(f"expected epsilon as a number, found {excerpt(repr(epsilon))}")
    if array.shape not in ((), (n_envs,)):
        raise ArgumentError(
            f"expected epsilon as a number or of shape ({n_envs},), found {array.shape}"
        )
    if not ((array >= 0) & (array <= 1)).all():
        raise ArgumentError(f"expected epsilon between 0 and 1, found {array.tolist()}")
    return float(array.item()) if array.size == 1 else array.astype(float)


def checked_mask(mask: ArrayLike | None, n_envs: int, n_actions: int) -> Mask | None:
    """Return the allowed actions, bool (n_envs, k), or None if all are."""
    if mask is None:
        return None
    array = _as_array(mask)
    if array.shape not in ((n_actions,), (n_envs, n_actions)):
        raise ArgumentError(
            f"expected a mask of shape ({n_actions},) or ({n_envs}, {n_actions}), "
            f"found {_found(mask, array)}"
        )
    array = np.broadcast_to(_as_booleans(array, "a mask"), (n_envs, n_actions))
    empty = ~array.any(axis=1)
    if empty.any():
        raise ArgumentError(f"the mask of environment {int(empty.argmax())} allows no action")
    return array


def checked_integers(value: Any, name: str, n_envs: int, largest: float) -> NDArray[np.int64]:
    """Return a copy of an integer array of a state, one entry per environment."""
    array = _as_array(value)
    if array.dtype.kind not in "iu" or array.shape != (n_envs,):
        raise ArgumentError(
            f"this state is damaged: expected {name} as integers of shape ({n_envs},), "
            f"found {array.dtype} of shape {array.shape}"
        )
    largest = min(largest, np.iinfo(np.int64).max)
    if array.min() < 0 or array.max() > largest:
        raise ArgumentError(
            f"this state is damaged: expected {name} from 0 to {largest}, "
            f"found {excerpt(array.tolist())}"
        )
    return array.astype(np.int64)


def checked_uniforms(value: Any) -> list[float]:
    """Return a copy of the buffered random numbers of a state."""
    if not isinstance(value, list) or not all(isinstance(u, float) and 0 <= u < 1 for u in value):
        raise ArgumentError("this state is damaged: expected uniforms as a list within [0, 1)")
    return list(value)


def _per_env(values: ArrayLike, n_envs: int) -> NDArray[Any]:
    """Return an array; a number is enough for a single environment."""
    array = _as_array(values)
    return array.reshape(1) if array.shape == () and n_envs == 1 else array


def _as_array(value: Any) -> NDArray[Any]:
    """Return an array; if rows differ in length, one of dtype object without axes."""
    try:
        return np.asarray(value)
    except ValueError:
        return np.asarray(None)


def _found(value: Any, array: NDArray[Any]) -> str:
    """Describe an array of the wrong shape."""
    ragged = array.dtype == object and array.shape == () and isinstance(value, list | tuple)
    return "rows of different lengths" if ragged else f"an array of shape {array.shape}"


def _as_booleans(array: NDArray[Any], name: str) -> Mask:
    """Return an array of zeros and ones as booleans."""
    if array.dtype.kind == "b":
        return array
    # Texts and structures cannot be compared with numbers.
    if array.dtype.kind not in "iufO" or not np.isin(array, (0, 1)).all():
        raise ArgumentTypeError(f"expected {name} of booleans, found {array.dtype}")
    return array.astype(bool)

"""Texts that stand for exploration policies, for configuration files and command lines."""

import os
from functools import lru_cache

from easee import priors
from easee._utils.checks import nearest
from easee.errors import ArgumentError, ArgumentTypeError, PriorError
from easee.policy import ExplorationPolicy, compile
from easee.priors.equivalences import Equivalences

AnyPolicy = ExplorationPolicy | str | os.PathLike[str]
FORMS = "'policy.npz', 'prior.txt:20' or 'doorkey:6'"


def read_policy(text: str | os.PathLike[str]) -> ExplorationPolicy:
    """Return the policy that a text stands for.

    Args:
        text: path of a saved policy, which ends in .npz; or a prior and a depth, separated by a
            colon, where the prior is the name of a ready-made one or the path of a text file.

    Raises:
        ArgumentError: the text has another form, or is not a text.
        PolicyFileError: the file is not a policy.
        PriorError: there is no such prior.

    >>> read_policy("rotation-grid:6").graph.depth
    6
    """
    if not isinstance(text, str | os.PathLike):
        raise ArgumentTypeError(
            f"expected a policy as {FORMS}, found an object of type {type(text).__name__}"
        )
    name = os.fsdecode(text)
    if name.endswith(".npz"):
        return ExplorationPolicy.load(name)
    prior, depth = split_depth(name)
    return _compiled(prior, depth) if prior in priors.names() else _compile(prior, depth)


def split_depth(text: str) -> tuple[str, int]:
    """Return the prior and the depth of a string such as "doorkey:6".

    Raises:
        ArgumentError: the text has another form.

    >>> split_depth("prior.txt:20")
    ('prior.txt', 20)
    """
    prior, colon, depth = text.rpartition(":")
    if not colon:
        known = nearest(text, priors.names())
        hint = f"add a depth, e.g. '{text}:6'" if _is_prior(text) else known
        raise ArgumentError(f"expected a policy as {FORMS}, found {text!r}: {hint}")
    if not depth.strip().isdecimal():
        raise ArgumentError(
            f"expected a policy as {FORMS}, found {text!r}, whose depth is not a number"
        )
    return prior, int(depth)


def as_policy(policy: AnyPolicy) -> ExplorationPolicy:
    """Return a policy, read from its text if need be."""
    return read_policy(policy) if isinstance(policy, str | os.PathLike) else policy


def _is_prior(name: str) -> bool:
    return name in priors.names() or os.path.exists(name)


def _compile(prior: str, depth: int) -> ExplorationPolicy:
    return compile(find_prior(prior), depth)


_compiled = lru_cache(maxsize=32)(_compile)  # for ready-made priors, which do not change


def find_prior(text: str) -> Equivalences:
    """Return the ready-made prior with a name, or read the file at a path."""
    if text in priors.names():
        return priors.get(text)
    if os.path.splitext(text)[1] or os.path.exists(text):
        return Equivalences.load(text)
    raise PriorError(
        f"{text!r} is neither a file nor a ready-made prior: {nearest(text, priors.names())} "
        "('easee priors' lists them)"
    )

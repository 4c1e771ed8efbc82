"""EASEE: exploration policies from equivalent action sequences.

>>> import easee
>>> omega = easee.Equivalences(
...     ["forward", "left", "right"],
...     ["right left ~ ", "left right ~ ", "left left ~ right right"],
... )
>>> policy = easee.compile(omega, depth=6)
>>> explorer = easee.Explorer(policy, n_envs=8, seed=0)
>>> explorer.sample().shape
(8,)
"""

from easee import envs, priors
from easee.discovery import Discovery, discover
from easee.equivalences import (
    Equivalences,
    commute,
    commute_all,
    decompose,
    idempotent,
    inverse,
    noop,
    power,
)
from easee.errors import (
    ArgumentError,
    ArgumentTypeError,
    ConvergenceError,
    EaseeError,
    GraphTooLargeError,
    MissingExtraError,
    PolicyFileError,
    PopulationTooLargeError,
    PriorError,
    ProbeError,
    UnknownActionError,
    WriteError,
)
from easee.explorer import Explorer
from easee.explorer_base import BaseExplorer
from easee.flow import duality_gap
from easee.graph import LocalGraph, unroll
from easee.policy import ExplorationPolicy, balance, compile
from easee.rivals import TabuExplorer, UniformExplorer, ZetaExplorer
from easee.verification import Verification, verify

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "BaseExplorer",
    "ConvergenceError",
    "Discovery",
    "EaseeError",
    "Equivalences",
    "ExplorationPolicy",
    "Explorer",
    "GraphTooLargeError",
    "LocalGraph",
    "MissingExtraError",
    "PolicyFileError",
    "PopulationTooLargeError",
    "PriorError",
    "ProbeError",
    "TabuExplorer",
    "UniformExplorer",
    "UnknownActionError",
    "Verification",
    "WriteError",
    "ZetaExplorer",
    "balance",
    "commute",
    "commute_all",
    "compile",
    "decompose",
    "discover",
    "duality_gap",
    "envs",
    "idempotent",
    "inverse",
    "noop",
    "power",
    "priors",
    "unroll",
    "verify",
]

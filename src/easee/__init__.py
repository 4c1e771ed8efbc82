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
from easee.explorers.base import BaseExplorer
from easee.explorers.baselines import TabuExplorer, UniformExplorer, ZetaExplorer
from easee.explorers.easee import Explorer
from easee.flow.certificate import duality_gap
from easee.graph import LocalGraph, unroll
from easee.policy import ExplorationPolicy, balance, compile
from easee.policy_text import read_policy
from easee.priors.builders import (
    commute,
    commute_all,
    decompose,
    idempotent,
    independent,
    inverse,
    noop,
    power,
)
from easee.priors.equivalences import Equivalences
from easee.probing.discover import Discovery, discover
from easee.probing.tune import tune
from easee.probing.tuning import Tuning
from easee.probing.verify import Verification, verify

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
    "Tuning",
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
    "independent",
    "inverse",
    "noop",
    "power",
    "priors",
    "read_policy",
    "tune",
    "unroll",
    "verify",
]

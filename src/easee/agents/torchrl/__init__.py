"""EASEE in TorchRL: modules and a transform that keep the nodes in the tensordict.

from easee.agents.torchrl import EaseeModule
explore = EaseeModule(env.action_spec, "rotation-grid:6")  # instead of EGreedyModule
env = env.append_transform(explore.make_tensordict_primer())
policy = TensorDictSequential(values, explore)

`NodeTracker`, the transform, follows the actions that environments take. `EaseeModule` replaces
random actions, `ReferenceModule` adds log-probabilities to the logits of an actor.
"""

from easee._utils.extras import requires_extra

with requires_extra("torchrl", "torchrl"):
    import torchrl  # noqa: F401

from easee.agents.torchrl.distributions import (
    ReferenceCategorical,
    ReferenceMaskedCategorical,
    ReferenceOneHotCategorical,
)
from easee.agents.torchrl.explore import EaseeModule
from easee.agents.torchrl.reference import ReferenceModule
from easee.agents.torchrl.tracker import NodeTracker

__all__ = [
    "EaseeModule",
    "NodeTracker",
    "ReferenceCategorical",
    "ReferenceMaskedCategorical",
    "ReferenceModule",
    "ReferenceOneHotCategorical",
]

"""Actions of TorchRL: their specs, numbers and masks."""

from typing import Any, NamedTuple

import torch
from torchrl.data import Categorical, Composite, OneHot, TensorSpec

from easee.errors import ArgumentError, ArgumentTypeError

Key = str | tuple[str, ...]


class ActionKind(NamedTuple):
    """How actions are encoded.

    Attributes:
        n_actions: number of actions.
        one_hot: whether actions are one-hot; otherwise they are numbers.
    """

    n_actions: int
    one_hot: bool


def action_kind(spec: TensorSpec, action_key: Key) -> ActionKind:
    """Return how actions with a spec are encoded.

    Args:
        spec: the spec of the action, or a composite one that has it at `action_key`.
        action_key: key of the action.

    >>> action_kind(Categorical(3), "action")
    ActionKind(n_actions=3, one_hot=False)
    """
    if isinstance(spec, Composite):
        if action_key not in spec.keys(True, True):
            found = list(spec.keys(True, True))
            raise ArgumentError(f"expected a spec with the key {action_key!r}, found {found}")
        spec = spec[action_key]
    if isinstance(spec, OneHot | Categorical):
        # Those of torchrl.envs.transforms.ActionDiscretizer are lists of one.
        boxes = getattr(spec.space, "boxes", [spec.space])
        if len(boxes) == 1:
            return ActionKind(int(boxes[0].n), isinstance(spec, OneHot))
    raise ArgumentTypeError(
        f"expected actions with a Categorical or OneHot spec, found {type(spec).__name__}: a prior "
        "needs one finite list of actions. Wrap environments with MultiDiscrete actions in "
        "easee.envs.FlatActions(env), and discretise continuous ones"
    )


def action_numbers(action: torch.Tensor, one_hot: bool, shape: torch.Size) -> torch.Tensor:
    """Return actions, numbers or one-hot, as integers with one number per node."""
    numbers = action.long().argmax(-1) if one_hot else action.long()
    if numbers.numel() != shape.numel():
        raise ArgumentError(
            f"expected one action per node, found nodes of shape {tuple(shape)} and actions of "
            f"shape {tuple(action.shape)}: actions of several agents are not supported"
        )
    return numbers.reshape(shape)


def encode_actions(numbers: torch.Tensor, one_hot: bool, like: torch.Tensor) -> torch.Tensor:
    """Return integers as actions of the shape and type of others."""
    if one_hot:
        numbers = torch.nn.functional.one_hot(numbers, like.shape[-1])
    return numbers.reshape(like.shape).to(like.dtype)


def find_mask(tensordict: Any, mask_key: Key, shape: torch.Size) -> torch.Tensor:
    """Return the allowed actions, bool of a shape (..., k); each row needs one."""
    mask = tensordict.get(mask_key, None)
    if mask is None:
        found = list(tensordict.keys(True, True))
        raise ArgumentError(f"expected a mask at the key {mask_key!r}, found the keys {found}")
    if mask.shape != shape:
        raise ArgumentError(
            f"expected a mask of shape {tuple(shape)}, found one of shape {tuple(mask.shape)}"
        )
    allowed: torch.Tensor = mask.bool()
    if not allowed.any(-1).all():
        index = (~allowed.any(-1)).nonzero()[0].tolist()
        raise ArgumentError(f"the mask of environment {index} allows no action")
    return allowed


def restrict(rows: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Restrict probabilities (..., k) to a mask; uniform on the mask where all are 0.

    >>> mask = torch.tensor([False, True, True])
    >>> restrict(torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]), mask)
    tensor([[0.0000, 1.0000, 0.0000],
            [0.0000, 0.5000, 0.5000]])
    """
    allowed = rows * mask
    allowed = torch.where(allowed.sum(-1, keepdim=True) > 0, allowed, mask.to(rows.dtype))
    return allowed / allowed.sum(-1, keepdim=True)

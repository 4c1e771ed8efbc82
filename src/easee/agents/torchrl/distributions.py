"""Distributions whose entropy is -KL(pi || reference), for the entropy bonus of losses."""

from typing import Any

import torch
from torchrl.modules import MaskedCategorical, OneHotCategorical


class ReferenceEntropy:
    """Replaces the entropy of a categorical distribution by -KL(pi || reference).

    Args:
        args: arguments of the distribution, whose logits include the reference.
        reference: float (..., k), log-probabilities of the reference.
        kwargs: keyword arguments of the distribution.
    """

    probs: torch.Tensor

    def __init__(self, *args: Any, reference: torch.Tensor, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.reference = reference

    def entropy(self) -> torch.Tensor:
        """Return -KL(pi || reference), float (...)."""
        entropy: torch.Tensor = super().entropy()  # type: ignore[misc]
        return entropy + (self.probs * self.reference).sum(-1)


class ReferenceCategorical(ReferenceEntropy, torch.distributions.Categorical):
    """Distribution of actions that are numbers, for an actor with a `ReferenceModule`.

    >>> uniform = torch.full((3,), 1 / 3).log()
    >>> ReferenceCategorical(logits=uniform, reference=uniform).entropy()
    tensor(0.)
    """


class ReferenceOneHotCategorical(ReferenceEntropy, OneHotCategorical):  # type: ignore[misc]
    """Distribution of one-hot actions, for an actor with a `ReferenceModule`."""


class ReferenceMaskedCategorical(ReferenceEntropy, MaskedCategorical):  # type: ignore[misc]
    """Distribution of masked actions that are numbers, for an actor with a `ReferenceModule`."""

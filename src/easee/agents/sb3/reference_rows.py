"""Action distributions and rollout buffers of Stable-Baselines3 with rows of a reference policy.

A row holds the reference's log-probabilities of all actions at the node of a step.
"""

from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.buffers import RolloutBuffer

from easee.errors import ArgumentTypeError


class ReferenceLogits:
    """A categorical distribution of Stable-Baselines3 that adds rows to its logits.

    Attributes:
        rows: float (n, k), log-probabilities of the reference, or None for the plain distribution.
    """

    rows: torch.Tensor | None = None
    distribution: Any

    def proba_distribution(self, action_logits: torch.Tensor) -> Any:
        """Set the logits; see Stable-Baselines3."""
        if self.rows is not None:
            action_logits = action_logits + self._relative
        return super().proba_distribution(action_logits)  # type: ignore[misc]

    def entropy(self) -> torch.Tensor:
        """Return -KL(pi || reference), float (n,), or the entropy without a reference."""
        entropy: torch.Tensor = super().entropy()  # type: ignore[misc]
        if self.rows is None:
            return entropy
        probabilities: torch.Tensor = self.distribution.probs
        cross = (probabilities * self._relative).sum(dim=1)
        return entropy + cross + self.rows.amax(dim=1)

    @property
    def _relative(self) -> torch.Tensor:
        """Rows relative to their largest entry: exactly 0 if the reference is uniform.

        A constant changes neither the policy nor the gradients, so agents with a uniform reference
        are then identical to those without one, without any rounding.
        """
        assert self.rows is not None
        return self.rows - self.rows.amax(dim=1, keepdim=True)


class ReferenceRows(RolloutBuffer):
    """A rollout buffer with the reference's log-probabilities of each step.

    Attributes:
        reference_rows: float32 (n_steps, n_envs, k); flat after the first minibatch, like the other
            arrays.
        distribution: receives the rows of each minibatch; None outside of updates.
    """

    distribution: ReferenceLogits | None = None

    def reset(self) -> None:
        """Discard the rollout."""
        k = int(self.action_space.n)  # type: ignore[attr-defined]
        self.reference_rows = np.zeros((self.buffer_size, self.n_envs, k), np.float32)
        super().reset()

    def get(self, batch_size: int | None = None) -> Any:
        """Yield minibatches in random order."""
        if not self.generator_ready:
            self.reference_rows = self.swap_and_flatten(self.reference_rows)
        yield from super().get(batch_size)

    def _get_samples(self, batch_inds: NDArray[Any], env: Any = None) -> Any:
        if self.distribution is not None:
            self.distribution.rows = self.to_torch(self.reference_rows[batch_inds])
        return super()._get_samples(batch_inds, env)


@cache
def with_reference_logits(kind: type) -> Any:
    """Return a class of categorical distributions with a reference."""
    if not hasattr(kind, "proba_distribution") or "Categorical" not in kind.__name__:
        raise ArgumentTypeError(
            f"expected a policy with a categorical action distribution, found {kind.__name__}"
        )
    return type(f"Reference{kind.__name__}", (ReferenceLogits, kind), {})


@cache
def with_reference_rows(kind: type) -> Any:
    """Return a class of rollout buffers with a reference."""
    return type(f"Reference{kind.__name__}", (ReferenceRows, kind), {})

"""PPO of sb3-contrib for environments with action masks, with a reference policy."""

from easee._utils.extras import requires_extra
from easee.agents.sb3.reference import ReferenceMixin

with requires_extra("sb3-contrib", "sb3-contrib"):
    import sb3_contrib


class MaskablePPO(ReferenceMixin, sb3_contrib.MaskablePPO):  # type: ignore[misc]
    """PPO of sb3-contrib with a reference policy, which is restricted to the allowed actions.

    Without a reference, results are identical to those of sb3-contrib.
    """

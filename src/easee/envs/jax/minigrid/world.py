"""MiniGrid's tasks as a world."""

from dataclasses import KW_ONLY, dataclass

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

import easee.envs.jax.minigrid.codes as codes
import easee.envs.jax.minigrid.layouts as layouts
import easee.envs.jax.minigrid.view as view
from easee._utils.checks import checked_count
from easee.envs.jax.minigrid.moves import MiniGridState
from easee.envs.jax.world import Outcome, World, int32, set_fields
from easee.errors import ArgumentError, ArgumentTypeError
from easee.priors import MINIGRID_ACTIONS

VIEW = 7  # MiniGrid's default
STATES = (1, 2, 3)  # of doors: closed, locked; of the agent: headings; 0 needs no channel


@dataclass(frozen=True)
class MiniGrid(World):
    """A task of MiniGrid, by its id.

    Layouts come from MiniGrid's own generator: each episode draws one of a bank, which is made
    once per process. Everything else is computed here, as MiniGrid does: moves, objects, rewards,
    ends of episodes and images. Missions are not part of the observation.

    An observation has 15 channels for each cell: the type of the object (11, one-hot), its colour
    (1, between 0 and 1), and the state of a door or the heading of the agent (3, one-hot for the
    states 1 to 3). Replay buffers store MiniGrid's image.

    Args:
        id: id of a task registered by MiniGrid; tasks with random moves are not supported.
        layouts: number of layouts in the bank.
        first_seed: seed of the first layout; the others have the seeds that follow.
        view: number of rows and columns that the agent sees.
        full: observe the whole grid, as `minigrid.wrappers.FullyObsWrapper`, instead of the view.

    Raises:
        ArgumentError: the id is unknown or not supported, or another argument is invalid.
        MissingExtraError: MiniGrid is not installed.

    >>> world = MiniGrid("MiniGrid-Empty-5x5-v0", layouts=1)
    >>> state = world.reset(jax.random.key(0))
    >>> for action in (2, 2, 1, 2, 2):  # forward, forward, right, forward, forward
    ...     state, reward, terminated, truncated = world.step(state, action)
    >>> bool(terminated), round(float(reward), 3)  # 1 - 0.9 * 5 / 100
    (True, 0.955)
    """

    id: str
    _: KW_ONLY
    layouts: int = 1024
    first_seed: int = 0
    view: int = VIEW
    full: bool = False
    action_names = MINIGRID_ACTIONS

    def __post_init__(self) -> None:
        layouts.check_id(self.id)
        set_fields(
            self,
            layouts=checked_count(self.layouts, "layouts"),
            first_seed=checked_count(self.first_seed, "first_seed", 0),
            view=_checked_view(self.view),
        )
        if not isinstance(self.full, bool):
            raise ArgumentTypeError(f"expected full as True or False, found {self.full!r}")
        if self.full and self.view != VIEW:
            raise ArgumentError(
                f"expected a view size or the full grid, found view={self.view} and full=True: "
                "leave one of them out"
            )

    @property
    def max_steps(self) -> int:
        """Number of steps after which an episode is truncated."""
        return layouts.frame_of(self.id).task.max_steps

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Shape of MiniGrid's image, (view, view, 3), or (width, height, 3) of the full grid."""
        width, height = layouts.frame_of(self.id).size if self.full else (self.view, self.view)
        return width, height, 3

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Shape of the observation, that of the image with 15 channels."""
        return (*self.image_shape[:2], len(codes.TYPES) + 1 + len(STATES))

    def reset(self, key: jax.Array) -> MiniGridState:
        """Draw a layout of the bank."""
        return self.start(jax.random.randint(key, (), 0, self.layouts))

    def start(self, number: ArrayLike) -> MiniGridState:
        """Return the first state of an episode with a given layout of the bank.

        Args:
            number: number of the layout, less than `layouts`; its seed is `first_seed + number`.
        """
        bank = layouts.bank_of(self.id, self.layouts, self.first_seed)
        grid, place, heading, target = (jnp.asarray(part)[number] for part in bank)
        nothing = jnp.asarray(codes.NOTHING, jnp.uint8)
        return MiniGridState(grid, place, heading, nothing, int32(0), target)

    def step(self, state: MiniGridState, action: ArrayLike) -> tuple[MiniGridState, *Outcome]:
        """Take one of MiniGrid's seven actions."""
        return layouts.frame_of(self.id).task.step(state, jnp.asarray(action))

    def image(self, state: MiniGridState) -> jax.Array:
        """Return MiniGrid's image: type, colour and state of the cells, uint8 (`image_shape`)."""
        if self.full:
            return view.full_image(state)
        see_through_walls = layouts.frame_of(self.id).see_through_walls
        return view.egocentric_image(state, self.view, see_through_walls)

    def pack(self, state: MiniGridState) -> jax.Array:
        """Return MiniGrid's image, uint8 (`image_shape`)."""
        return self.image(state)

    def unpack(self, packed: jax.Array) -> jax.Array:
        """Return type, colour and state of the cells as 15 channels, float32."""
        types = packed[..., :1] == jnp.arange(len(codes.TYPES))
        colours = packed[..., 1:2] / jnp.float32(len(codes.COLOURS) - 1)
        states = packed[..., 2:] == jnp.asarray(STATES)
        parts = [types, colours, states]
        return jnp.concatenate([part.astype(jnp.float32) for part in parts], axis=-1)


def _checked_view(value: int) -> int:
    """Return a view size that MiniGrid accepts; raise an error for anything else."""
    size = checked_count(value, "view", 3)
    if size % 2 == 0 or size > view.LARGEST:
        raise ArgumentError(f"expected an odd view from 3 to {view.LARGEST}, found {size}")
    return size

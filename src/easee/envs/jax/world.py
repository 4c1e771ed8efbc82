"""The interface of worlds: environments as pure functions of JAX arrays."""

from typing import Any, ClassVar, Protocol, TypeAlias

from easee._utils.extras import requires_extra

with requires_extra("jax"):
    import jax
    import jax.numpy as jnp
    from jax.typing import ArrayLike

State: TypeAlias = Any  # a NamedTuple of arrays, different for each world
Outcome: TypeAlias = tuple[jax.Array, jax.Array, jax.Array]  # reward, terminated, truncated


class World(Protocol):
    """The interface of a world.

    Actions are not checked, because compiled code cannot raise, and episodes do not restart by
    themselves. A world defines `observe`, or `pack` and `unpack` if replay buffers can store less
    than whole states.
    """

    action_names: ClassVar[tuple[str, ...]]

    @property
    def n_actions(self) -> int:
        """Number of actions; they are numbered from 0."""
        return len(self.action_names)

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Shape of an observation."""

    def reset(self, key: jax.Array) -> State:
        """Return the initial state of the first episode."""

    def restart(self, state: State, key: jax.Array) -> State:
        """Return the initial state of the next episode, with the same layout."""
        return self.reset(key)

    def step(self, state: State, action: ArrayLike) -> tuple[State, *Outcome]:
        """Return the next state, the reward, and whether the episode is terminated or truncated."""

    def observe(self, state: State) -> jax.Array:
        """Return the observation as Stable-Baselines3 preprocesses it, float32."""
        return self.unpack(self.pack(state))

    def pack(self, state: State) -> Any:
        """Return what a replay buffer stores of a state: enough for the observation."""
        return state

    def unpack(self, packed: Any) -> jax.Array:
        """Return the observation of a packed state, float32."""
        return self.observe(packed)


def one_hot(values: list[jax.Array], sizes: tuple[int, ...]) -> jax.Array:
    """Return the concatenated one-hot vectors of some values, float32 (sum of sizes,)."""
    pairs = zip(values, sizes, strict=True)
    return jnp.concatenate([jnp.arange(size) == value for value, size in pairs]).astype(jnp.float32)


def int32(value: Any) -> jax.Array:
    """Return a value as an int32 array."""
    return jnp.asarray(value, jnp.int32)


def set_fields(world: Any, **fields: Any) -> None:
    """Set fields of a frozen dataclass while it is being initialised."""
    for name, value in fields.items():
        object.__setattr__(world, name, value)

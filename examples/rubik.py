"""Rubik's cube: thirty relations of its quarter turns, and how exact the graph is.

    python examples/rubik.py

builds the local-dynamics graph to depth 5, compares its layers with the positions of a real cube,
and balances it. Nothing but the relations is known to the library: the cube is only the judge.
"""

import argparse
import time

import numpy as np

import easee

OPPOSITE = (("R", "L"), ("U", "D"), ("F", "B"))  # one pair of faces for each axis


def prior() -> easee.Equivalences:
    """Return the relations of the quarter turns: each face alone, and opposite faces.

    >>> len(prior().actions), len(prior())
    (12, 30)
    """
    faces = [face for pair in OPPOSITE for face in pair]
    alone = [  # 18 relations
        easee.inverse(face, face + "'") | easee.power(face, 2, equals=f"{face}' {face}'")
        for face in faces
    ]
    opposite = [  # 12 relations
        easee.commute(u, v) for a, b in OPPOSITE for u in (a, a + "'") for v in (b, b + "'")
    ]
    turns = [turn for face in faces for turn in (face, face + "'")]
    return easee.Equivalences(turns, [*alone, *opposite])


def stickers() -> np.ndarray:
    """Return position and direction of the 54 stickers, int (54, 2, 3)."""
    found = []
    for axis in range(3):
        for side in (1, -1):
            for u in (-1, 0, 1):
                for v in (-1, 0, 1):
                    position, direction = np.zeros(3, int), np.zeros(3, int)
                    position[axis] = direction[axis] = side
                    position[(axis + 1) % 3], position[(axis + 2) % 3] = u, v
                    found.append((position, direction))
    return np.array(found)


def turns() -> np.ndarray:
    """Return the quarter turns as permutations of the stickers, int (12, 54), in prior's order."""
    all_stickers = stickers()
    index = {sticker.tobytes(): i for i, sticker in enumerate(all_stickers)}
    permutations = []
    for axis in range(3):
        a, b = (axis + 1) % 3, (axis + 2) % 3
        for side in (1, -1):
            for sign in (side, -side):  # clockwise, seen from outside; then anticlockwise
                moved = all_stickers.copy()
                face = moved[:, 0, axis] == side
                moved[face, :, a] = sign * all_stickers[face][:, :, b]
                moved[face, :, b] = -sign * all_stickers[face][:, :, a]
                permutations.append([index[sticker.tobytes()] for sticker in moved])
    return np.array(permutations)


def positions(depth: int) -> list[int]:
    """Count the positions of the cube that need 0, 1, ..., depth quarter turns.

    >>> positions(2)
    [1, 12, 114]
    """
    moves = turns().astype(np.uint8)
    layers = [np.arange(moves.shape[1], dtype=np.uint8)[None]]
    for _ in range(depth):
        reached = np.unique(layers[-1][:, moves].reshape(-1, moves.shape[1]), axis=0)
        seen = {row.tobytes() for layer in layers[-2:] for row in layer}  # a turn changes parity
        layers.append(np.array([row for row in reached if row.tobytes() not in seen]))
    return [len(layer) for layer in layers]


def main() -> None:
    """Print the layers of the graph and of the cube, and the policy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--depth", type=int, default=5)
    depth = parser.parse_args().depth
    omega = prior()
    easee.compile(omega, depth=2)  # the first call also imports parts of SciPy
    start = time.perf_counter()
    graph = easee.unroll(omega, depth=depth)
    built = time.perf_counter()
    policy = easee.balance(graph)
    end = time.perf_counter()
    print(f"relations  {len(omega)} of {len(omega.actions)} quarter turns")
    print(f"graph      {', '.join(map(str, graph.layer_sizes))}")
    print(f"cube       {', '.join(map(str, positions(depth)))}")
    print(f"exact      {graph.exact}: no equivalence of the relations is missing")
    print(f"time       {built - start:.3f} s to build, {end - built:.3f} s to balance")
    print()
    print(policy)


if __name__ == "__main__":
    main()

"""What is taken home: the policy as a file, a picture, and the Python lines that make the same."""

import base64
import json
import tempfile
from pathlib import Path
from typing import Any

from easee.priors.equivalences import Equivalences
from easee.studio.compilation import compiled

Json = dict[str, Any]


def policy_file(text: str, depth: int) -> Json:
    """Return the policy as the content of an `.npz` file, in base 64."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "policy.npz")
        compiled(text, depth).policy.save(path)
        content = path.read_bytes()
    return {"name": "policy.npz", "base64": base64.b64encode(content).decode()}


def figure(text: str, depth: int) -> Json:
    """Return the library's picture of the policy, as SVG."""
    return {"name": "policy.svg", "text": compiled(text, depth).policy.draw(pruned=True).svg}


def python_lines(omega: Equivalences, depth: int) -> str:
    """Return a program that makes the same policy and an explorer.

    >>> print(python_lines(Equivalences(["left", "right"], ["left right ~"]), 4))
    import easee
    <BLANKLINE>
    omega = easee.Equivalences(
        ["left", "right"],
        [
            "left right ~ Λ",
        ],
    )
    policy = easee.compile(omega, depth=4)
    policy.save("policy.npz")
    explorer = easee.Explorer(policy, n_envs=8, seed=0)
    """
    _, *relations = str(omega).split("\n")
    names = ", ".join(map(_literal, omega.actions))
    lines = "".join(f"        {_literal(relation)},\n" for relation in relations)
    pairs = f"    [\n{lines}    ],\n" if relations else ""
    return (
        f"import easee\n\nomega = easee.Equivalences(\n    [{names}],\n{pairs})\n"
        f"policy = easee.compile(omega, depth={depth})\n"
        'policy.save("policy.npz")\n'
        "explorer = easee.Explorer(policy, n_envs=8, seed=0)"
    )


def _literal(text: str) -> str:
    """Return a text in double quotes, as Python and JSON both write it."""
    return json.dumps(text, ensure_ascii=False)

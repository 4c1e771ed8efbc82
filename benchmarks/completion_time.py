"""Processor time of completion on random presentations, many of which never complete.

    python -m benchmarks.completion_time [--cases 3000] [--seed 0]

The presentations are those of the campaign (`soak.presentations`). The budget of completion is
counted in work, so what it takes in time depends on the machine.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from easee.words.completion import complete
from soak import presentations


def measure(cases: int, seed: int) -> dict[str, list[float]]:
    """Return the seconds of each presentation, by whether it completed."""
    rng = np.random.default_rng(seed)
    seconds: dict[str, list[float]] = {"completed": [], "did not complete": []}
    for _ in range(cases):
        presentation = presentations.equivalences(presentations.draw(rng)).indexed
        began = time.process_time()
        rules = complete(presentation.letters, presentation.pairs)  # `rules_of` has a cache
        took = time.process_time() - began
        seconds["completed" if rules.confluent else "did not complete"].append(took)
    return seconds


def main() -> None:
    """Print quantiles of the time."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    table = Table("presentations", "count", "median, ms", "p99, ms", "largest, ms")
    seconds = measure(arguments.cases, arguments.seed)
    for name, values in (seconds | {"all": [x for v in seconds.values() for x in v]}).items():
        if not values:
            continue
        quantiles = 1e3 * np.quantile(values, [0.5, 0.99, 1.0])
        table.add_row(name, f"{len(values):,}", *(f"{quantile:.1f}" for quantile in quantiles))
    Console().print(table)


if __name__ == "__main__":
    main()

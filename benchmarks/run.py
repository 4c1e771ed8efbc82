"""Run all measurements: `python -m benchmarks.run [--quick] [--out FOLDER]`.

Prints the table and writes `table.json`, `table.md` and `cost.png`.
"""

from __future__ import annotations

import json
import math
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks import measure, sampling
from benchmarks.cases import CASES, Case
from benchmarks.plot import plot_costs
from easee._utils.files import replacing

console = Console()
COLUMNS = {
    "graph": "left",
    "depth": "right",
    "nodes": "right",
    "edges": "right",
    "build": "right",
    "Algorithm 1": "right",
    "its nodes": "right",
    "balance": "right",
    "gap": "right",
    "CVXPY": "right",
    "its gap": "right",
    "speed-up": "right",
}


def main(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("benchmarks/results"),
    quick: Annotated[bool, typer.Option("--quick", help="Only graphs below 10,000 nodes.")] = False,
    limit: Annotated[float, typer.Option(help="Time limit of each baseline, in seconds.")] = 120.0,
) -> None:
    """Run the benchmark."""
    rows = []
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("measuring", total=len(CASES))
        for case in CASES:
            progress.update(task, description=f"{case.family}, depth {case.depth}")
            row = _row(case, limit, most_nodes=10_000 if quick else None)
            if row is not None:
                rows.append(row)
            progress.advance(task)
    report = {
        "machine": _machine(),
        "rows": rows,
        "summary": _summary(rows),
        "sampling_ns": sampling.measure(),
    }
    _show(report)
    _write(report, out)


def _row(case: Case, limit: float, most_nodes: int | None) -> dict[str, Any] | None:
    """Measure one graph with all three methods; None if it has too many nodes."""
    row: dict[str, Any] = {"family": case.family, "depth": case.depth, "target": case.target}
    for work in (measure.ours, measure.paper_build, measure.paper_balance):
        result = measure.apart(work, case, limit=limit, gigabytes=16.0)
        row |= result if isinstance(result, dict) else {f"{work.__name__}_failed": result}
        if most_nodes is not None and row["nodes"] > most_nodes:
            return None
    return row


def _summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    ratios = [row["cvxpy_s"] / row["balance_s"] for row in rows if "cvxpy_s" in row]
    builds = [row["algorithm1_s"] / row["build_s"] for row in rows if "algorithm1_s" in row]
    return {
        "balance_speedup_geometric_mean": _geometric_mean(ratios),
        "balance_speedup_smallest": min(ratios),
        "build_speedup_geometric_mean": _geometric_mean(builds),
        "every_gap_within_target": all(row["gap"] <= row["target"] for row in rows),
        "never_a_larger_gap": all(
            row["gap"] <= row["cvxpy_gap"] for row in rows if "cvxpy_gap" in row
        ),
        "never_more_nodes": all(
            row["nodes"] <= row["algorithm1_nodes"] for row in rows if "algorithm1_nodes" in row
        ),
    }


def _geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def _machine() -> dict[str, Any]:
    packages = ("easee-rl", "numpy", "scipy", "cvxpy", "clarabel", "gymnasium")
    return {
        "cores": os.cpu_count(),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": sys.version.split()[0],
        **{name: version(name) for name in packages},
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _cells(row: dict[str, Any]) -> list[str]:
    speedup = f"{row['cvxpy_s'] / row['balance_s']:,.0f}" if "cvxpy_s" in row else "-"
    return [
        row["family"],
        str(row["depth"]),
        f"{row['nodes']:,}" + ("" if row["exact"] else " *"),
        f"{row['edges']:,}",
        _time(row["build_s"]),
        _time(row["algorithm1_s"]) if "algorithm1_s" in row else row["paper_build_failed"],
        f"{row['algorithm1_nodes']:,}" if "algorithm1_nodes" in row else "-",
        _time(row["balance_s"]),
        f"{row['gap']:.0e}",
        _time(row["cvxpy_s"]) if "cvxpy_s" in row else row["paper_balance_failed"],
        f"{row['cvxpy_gap']:.0e}" if "cvxpy_gap" in row else "-",
        speedup,
    ]


def _time(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _show(report: dict[str, Any]) -> None:
    table = Table(title="cost and accuracy: ours and the paper's")
    for name, side in COLUMNS.items():
        table.add_column(name, justify="right" if side == "right" else "left", no_wrap=True)
    for row in report["rows"]:
        table.add_row(*_cells(row))
    wide = console if console.width >= 150 else Console(width=150)
    wide.print(table)
    wide.print("* bounded closure: completion does not terminate for this prior")
    for name, value in (report["summary"] | report["sampling_ns"]).items():
        unit = " ns per environment and step" if name in report["sampling_ns"] else ""
        shown = f"{value:.1f}" if isinstance(value, float) else str(value)
        wide.print(f"{name.replace('_', ' ')}: [bold]{shown}[/]{unit}", highlight=False)


def _write(report: dict[str, Any], out: Path) -> None:
    with replacing(out / "table.json") as file:
        file.write(json.dumps(report, indent=1).encode() + b"\n")
    lines = [
        "| " + " | ".join(COLUMNS) + " |",
        "|" + "|".join("---:" if side == "right" else "---" for side in COLUMNS.values()) + "|",
        *("| " + " | ".join(_cells(row)) + " |" for row in report["rows"]),
    ]
    with replacing(out / "table.md") as file:
        file.write(("\n".join(lines) + "\n").encode())
    plot_costs(report["rows"], out / "cost.png")
    console.print(f"written to {out}", highlight=False)


if __name__ == "__main__":
    typer.run(main)

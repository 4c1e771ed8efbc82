"""Execute the notebook and store its outputs: `python docs/run_notebook.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from easee._utils.files import replacing

NOTEBOOK = Path(__file__).parent / "notebook.ipynb"
SECONDS = 120  # for each cell


def execute() -> Any:
    """Return the notebook with new outputs, which depend on neither the time nor the machine."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = NotebookClient(
        notebook, timeout=SECONDS, record_timing=False, coalesce_streams=True, kernel_name="python3"
    )
    client.execute()
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


if __name__ == "__main__":
    executed = execute()
    with replacing(NOTEBOOK) as file:
        file.write(nbformat.writes(executed).encode())

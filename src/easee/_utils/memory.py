"""Free memory."""

from pathlib import Path


def free_memory() -> int:
    """Return the bytes that can be allocated without swapping, 4 GiB if that is unknown."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        values = dict(line.split(":", 1) for line in lines)
        return int(values["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return 4 * 2**30

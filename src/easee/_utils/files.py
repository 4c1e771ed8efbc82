"""Writing files so that nothing is ever half written."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from easee.errors import WriteError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path` and rename it to `path` once all is written.

    Whatever interrupts the writing, `path` holds either its old contents or all of the new. A link
    stays a link: what it points to is replaced. A file that was there keeps its permissions.

    Raises:
        WriteError: nothing can be written there.
    """
    target = check_writable(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.parent / f".easee-{secrets.token_hex(8)}"
        file = open(beside, "xb")
    except OSError as error:
        raise WriteError(f"cannot write {str(path)!r}: {error.strerror}") from error
    try:
        with file:
            yield file
        if target.exists():
            os.chmod(beside, stat.S_IMODE(target.stat().st_mode))
        os.replace(beside, target)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, WriteError):  # a full disk, say
            raise WriteError(f"cannot write {str(path)!r}: {error.strerror}") from error
        raise


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes that ask for the same folder out, where the system can do that."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def check_writable(path: str | os.PathLike[str]) -> Path:
    """Return where a file would be written, or say why it cannot be; nothing is written.

    >>> check_writable(".")
    Traceback (most recent call last):
    easee.errors.WriteError: cannot write '.': it is a folder
    """
    try:
        target = Path(path).resolve()
        if target.is_dir():
            raise WriteError(f"cannot write {str(path)!r}: it is a folder")
        if target.exists() and not target.is_file():
            raise WriteError(f"cannot write {str(path)!r}: it is not an ordinary file")
        home = next(parent for parent in target.parents if parent.exists())
    except (OSError, ValueError) as error:
        if isinstance(error, WriteError):
            raise
        raise WriteError(f"cannot write {str(path)!r}: {error}") from error
    if not home.is_dir():
        raise WriteError(f"cannot write {str(path)!r}: {str(home)!r} is not a folder")
    if not os.access(home, os.W_OK):
        raise WriteError(f"cannot write {str(path)!r}: no permission in {str(home)!r}")
    return target

"""Atomic writing of files."""

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
    """Open a temporary file and rename it to `path` when the context ends.

    If writing is interrupted, `path` keeps its old contents. If `path` is a symbolic link, its
    target is replaced. An existing file keeps its permissions.

    Raises:
        WriteError: the file cannot be written.
    """
    target = check_writable(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.parent / f".easee-{secrets.token_hex(8)}"
        file = open(temporary, "xb")
    except OSError as error:
        raise WriteError(f"cannot write {str(path)!r}: {error.strerror}") from error
    try:
        with file:
            yield file
        if target.exists():
            os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, WriteError):  # a full disk
            raise WriteError(f"cannot write {str(path)!r}: {error.strerror}") from error
        raise


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder against other processes that lock it, if the system supports that."""
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
    """Return the resolved path of a file; raise an error if it cannot be written.

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
        folder = next(parent for parent in target.parents if parent.exists())
    except (OSError, ValueError) as error:
        if isinstance(error, WriteError):
            raise
        raise WriteError(f"cannot write {str(path)!r}: {error}") from error
    if not folder.is_dir():
        raise WriteError(f"cannot write {str(path)!r}: {str(folder)!r} is not a folder")
    if not os.access(folder, os.W_OK):
        raise WriteError(f"cannot write {str(path)!r}: no permission in {str(folder)!r}")
    return target

"""Writing files so that nothing is ever half written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from easee.errors import WriteError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path` and rename it to `path` once all is written.

    Whatever interrupts the writing, `path` holds either its old contents or all of the new. A link
    stays a link: what it points to is replaced.

    Raises:
        WriteError: nothing can be written there.
    """
    target = check_writable(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise WriteError(f"cannot write {str(path)!r}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        # mkstemp makes files private; give them what an ordinary open() would have.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


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

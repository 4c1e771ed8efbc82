"""Imports of optional packages."""

from collections.abc import Iterator
from contextlib import contextmanager

from easee.errors import MissingExtraError


@contextmanager
def requires_extra(extra: str, package: str | None = None) -> Iterator[None]:
    """Turn the ImportErrors of a block of imports into errors that name the extra to install.

    Args:
        extra: name of the extra.
        package: name of the package to install; by default that of the missing module.

    >>> with requires_extra("plot"):
    ...     import no_such_module
    Traceback (most recent call last):
    easee.errors.MissingExtraError: this needs no_such_module, which is not installed: ...
    """
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(package or error.name or extra, extra) from None

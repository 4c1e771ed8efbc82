"""Reading `.npz` archives whose sizes are checked before any array is read."""

import math
import zipfile
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray


class Header(NamedTuple):
    """What an archive says about one of its arrays."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    stored: int  # bytes that the array takes in the archive, compressed or not

    @property
    def nbytes(self) -> int:
        """Bytes that the array takes in memory."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(archive: zipfile.ZipFile, key: str) -> Header:
    """Return the shape and type of an array without reading it.

    Raises:
        ValueError: the member is not an array, or its size is not the one that its header states.
    """
    info = archive.getinfo(f"{key}.npy")
    with archive.open(info) as member:
        version = npy.read_magic(member)
        if version == (1, 0):
            shape, _, dtype = npy.read_array_header_1_0(member)
        elif version == (2, 0):
            shape, _, dtype = npy.read_array_header_2_0(member)
        else:
            raise ValueError(f"{key} has the unknown array format {version}")
        header = Header(shape, dtype, info.compress_size)
        if min(shape, default=0) < 0 or member.tell() + header.nbytes != info.file_size:
            raise ValueError(f"{key} does not have the size that its header states")
    return header


def read_array(archive: zipfile.ZipFile, key: str) -> NDArray[Any]:
    """Return an array of an archive; pickled objects are rejected."""
    with archive.open(f"{key}.npy") as member:
        array: NDArray[Any] = npy.read_array(member, allow_pickle=False)
        return array

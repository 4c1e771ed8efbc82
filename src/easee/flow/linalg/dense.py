"""Dense linear algebra in a single thread.

BLAS divides all but the smallest products among threads. On a busy machine each such call waits
ten milliseconds or more for its threads to be scheduled, and LAPACK makes many of them:
factorising 330 rows took 0.8 s, and takes 6 ms this way. Products of small tiles stay in one
thread, at the cost of a factor of two on an idle machine. The largest products are left to BLAS.
"""

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from easee._utils.arrays import Floats
from easee.flow.linalg.laplacian import SingularError

SIDE = 64  # OpenBLAS uses several threads for more than 64^3 multiplications
LARGE = 2000**3  # products with more multiplications take longer than the scheduling of threads


def product(a: Floats, b: Floats) -> Floats:
    """Return a @ b, computed by tiles; tiles of zeros are skipped.

    >>> product(np.ones((70, 80)), np.ones((80, 90))).sum()
    np.float64(504000.0)
    """
    work = a.shape[0] * a.shape[1] * b.shape[1]
    if work <= SIDE**3 or work > LARGE:
        return np.asarray(a @ b)
    result = np.zeros((a.shape[0], b.shape[1]))
    columns = _tiles(b.shape[1])
    for k in _tiles(a.shape[1]):
        across = [j for j in columns if b[k, j].any()]
        for i in _tiles(a.shape[0]):
            tile = a[i, k]
            if across and tile.any():
                for j in across:
                    result[i, j] += tile @ b[k, j]
    return result


def gram(a: Floats) -> Floats:
    """Return a.T @ a, of which only one half is computed.

    >>> gram(np.array([[1.0, 2.0]]))
    array([[1., 2.],
           [2., 4.]])
    """
    work = a.shape[0] * a.shape[1] ** 2
    if work <= SIDE**3 or work > LARGE:
        return np.asarray(a.T @ a)
    result = np.zeros((a.shape[1], a.shape[1]))
    for k in _tiles(a.shape[0]):
        filled = [j for j in _tiles(a.shape[1]) if a[k, j].any()]
        for n, i in enumerate(filled):
            tile = a[k, i].T
            for j in filled[: n + 1]:
                result[i, j] += tile @ a[k, j]
    return np.asarray(np.tril(result) + np.tril(result, -1).T)


def _tiles(size: int) -> list[slice]:
    return [slice(start, start + SIDE) for start in range(0, size, SIDE)]


def apply(matrix: Floats, x: Floats) -> Floats:
    """Return matrix @ x for a vector x.

    >>> apply(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([1.0, 1.0]))
    array([3., 1.])
    """
    return np.asarray(np.einsum("ij,j", matrix, x))


def inverse_root(matrix: Floats) -> Floats:
    """Return the inverse of the lower Cholesky factor of a matrix, computed by halves.

    >>> inverse_root(np.array([[4.0, 2.0], [2.0, 2.0]]))
    array([[ 0.5,  0. ],
           [-0.5,  1. ]])

    Raises:
        SingularError: the matrix is not positive definite to working precision.
    """
    size = len(matrix)
    if size <= SIDE:
        factor, failed = dpotrf(matrix, lower=1, clean=1)
        if not failed:
            factor, failed = dtrtri(factor, lower=1, overwrite_c=1)
        if failed or not np.isfinite(factor).all():
            raise SingularError("a block is not positive definite")
        return np.asarray(factor)
    half = size // 2
    first = inverse_root(matrix[:half, :half])
    across = product(matrix[half:, :half], first.T)
    second = inverse_root(matrix[half:, half:] - gram(across.T))
    root = np.zeros((size, size))
    root[:half, :half], root[half:, half:] = first, second
    root[half:, :half] = -product(product(second, across), first)
    return root

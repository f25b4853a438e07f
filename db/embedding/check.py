"""The one gate for vectors: nothing that is no unit vector of its contract comes past it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from commonlore.domain.ports import EmbeddingContract, EmbeddingMalformed, Vectors

LENGTH_TOLERANCE = 1e-3


def checked(vectors: object, contract: EmbeddingContract, count: int) -> Vectors:
    """`vectors` as float32 of shape (count, contract.dimensions), every row of length 1 within `LENGTH_TOLERANCE`.

    Takes arrays and what JSON decodes to. Rows are neither reordered nor normalised; float32 arrays are not copied.

    Raises:
        EmbeddingMalformed: another shape, something that is no real number, NaN or infinity, a row of another length.
            The message names the first wrong row and holds no value of it.
    """
    numbers = _numbers(vectors)
    if count == 0 and numbers.size == 0:
        return np.empty((0, contract.dimensions), dtype=np.float32)
    expected = (count, contract.dimensions)
    if numbers.shape != expected:
        raise EmbeddingMalformed(f"expected vectors of shape {expected}, got {numbers.shape}")
    # Bounds come before squares and before float32: 1e39 fits neither, and numpy would only warn.
    if (row := _first_false(np.isfinite(numbers).all(axis=1))) is not None:
        raise EmbeddingMalformed(f"vector {row} of {count} is not finite")
    bounded = (np.abs(numbers) <= 1 + LENGTH_TOLERANCE).all(axis=1)
    if (row := _first_false(bounded)) is not None:
        raise EmbeddingMalformed(f"vector {row} of {count} is longer than 1")
    lengths = np.sqrt(np.square(numbers, dtype=np.float64).sum(axis=1))
    if (row := _first_false(np.abs(lengths - 1) <= LENGTH_TOLERANCE)) is not None:
        raise EmbeddingMalformed(f"vector {row} of {count} is not of length 1")
    return np.ascontiguousarray(numbers, dtype=np.float32)


def _numbers(vectors: object) -> NDArray[Any]:
    try:
        array = np.asarray(vectors)
    except ValueError as error:
        raise EmbeddingMalformed("the rows are not of one length") from error
    # Strings, null, bool and complex have kinds of their own; np.asarray(..., dtype=float) would turn "1" into 1.
    if array.dtype.kind not in "fiu":
        raise EmbeddingMalformed(f"expected numbers, got values of type {array.dtype.name}")
    return array


def _first_false(rows: NDArray[np.bool_]) -> int | None:
    return None if rows.all() else int(np.argmin(rows))

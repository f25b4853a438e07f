"""What counts as a set of unit vectors, and what is refused (cases B040, B041)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonlore.db.embedding.check import checked
from commonlore.domain.ports import EmbeddingContract, EmbeddingMalformed

CONTRACT = EmbeddingContract(provider="test", model="check", dimensions=4)
UNIT = [0.5, 0.5, 0.5, 0.5]


def test_float32_unit_vectors_come_through_unchanged() -> None:
    """The rows are the same, in the same order and type."""

    given_rows = np.array([UNIT, [1, 0, 0, 0]], dtype=np.float32)

    accepted = checked(given_rows, CONTRACT, 2)

    assert np.float32 == accepted.dtype
    assert given_rows.tolist() == accepted.tolist()


def test_what_json_decodes_to_is_taken() -> None:
    """Lists of floats and integers become float32."""

    accepted = checked([UNIT, [0, 1, 0, 0]], CONTRACT, 2)

    assert np.float32 == accepted.dtype
    assert accepted.tolist() == [UNIT, [0, 1, 0, 0]]


def test_no_texts_have_no_vectors() -> None:
    """An empty answer to an empty request has the contract's width."""

    assert checked([], CONTRACT, 0).shape == (0, 4)


@pytest.mark.parametrize(
    "row",
    [
        pytest.param([0.0, 0.0, 0.0, 0.0], id="zero"),
        pytest.param([float("nan"), 0.0, 0.0, 1.0], id="nan"),
        pytest.param([float("inf"), 0.0, 0.0, 0.0], id="inf"),
        pytest.param([float("-inf"), 0.0, 0.0, 0.0], id="minus-inf"),
        pytest.param([1e39, 0.0, 0.0, 0.0], id="beyond-float32"),
        pytest.param([1e300, 1e300, 0.0, 0.0], id="square-beyond-float64"),
        pytest.param([10**400, 0, 0, 0], id="beyond-float64"),
        pytest.param(["0.5", "0.5", "0.5", "0.5"], id="strings"),
        pytest.param([0.5, 0.5, 0.5, "0.5"], id="one-string"),
        pytest.param([0.5, 0.5, 0.5, None], id="one-null"),
        pytest.param(None, id="null"),
        pytest.param("0.5", id="string"),
        pytest.param([UNIT], id="nested"),
        pytest.param([[0.5], [0.5], [0.5], [0.5]], id="nested-values"),
        pytest.param([1j, 0, 0, 0], id="complex"),
        pytest.param({"embedding": UNIT}, id="object"),
        pytest.param([0.5, 0.5, 0.5], id="short"),
        pytest.param([0.5, 0.5, 0.5, 0.5, 0.0], id="wide"),
        pytest.param([0.51, 0.5, 0.5, 0.5], id="too-long"),
        pytest.param([0.49, 0.5, 0.5, 0.5], id="too-short"),
    ],
)
def test_a_row_that_is_no_unit_vector_is_refused(row: object) -> None:
    """Alone and beside a good row, never with a warning or another error."""

    with pytest.raises(EmbeddingMalformed):
        checked([row], CONTRACT, 1)
    with pytest.raises(EmbeddingMalformed):
        checked([UNIT, row], CONTRACT, 2)


def test_booleans_are_no_numbers() -> None:
    """Although true and false could be read as a unit vector."""

    with pytest.raises(EmbeddingMalformed):
        checked([[True, False, False, False]], CONTRACT, 1)


@pytest.mark.parametrize("vectors", [None, "vectors", 1.0, [], [UNIT], [UNIT, UNIT, UNIT], {"data": []}, UNIT])
def test_an_answer_of_another_count_is_refused(vectors: object) -> None:
    """Two vectors were asked for; anything else is malformed."""

    with pytest.raises(EmbeddingMalformed):
        checked(vectors, CONTRACT, 2)


def test_the_message_names_the_row_and_no_value() -> None:
    """An operator sees which row was wrong; content stays out."""

    with pytest.raises(EmbeddingMalformed) as refused:
        checked([UNIT, UNIT, [7.25, 0, 0, 0]], CONTRACT, 3)

    assert str(refused.value) == "vector 2 of 3 is longer than 1"


@pytest.mark.parametrize("length", [1 - 0.0009, 1 + 0.0009])
def test_rounding_is_tolerated_and_kept(length: float) -> None:
    """Within 1e-3 the row is accepted as it is."""

    row = [length, 0.0, 0.0, 0.0]

    assert np.float32(length) == checked([row], CONTRACT, 1)[0, 0]


@given(st.lists(st.lists(st.floats(width=64), min_size=4, max_size=4), min_size=1, max_size=3))
def test_whatever_comes_through_is_finite_and_of_length_one(rows: list[list[float]]) -> None:
    """For any numbers: refused as malformed, or a set of unit vectors."""

    try:
        accepted = checked(rows, CONTRACT, len(rows))
    except EmbeddingMalformed:
        return

    lengths = np.linalg.norm(accepted.astype(np.float64), axis=1)
    assert bool((np.abs(lengths - 1) <= 1.001e-3).all())

"""Whatever is written, in whatever order it is folded: the postings are those of the texts that stand."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from commonlore.domain.projection.posting import (
    POSTINGS_A_BLOCK,
    PostedText,
    TermCounts,
    blocks,
    differences,
    net,
    replaced_postings,
    text_postings,
)

FREQUENCIES = st.dictionaries(st.sampled_from([f"t{number}" for number in range(40)]), st.integers(1, 9), max_size=12)
TEXTS = st.lists(st.tuples(FREQUENCIES, st.integers(0, 3)), max_size=150)


def posted(texts: list[tuple[dict[str, int], int]]) -> list[PostedText]:
    return [PostedText(str(place), part_no, max(1, sum(found.values())), found) for place, (found, part_no) in enumerate(texts)]


def plain(texts: list[PostedText]) -> set[tuple[str, str, int]]:
    return {
        (term, text.key, text.part_no * 2**32 + frequency * 2**16 + text.length) for text in texts for term, frequency in text.frequencies.items()
    }


@given(TEXTS)
def test_differences_and_blocks_say_what_the_texts_say(texts: list[tuple[dict[str, int], int]]) -> None:
    made = posted(texts)
    by_text = [posting for difference in differences(made) for posting in difference.postings()]
    by_term = [(block.term, key, code) for block in blocks(text_postings(made)) for key, code in zip(block.keys, block.codes, strict=True)]

    assert Counter(plain(made)) == Counter(by_text) == Counter(by_term)


@given(TEXTS)
def test_blocks_are_full_but_one_a_term(texts: list[tuple[dict[str, int], int]]) -> None:
    sizes: dict[str, list[int]] = {}
    for block in blocks(text_postings(posted(texts))):
        sizes.setdefault(block.term, []).append(len(block.keys))

    assert list(sizes) == sorted(sizes)
    assert all(set(of_term[:-1]) <= {POSTINGS_A_BLOCK} and 0 < of_term[-1] <= POSTINGS_A_BLOCK for of_term in sizes.values())


@given(st.lists(st.tuples(st.integers(0, 5), FREQUENCIES), max_size=25), st.sets(st.integers(0, 25)))
def test_a_history_folded_anywhere_leaves_the_last_texts(history: list[tuple[int, dict[str, int]]], folds: set[int]) -> None:
    """Documents are written and replaced; after some of the writes a worker folds what waits."""
    standing: dict[int, TermCounts] = {}
    folded: set[tuple[str, str, int]] = set()
    waiting: list[tuple[int, list[tuple[str, str, int]]]] = []

    def fold() -> None:
        added, removed = net(waiting)
        assert set(removed) <= folded and not folded & set(added)
        folded.difference_update(removed)
        folded.update(added)
        waiting.clear()

    for step, (number, frequencies) in enumerate(history):
        new = TermCounts(frequencies, max(1, sum(frequencies.values())))
        old = standing.get(number)
        added, removed = replaced_postings(str(number), new, old) if old else (PostedText(str(number), 0, new.length, frequencies), None)
        waiting += [(1, list(difference.postings())) for difference in differences([added])]
        waiting += [(-1, list(difference.postings())) for difference in differences([removed] if removed else [])]
        standing[number] = new
        if step in folds:
            fold()
    fold()

    assert folded == plain([PostedText(str(number), 0, counted.length, counted.frequencies) for number, counted in standing.items()])

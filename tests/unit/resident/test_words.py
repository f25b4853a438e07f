"""Postings that are kept of words: the best texts are those of the formula, whatever was folded, and never those of another stamp."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonlore.db import resident_terms
from commonlore.db.resident_pieces import Keys
from commonlore.db.resident_terms import Terms
from commonlore.db.resident_words import Bm25, KeptWords, ResidentWords, WholeSpace, WordsName, WordsPage
from commonlore.domain.ids import new_id

K1, B = 1.2, 0.75
WORDS = ("pelican", "quartz", "harbour", "ledger")


class Posting(NamedTuple):
    term: str
    owner: int
    part_no: int
    frequency: int
    length: int


def an_id(owner: int) -> bytes:
    """In another order than the numbers."""
    return (owner * 2_654_435_761 % 2**64).to_bytes(8, "big") + owner.to_bytes(8, "big")


def code(posting: Posting) -> int:
    return posting.part_no << 32 | posting.frequency << 16 | posting.length


def blocks(postings: Sequence[Posting], size: int = 3) -> list[tuple[str, bytes, bytes]]:
    """As `array_send` writes them, a few postings a block."""
    rows = []
    for term in sorted({posting.term for posting in postings}):
        of_it = [posting for posting in postings if posting.term == term]
        for start in range(0, len(of_it), size):
            batch = of_it[start : start + size]
            ids = b"".join(struct.pack("!i", 16) + an_id(posting.owner) for posting in batch)
            codes = b"".join(struct.pack("!iq", 8, code(posting)) for posting in batch)
            head = struct.pack("!iiI", 1, 0, 2950) + struct.pack("!ii", len(batch), 1)
            rows.append((term, head + ids, head + codes))
    return rows


def a_page(postings: Sequence[Posting], stamps: Mapping[str, int]) -> WordsPage:
    """As `load_evidence_words` gives it: the elements of the arrays of all words, one after the other."""
    rows = [(term, [posting for posting in postings if posting.term == term]) for term in sorted(stamps)]
    if not rows:
        return WordsPage(None, b"", b"", b"", b"")
    ids = b"".join(struct.pack("!i", 16) + an_id(posting.owner) for _, of_it in rows for posting in of_it)
    codes = b"".join(struct.pack("!iq", 8, code(posting)) for _, of_it in rows for posting in of_it)
    counts = b"".join(struct.pack("!i", len(of_it)) for _, of_it in rows)
    return WordsPage([term for term, _ in rows], b"".join(struct.pack("!q", stamps[term]) for term, _ in rows), counts, ids, codes)


def read(pages: Sequence[WordsPage], most_bytes: int = 1_000_000) -> KeptWords | None:
    space = WholeSpace(most_bytes)
    return space.made() if all(space.add(page) for page in pages) else None


def whole(postings: Sequence[Posting], stamps: Mapping[str, int], words: int = 2) -> KeptWords:
    """Two words a page."""
    terms = sorted(stamps)
    pages = [terms[start : start + words] for start in range(0, len(terms), words)]
    made = read([a_page(postings, {term: stamps[term] for term in page}) for page in [*pages, []]])
    assert made is not None
    return made


def loose(postings: Sequence[Posting], sign: int = 1) -> list[tuple[str, int, bytes, bytes]]:
    return [(posting.term, sign, an_id(posting.owner), struct.pack("!q", code(posting))) for posting in postings]


def computed(formula: Bm25, postings: Sequence[Posting]) -> list[tuple[int, bytes, int]]:
    """(score, id, best part) by the page's formula, best first."""
    weights = dict(zip(formula.terms, formula.weights, strict=True))
    scores = {(posting.owner, posting.part_no): 0 for posting in postings}
    for term, owner, part_no, frequency, length in postings:
        norm = K1 * (1 - B + B * length / formula.average_length)
        scores[owner, part_no] += round(weights[term] * 10_000_000 * frequency / (frequency + norm))
    best: dict[int, tuple[int, int]] = {}
    for (owner, part_no), score in scores.items():
        best[owner] = max(best.get(owner, (-1, 0)), (score, -part_no))
    return sorted((-score, an_id(owner), -negative) for owner, (score, negative) in best.items())


SOME = st.lists(
    st.builds(Posting, st.sampled_from(WORDS), st.integers(0, 12), st.integers(0, 2), st.integers(1, 4), st.integers(1, 40)),
    max_size=60,
    unique_by=lambda posting: posting[:3],
)


def a_formula() -> Bm25:
    return Bm25(list(WORDS), [2.5, 1.25, 0.5, 0.125], 17.5, K1, B)


def stamps(postings: Sequence[Posting], stamp: int = 1) -> Mapping[str, int]:
    return {term: stamp for term in WORDS if any(posting.term == term for posting in postings)}


@given(postings=SOME, split=st.integers(0, 60), wanted=st.integers(1, 15), refused=st.sets(st.integers(0, 14)))
def test_the_best_are_those_of_the_formula(postings: list[Posting], split: int, wanted: int, refused: set[int]) -> None:
    """Whatever part of them no worker folded yet."""
    kept, formula = KeptWords(1_000_000), a_formula()
    folded, unfolded = postings[:split], postings[split:]
    given_ = [*kept.take(stamps(folded), blocks(folded)).items(), *kept.unfolded(loose(unfolded))]
    left = [posting for posting in postings if posting.owner not in refused]

    found = kept.best(formula, given_, wanted, frozenset(map(an_id, refused)))

    expected = computed(formula, left)
    assert [(-score, key, part_no) for score, key, part_no in expected[:wanted]] == [(score, key.bytes, part_no) for key, part_no, score in found]
    if not refused and expected:
        tied = [row for row in expected if row[0] <= expected[min(wanted, len(expected)) - 1][0]]
        assert [row[1] for row in tied] == [hit[0].bytes for hit in kept.best(formula, given_, wanted, with_ties=True)]


@given(postings=SOME, gone=st.sets(st.integers(0, 12)))
def test_postings_that_were_taken_away_count_for_nothing(postings: list[Posting], gone: set[int]) -> None:
    """Of some documents all words are taken away, and no worker folded that yet."""
    kept, formula = KeptWords(1_000_000), a_formula()
    documents = [posting._replace(part_no=0) for posting in postings if posting.part_no == 0]
    taken = [posting for posting in documents if posting.owner in gone]
    given_ = [*kept.take(stamps(documents), blocks(documents)).items(), *kept.unfolded(loose(taken, -1))]

    found = kept.best(formula, given_, 20)

    expected = computed(formula, [posting for posting in documents if posting.owner not in gone])
    assert [row[1] for row in expected] == [hit[0].bytes for hit in found]


@given(postings=SOME, others=SOME, changed=st.sets(st.sampled_from(WORDS)), wanted=st.integers(1, 15), refused=st.sets(st.integers(0, 14)))
def test_a_whole_space_gives_what_its_words_do(
    postings: list[Posting], others: list[Posting], changed: set[str], wanted: int, refused: set[int]
) -> None:
    """Words that have other blocks by now are read again, some of texts and parts that came later; a snapshot that is older still finds the old ones."""
    formula, then = a_formula(), stamps(postings)
    known = {posting[:3] for posting in postings}
    later = postings + [posting for posting in others if posting.term in changed and posting[:3] not in known]
    now = {term: then.get(term, 5) + (term in changed) for term in stamps(later)}
    kept = whole(postings, then)

    held = kept.held(now)
    lacking = {term: stamp for term, stamp in now.items() if term not in held}
    assert changed & set(now) == set(lacking)
    given_ = [*held.items(), *kept.take(lacking, blocks([posting for posting in later if posting.term in lacking])).items()]

    for seen, of_it in ((later, given_), (postings, list(kept.held(then).items()))):
        left = [posting for posting in seen if posting.owner not in refused]
        found = kept.best(formula, of_it, wanted, frozenset(map(an_id, refused)))
        assert computed(formula, left)[:wanted] == [(-int(score), key.bytes, part_no) for key, part_no, score in found]
    assert set(now) == set(kept.held(now))


def test_pieces_that_cannot_be_told_apart_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were two of them mixed to one number, one would have the words of the other."""
    postings = [Posting("quartz", owner, 0, 1, 5) for owner in range(3)]
    assert 3 == len(whole(postings, {"quartz": 1}).held({"quartz": 1})["quartz"].pieces)

    monkeypatch.setattr(Keys, "mixed", property(lambda keys: keys.low * np.uint64(0)))

    assert read([a_page(postings, {"quartz": 1})]) is None
    assert read([a_page(postings[:1], {"quartz": 1}), a_page(postings[1:2], {"quartz": 1})]) is None


def test_a_space_that_takes_more_than_there_is_is_left_while_it_is_read() -> None:
    """And not begun again."""
    postings = [Posting("quartz", owner, 0, 1, 5) for owner in range(100)]
    page = a_page(postings, {"quartz": 1})

    assert [True, False] == [WholeSpace(most_bytes).add(page) for most_bytes in (848, 847)]

    store, name = ResidentWords(10_000), WordsName(new_id(), 1, "evidence")
    kept = store.of(name)
    kept.take({f"word{number}": 1 for number in range(9)}, [])
    assert kept.wants_all
    store.keep(name, None)
    assert kept is store.of(name)
    assert not kept.wants_all


def test_a_space_is_wanted_as_a_whole_once_many_of_its_words_were_read() -> None:
    """And again only when as many as an eighth of it have changed."""
    few, many = KeptWords(1_000_000), whole([], {f"word{number}": 1 for number in range(800)}, 100)
    for kept, least in ((few, 8), (many, 108)):
        read = 0
        while not kept.wants_all:
            kept.take({f"another{read}": 1}, [])
            read += 1
        assert least + 1 == read


def test_a_word_is_read_again_under_another_stamp() -> None:
    """A search under the old one goes on with what it was given."""
    kept, formula = KeptWords(1_000_000), a_formula()
    old, new = [Posting("quartz", 1, 0, 1, 5)], [Posting("quartz", 1, 0, 1, 5), Posting("quartz", 2, 0, 1, 5)]
    first = kept.take({"quartz": 7}, blocks(old))

    assert {} == kept.held({"quartz": 8})
    second = kept.take({"quartz": 8}, blocks(new))

    assert list(second) == list(kept.held({"quartz": 8}))
    assert {} == kept.held({"quartz": 7})
    assert (1, 2) == tuple(len(kept.best(formula, list(found.items()), 5)) for found in (first, second))


def test_the_longest_unused_words_go_first() -> None:
    kept = KeptWords(10_000)
    for word in ("first", "second", "third"):
        kept.take({word: 1}, blocks([Posting(word, owner, 0, 1, 5) for owner in range(10)]))
    kept.held({"first": 1})
    kept.take({"many": 1}, blocks([Posting("many", owner, 0, 1, 5) for owner in range(230)], size=100))

    assert ["many"] == [word for word in ("first", "second", "third", "many") if kept.held({word: 1})]


def test_spaces_are_forgotten_before_they_take_more_than_there_is() -> None:
    store = ResidentWords(20_000)
    names = [WordsName(new_id(), number, "evidence") for number in range(4)]
    for name in names:
        store.of(name).take({"word": 1}, blocks([Posting("word", owner, 0, 1, 5) for owner in range(18)]))
        store.trim()

    assert [False, False, True, True] == [bool(store.of(name).held({"word": 1})) for name in names]


def test_while_a_space_is_read_as_a_whole_it_is_not_asked_for_again() -> None:
    """Not before it is there, nor by a search that began before; one that never comes is asked for again after ten seconds."""
    now = [0.0]
    store, name = ResidentWords(10_000, clock=lambda: now[0]), WordsName(new_id(), 1, "evidence")
    store.want(name, new_id())
    assert store.is_coming(name)
    assert [name] == list(store.take_wanted())

    store.want(name, new_id())
    assert store.is_coming(name)
    assert [] == list(store.take_wanted())
    now[0] = 10.0
    assert not store.is_coming(name)
    store.want(name, new_id())
    assert [name] == list(store.take_wanted())
    store.keep(name, whole([], {"quartz": 1}))
    assert not store.is_coming(name)


def test_spaces_that_have_no_room_beside_each_other_are_not_read_in_turns() -> None:
    """One that was read as a whole is left for a while, also where it was forgotten at once."""
    now = [0.0]
    store = ResidentWords(3_000, patience_s=60.0, clock=lambda: now[0])
    names = [WordsName(new_id(), number, "evidence") for number in range(2)]
    postings = [Posting("quartz", owner, 0, 1, 5) for owner in range(20)]

    def wanted_again() -> list[bool]:
        for name in names:
            store.want(name, new_id())
        return [name in taken for taken in [store.take_wanted()] for name in names]

    assert [True, True] == wanted_again()
    for name in names:
        store.keep(name, whole(postings, {"quartz": 1}))
    assert [False, True] == [bool(store.of(name).held({"quartz": 1})) for name in names]
    assert [False, False] == wanted_again()
    now[0] = 59.0
    store.keep(names[1], whole(postings, {"quartz": 1}))
    now[0] = 60.0
    assert [True, False] == wanted_again()


@given(words=st.lists(st.text(max_size=5), unique=True), others=st.lists(st.text(max_size=5)))
def test_each_word_has_its_place_also_where_hashes_are_equal(words: list[str], others: list[str]) -> None:
    asked = dict.fromkeys([*others, *words])

    assert {word: place for place, word in enumerate(words)} == Terms(words).places(asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resident_terms, "hash", lambda word: len(word) % 2, raising=False)
        assert {word: place for place, word in enumerate(words)} == Terms(words).places(asked)


def test_a_space_whose_words_could_not_stay_is_not_begun() -> None:
    """It would be read anew by each recall."""
    store = ResidentWords(16_000_000)

    assert store.has_room(40_000)
    assert not store.has_room(40_001)

"""What holds for every recall: orders that depend on nothing else, lanes that never repeat, eligibility as one table."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from random import Random
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from commonlore.domain.recall.context import GAP, assemble, part_numbers
from commonlore.domain.recall.contract import SpaceScale, rrf_1, zscore_2
from commonlore.domain.recall.fusion import BranchHit, fuse, interleave
from commonlore.domain.recall.gate import admit
from commonlore.domain.recall.grouping import RelationshipHit, rank_groups
from commonlore.domain.recall.hints import parse_hints
from commonlore.domain.recall.lexical import LexicalStatistics, weigh
from commonlore.domain.recall.rerank import Ranked, rerank
from commonlore.domain.recall.result import PartText
from commonlore.domain.recall.utterance import Utterance
from tests.support.memory import a_path, an_evidence_row

fast = settings(max_examples=60, deadline=None)
BRANCH = st.lists(st.integers(1, 40), unique=True, max_size=20)
KEYS = st.lists(st.text("abcdefgh", min_size=1, max_size=2), unique=True, max_size=8)


def hits(numbers: list[int]) -> list[BranchHit]:
    return [BranchHit(UUID(int=number), number % 3, 1.0 / place) for place, number in enumerate(numbers, start=1)]


@fast
@given(BRANCH, BRANCH)
def test_the_order_is_total_and_by_the_formula(lexical: list[int], vector: list[int]) -> None:
    """Every id once; by score, then best rank, then id, computed here from the definition alone."""

    def key(number: int) -> tuple[float, int, int]:
        ranks = [branch.index(number) + 1 for branch in (lexical, vector) if number in branch]
        return -sum(1 / (60 + rank) for rank in ranks), min(ranks), number

    assert [UUID(int=number) for number in sorted({*lexical, *vector}, key=key)] == rrf_1(hits(lexical), hits(vector), SpaceScale(0))


@fast
@given(BRANCH, BRANCH)
def test_neither_branch_is_the_first(lexical: list[int], vector: list[int]) -> None:
    """Equal weight: exchanging the branches changes nothing."""
    assert rrf_1(hits(lexical), hits(vector), SpaceScale(0)) == rrf_1(hits(vector), hits(lexical), SpaceScale(0))


@fast
@given(st.lists(BRANCH, max_size=3))
def test_more_branches_never_lower_a_score(branches: list[list[int]]) -> None:
    whole, part = fuse(branches), fuse(branches[:-1])

    assert all(whole[key].score >= found.score and whole[key].best_rank <= found.best_rank for key, found in part.items())


@fast
@given(st.lists(BRANCH, max_size=4))
def test_spaces_take_turns_as_rrf_over_them_says(lanes: list[list[int]]) -> None:
    """Equal-weight RRF with the constant 60; ties by the order of the spaces: private, shared, named."""
    tagged = [[(space, number) for number in lane] for space, lane in enumerate(lanes)]
    scores = fuse(tagged)

    assert sorted(scores, key=lambda key: (-scores[key].score, key[0])) == list(interleave(tagged))


@fast
@given(st.lists(BRANCH, max_size=4), st.integers(0, 30))
def test_a_smaller_limit_is_a_prefix(lanes: list[list[int]], limit: int) -> None:
    """Of the whole lane, and the spaces cut each to the limit give the same."""
    tagged = [[(space, number) for number in lane] for space, lane in enumerate(lanes)]

    assert list(interleave(tagged))[:limit] == list(interleave([lane[:limit] for lane in tagged]))[:limit]


@fast
@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 5), st.integers(0, 3)), unique_by=lambda item: item[0], max_size=20), st.randoms())
def test_groups_are_ranked_once_and_by_their_best_member(members: list[tuple[int, int, int]], draw: object) -> None:
    """No group twice, none lost, whatever the members; the first group holds the first member."""
    made = [RelationshipHit(UUID(int=key), f"g{group}", datetime(2026, 7, 1, tzinfo=UTC) + timedelta(days=age)) for key, group, age in members]
    other = made[::-1][: len(made) // 2]
    groups = rank_groups(made, other)

    assert len(groups) == len(set(groups))
    assert {hit.semantic_group_key for hit in made} == set(groups)
    alone = [rank_groups([hit for hit in made if hit.semantic_group_key == group], []) for group in groups]
    assert [[group] for group in groups] == alone
    assert groups == rank_groups(other, made)


@fast
@given(
    owner=st.booleans(),
    known=st.booleans(),
    withdrawn=st.sampled_from([None, "superseded", "retracted", "erased", "quarantined", "source_revised"]),
    paths=st.lists(st.booleans(), max_size=4),
    unclaimed=st.sampled_from(["eligible", "withheld"]),
)
def test_admission_is_one_table(owner: bool, known: bool, withdrawn: str | None, paths: list[bool], unclaimed: str) -> None:
    """Kept exactly when the owner is active, it was known, nothing withdrew it, and its claims allow it."""
    row = an_evidence_row(owner_active=owner, known_in_view=known, withdrawn=withdrawn, paths=tuple(a_path(active=active) for active in paths))
    found = admit(row, unclaimed=unclaimed)  # type: ignore[arg-type]
    claims = any(paths) if paths else unclaimed == "eligible"

    assert (owner and known and withdrawn is None and claims) == (found.reason is None)
    assert sum(paths) == len(found.active_paths)


@fast
@given(
    texts=st.lists(st.text("abc é👍", min_size=1, max_size=12), min_size=1, max_size=12),
    wanted=st.lists(st.integers(0, 11), min_size=1, max_size=5),
    budget=st.integers(1, 80),
)
def test_a_context_is_made_of_whole_parts_in_order(texts: list[str], wanted: list[int], budget: int) -> None:
    """Within the budget or one part; nothing that is not in the text but the mark of a gap."""
    wanted = [number for number in wanted if number < len(texts)]
    parts = [PartText(number, text) for number, text in enumerate(texts)]
    shown = assemble(parts, part_numbers(wanted, len(texts)), part_count=len(texts), budget_chars=budget)

    assert len(shown.text) <= max(budget, max(map(len, texts)))
    whole = "".join(texts)
    place = 0
    for piece in shown.text.split(GAP.strip()):
        place = whole.find(piece.strip(), place)
        assert place >= 0
    assert shown.truncated or whole.strip() == shown.text


@fast
@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=2), st.integers(0, 50), max_size=10), st.integers(1, 100), st.integers(50, 500))
def test_terms_are_kept_rarest_first_within_the_budget(frequencies: dict[str, int], budget: int, documents: int) -> None:
    """All that occur are kept or named as dropped; the order of the query does not matter."""
    statistics = LexicalStatistics(documents, documents * 5, frequencies)
    found = weigh(list(frequencies), statistics, postings_budget=budget)

    assert {term for term, count in frequencies.items() if count} == {*found.terms, *found.dropped}
    assert len(found.terms) <= 1 or sum(frequencies[term] for term in found.terms) <= budget
    assert all(first >= second > 0 for first, second in pairwise([*found.weights, *found.weights[-1:]]))
    assert found == weigh(list(frequencies)[::-1], statistics, postings_budget=budget)


INSTANTS = st.integers(0, 2000).map(lambda days: datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=days)) | st.none()
UTTERANCES = st.builds(
    Utterance, st.sampled_from([None, "s", "t"]), st.integers(1, 9) | st.none(), st.sampled_from([None, "Ada", "Bo", "user"]), INSTANTS, st.booleans()
)
QUERIES = st.sampled_from(["Where do I live now?", "What did Ada do in May 2023?", "What did she use before 2022?", "东京 以前", "plain words"])
WORDS = st.lists(st.sampled_from(["rafting", "river", "2023", "in 2021", "Lisbon", "moved", "东京", "?"]), max_size=6).map(" ".join)
RANKED = st.lists(
    st.builds(Ranked, WORDS, st.sampled_from([None, "Ada"]), st.sampled_from([None, "s", "t"]), INSTANTS, st.integers(0, 1)), max_size=10
)


@fast
@given(BRANCH, BRANCH, st.dictionaries(st.integers(1, 40), UTTERANCES, max_size=40), QUERIES, st.randoms(use_true_random=False))
def test_hints_order_candidates_totally_whatever_the_order_of_rows(
    lexical: list[int], vector: list[int], said: dict[int, Utterance], query: str, draw: Random
) -> None:
    """Every id once, and the same order when rows and turns arrive in another one: scores and ids decide alone."""
    known = {key: value for key, value in said.items() if key in {*lexical, *vector}}
    places = draw.sample(list(known), len(known))
    hints = parse_hints(query, datetime(2023, 10, 18, tzinfo=UTC))
    first, second = hits(lexical), hits(vector)
    found = zscore_2(first, second, SpaceScale(60, 0.1, 0.1, said=known, hints=hints))

    assert {*lexical, *vector} == {key.int for key in found}
    assert len(found) == len(set(found))
    shuffled = SpaceScale(60, 0.1, 0.1, said={key: known[key] for key in places}, hints=hints)
    assert found == zscore_2(draw.sample(first, len(first)), draw.sample(second, len(second)), shuffled)


@fast
@given(RANKED, QUERIES, INSTANTS)
def test_a_rerank_moves_results_and_nothing_else(block: list[Ranked], query: str, valid_at: datetime | None) -> None:
    """A permutation, the same each time, in which every space keeps its places; and what did not move is not noted."""
    hints = parse_hints(query, None)
    found = rerank(block, hints, valid_at)

    assert list(range(len(block))) == sorted(found.order)
    assert found == rerank(block, hints, valid_at)
    assert [item.space for item in block] == [block[place].space for place in found.order]
    assert (list(found.order) == list(range(len(block)))) or found.moves
    assert all(moved.after < moved.before for moved in found.moves)


@fast
@given(st.lists(st.builds(Ranked, WORDS, st.none(), st.none(), st.none()), max_size=10))
def test_without_times_and_years_a_rerank_changes_nothing(block: list[Ranked]) -> None:
    assert tuple(range(len(block))) == rerank(block, parse_hints("plain words", None), None).order


@fast
@given(st.text(max_size=200), INSTANTS)
def test_any_query_can_be_parsed_and_is_parsed_the_same_again(query: str, reference: datetime | None) -> None:
    """Whatever is typed: no failure, and periods that go forward."""
    found = parse_hints(query, reference)

    assert found == parse_hints(query, reference)
    assert all(period.start is None or period.end is None or period.start < period.end for period in found.periods)


@fast
@given(
    st.dates(date(1900, 1, 1), date(2098, 12, 31)),
    st.sampled_from(["{:%Y-%m-%d}", "{:%B} {:%d}, {:%Y}", "{:%d} {:%B} {:%Y}", "{:%Y}年{:%m}月{:%d}日"]),
)
def test_a_date_in_any_form_is_that_day(day: date, form: str) -> None:
    [period] = parse_hints("what was said on " + form.format(*[day] * 3) + "?", None).periods
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)

    assert (start, start + timedelta(days=1)) == (period.start, period.end)

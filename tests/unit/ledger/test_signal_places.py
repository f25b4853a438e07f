"""Looking at the places where a rule may match finds what looking everywhere finds."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commonlore.domain.ledger.signal_languages import LANGUAGE_RULES
from commonlore.domain.ledger.signal_places import Beginnings, matches
from commonlore.domain.ledger.signal_rules import RULES, Rule
from tests.support.injections import DISGUISES, HELD_OUT, ORDINARY, PLAIN
from tests.unit.ledger.test_signals import FOUND

ALL = (*RULES, *LANGUAGE_RULES)
BEGINNINGS = Beginnings(ALL)
EVERY_CHARACTER = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
KNOWN = [
    *FOUND.values(),
    *(text for _, text in PLAIN),
    *(text for _, text in HELD_OUT),
    *ORDINARY,
    *(hide(FOUND["override"]) for hide in DISGUISES.values()),
]
WORDS = sorted({start for rule in ALL for start in rule.begins} | {word for text in KNOWN for word in re.split(r"(\W+)", text) if word})
PIECES = st.sampled_from(WORDS) | st.sampled_from(["\n", " ", "  ", ". ", "_", "é", "\u0130", "x"]) | st.sampled_from(KNOWN)


def missed(rule: Rule, text: str, places: list[int]) -> set[tuple[int, int]]:
    return {match.span() for match in rule.pattern.finditer(text)} ^ {match.span() for match in matches(rule, places, text, 0, len(text))}


@pytest.mark.parametrize("rule", [rule for rule in ALL if rule.begins], ids=lambda rule: rule.name)
def test_no_text_that_a_rule_is_made_for_is_missed(rule: Rule) -> None:
    """Texts are made from the pattern of the rule, in every case and with everything that it allows."""

    @settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.from_regex(rule.pattern), st.sampled_from(["", "a", " ", "\n", "-\n "]))
    def holds(text: str, before: str) -> None:
        assert set() == missed(rule, before + text, BEGINNINGS.find(before + text)[rule.name])

    holds()


@settings(deadline=None)
@given(st.lists(PIECES, max_size=20).map("".join))
def test_nothing_is_missed_in_a_text_of_many_pieces(text: str) -> None:
    places = BEGINNINGS.find(text)

    assert {} == {rule.name: spans for rule in ALL if rule.begins and (spans := missed(rule, text, places[rule.name]))}


def test_letters_that_a_pattern_takes_for_each_other_begin_the_same_words() -> None:
    """Of all characters there are, for each letter of a beginning."""
    begun = {letter for rule in ALL for start in rule.begins for letter in start if letter.isalpha()}
    alike = re.compile("[" + "".join(sorted(begun)) + "]", re.IGNORECASE).findall(EVERY_CHARACTER)
    rule = Rule("any", "instruction_override", "low", re.compile("."), (), tuple(sorted(begun)))

    assert len(alike) == len(
        Beginnings([rule, Rule("sign", "instruction_override", "low", re.compile("!"), (), ("!",))]).find(" ".join(alike))["any"]
    )

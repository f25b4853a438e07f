"""Where in a text each rule of the scan may match: one pass over the text for all rules, so that a long one is not read once a rule.

A beginning is a word or the first letters of one, found at the border of a word; with a space at its end, the whole word before
white space. A single sign is found wherever it stands. Case is of no account, as in the patterns of the rules.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from commonlore.domain.ledger.signal_rules import Rule

# Letters that a pattern without case takes for others, beside those that are of one lower case.
_ALIKE = {"\u0130": "i", "\u0131": "i", "\u017f": "s", "\u03c2": "\u03c3", "\u03f5": "ε", "\u1c80": "в", "\u1c81": "д", "\u1c82": "о", "\u1c83": "с"}


class Beginnings:
    """The beginnings of some rules."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = tuple(rule for rule in rules if rule.begins)
        starts = sorted({start for rule in self._rules for start in rule.begins})
        words = [start for start in starts if start[0].isalpha()]
        signs = [start for start in starts if not start[0].isalpha()]
        # What stands before a word is matched as a class, which is skipped to faster than a border.
        self._word = re.compile(r"\W(" + _any_of(words) + ")")
        self._sign = re.compile(_class_of(signs))
        self._of_word = {word: tuple(rule for rule in self._rules if _is_begun(rule, word)) for word in {word.rstrip() for word in words}}
        self._of_sign = {sign: tuple(rule for rule in self._rules if sign in rule.begins) for sign in signs}

    def find(self, text: str) -> dict[str, list[int]]:
        """By the names of the rules, every place where a match may begin, in ascending order."""
        found: dict[str, list[int]] = {rule.name: [] for rule in self._rules}
        for match in self._word.finditer(" " + _folded(text)):
            for rule in self._of_word[match[1]]:
                _add(found[rule.name], match.start(), rule.before)
        for match in self._sign.finditer(text):
            for rule in self._of_sign[match[0]]:
                _add(found[rule.name], match.start(), rule.before)
        return found


def matches(rule: Rule, places: Sequence[int], text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """What `rule.pattern.finditer(text, start, end)` finds, where it can begin at the places alone."""
    for number in range(bisect_left(places, start), len(places)):
        place = places[number]
        if place >= end:
            return
        if place >= start and (match := rule.pattern.match(text, place, end)) is not None:
            yield match
            start = match.end()


def _folded(text: str) -> str:
    """In lower case, each character at the place where it stands in the text."""
    if not text.isascii():
        for letter, other in _ALIKE.items():
            text = text.replace(letter, other)
    # A sigma is lowered by its place in the word.
    return text.lower().replace("\u03c2", "\u03c3")


def _is_begun(rule: Rule, word: str) -> bool:
    """Whether a word that was found, the longest of the beginnings at its place, may begin a match of the rule."""
    return any(start.rstrip() == word or (start[-1] != " " and word.startswith(start)) for start in rule.begins)


def _add(places: list[int], place: int, before: int) -> None:
    places.extend(range(max(place - before, places[-1] + 1 if places else 0), place + 1))


def _class_of(signs: Sequence[str]) -> str:
    """A class of some sorted signs, neighbours as a range: beyond the first plane a class is a list that is gone through."""
    runs = [[sign for _, sign in run] for _, run in groupby(enumerate(signs), key=lambda item: ord(item[1]) - item[0])]
    return "[" + "".join(f"{re.escape(run[0])}-{re.escape(run[-1])}" for run in runs) + "]"


def _any_of(words: Sequence[str]) -> str:
    """An expression for the longest of some sorted words, letter by letter: it looks at no word whose letters are others."""
    branches = [
        re.escape(letter) + _any_of([word[1:] for word in group]) if letter != " " else r"(?=\s)"
        for letter, group in ((letter, list(group)) for letter, group in groupby((word for word in words if word), key=lambda word: word[0]))
    ]
    if not branches:
        return ""
    return f"(?:{'|'.join(reversed(branches))}){'?' if '' in words else ''}"

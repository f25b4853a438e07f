"""Signs in a text that it was written to command whoever reads it: six kinds, four severities, no model.

Commonlore gives texts back to agents word for word, so a text that says "ignore your instructions" is a danger to its
reader, not to the service. A scan at the write finds the plain forms of this, in the languages of `signal_languages`, and under
the disguises that `signal_disguises` takes off, and keeps the exact place. The rules are in `signal_rules`.

High and critical keep a text out of recalls until a person releases it; low and medium are noted only.
A text that only talks about such sentences may match as well: this is a filter with known misses and false alarms, not a proof.
`RULES_VERSION` moves when a rule changes; `python -m tests.eval.injections` measures what is found, and
`python -m tests.eval.signals` counts false alarms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from commonlore.domain.ledger.signal_disguises import undisguised
from commonlore.domain.ledger.signal_languages import LANGUAGE_RULES
from commonlore.domain.ledger.signal_places import Beginnings, matches
from commonlore.domain.ledger.signal_rules import MOST_SIGNALS, QUOTE_LIMIT, RULES, SEVERITIES, Rule, Signal

RULES_VERSION = 3
# A long text is looked at in windows, so that other threads get their turn; no match is longer than the overlap.
_WINDOW, _OVERLAP = 65_536, 1_024
_ALL: tuple[Rule, ...] = (*RULES, *LANGUAGE_RULES)
_BEGINNINGS = Beginnings(_ALL)


def scan(text: str) -> tuple[Signal, ...]:
    """The signals of a text by their place; at most `MOST_SIGNALS`, the gravest kept where there are more."""
    found = set(_plain(text))
    for layer in undisguised(text):
        for signal in _plain(layer.text):
            if signal.severity in ("high", "critical") and signal.rule not in ("hidden_tags", "bidi"):
                start, end = layer.place(signal.start, signal.end)
                if not any(plain.start <= start < plain.end for plain in found if plain.severity in ("high", "critical")):
                    found.add(Signal(f"disguised_{layer.name}", "obfuscated_instruction", "high", start, min(end, start + QUOTE_LIMIT)))
    gravest = sorted(found, key=lambda signal: (-SEVERITIES.index(signal.severity), signal.start, signal.end, signal.rule))[:MOST_SIGNALS]
    return tuple(sorted(gravest, key=lambda signal: (signal.start, signal.end, signal.rule)))


def _plain(text: str) -> Iterator[Signal]:
    """The signals of a text as it stands."""
    folded = text.casefold()
    places = _BEGINNINGS.find(text)

    # Of a rule with places it is asked once one of them matches: few do, and the words are looked for in the whole text.
    @cache
    def is_possible(needs: tuple[str, ...]) -> bool:
        return not needs or any(word in folded for word in needs)

    wanted = [rule for rule in _ALL if (places[rule.name] if rule.begins else is_possible(rule.needs))]
    for start in range(0, len(text), _WINDOW):
        end = start + _WINDOW + _OVERLAP
        for rule in wanted:
            for match in matches(rule, places[rule.name], text, start, end) if rule.begins else rule.pattern.finditer(text, start, end):
                if is_possible(rule.needs):
                    yield Signal(rule.name, rule.kind, rule.severity, match.start(), min(match.end(), match.start() + QUOTE_LIMIT))


def calls_for_quarantine(signals: Iterable[Signal]) -> bool:
    """Whether a text with these signals is kept out until a person releases it."""
    return any(signal.severity in ("high", "critical") for signal in signals)


def describe(signals: Sequence[Signal]) -> str:
    """The kinds in words, gravest first; nothing of the text."""
    ordered = sorted(signals, key=lambda signal: -SEVERITIES.index(signal.severity))
    return ", ".join(dict.fromkeys(f"{signal.kind} ({signal.severity})" for signal in ordered))


__all__ = ["MOST_SIGNALS", "QUOTE_LIMIT", "RULES", "RULES_VERSION", "Signal", "calls_for_quarantine", "describe", "scan"]

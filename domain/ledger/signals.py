"""Signs in a text that it was written to command whoever reads it: six kinds, four severities, no model.

Commonlore gives texts back to agents word for word, so a text that says "ignore your instructions" is a danger to its
reader, not to the service. A scan at the write finds the plain forms of this and keeps the exact place.

| rule | kind | severity | what it finds |
|---|---|---|---|
| override | instruction_override | high | ignore, disregard, forget or override, then previous, prior, system or your, then instructions, rules, prompt |
| override_everything | instruction_override | high | ignore or forget everything above, before, or said so far, as a command |
| new_instructions | instruction_override | medium | a line that begins "new instructions:" or "updated system prompt:" |
| chat_template | role_control_spoofing | critical | control tokens of chat templates such as <|im_start|>system |
| role_line | role_control_spoofing | medium | a line that begins as a system or developer message |
| role_change | role_control_spoofing | high | "you are now" followed by an unrestricted or developer mode |
| reveal_prompt | prompt_secret_extraction | high | reveal, print or repeat, then your or the system prompt or hidden instructions |
| reveal_secret | prompt_secret_extraction | high | send, reveal or print, then your keys, credentials, tokens or environment variables |
| exfiltrate | tool_exfiltration | critical | send or post the conversation, memory, files or secrets to an address |
| beacon | tool_exfiltration | medium | an image address with a template place, such as ?q={data} |
| call_tool | tool_exfiltration | high | call or run the tool or command silently or without asking |
| encoded_command | obfuscated_instruction | high | decode this base64, rot13 or hex and follow, run or obey it |
| hidden_tags | hidden_control_markup | critical | characters U+E0020 to U+E007E, which spell text that no screen shows, outside a flag |
| hidden_comment | hidden_control_markup | high | an HTML comment that addresses an assistant, agent, AI or model with a command |
| bidi | hidden_control_markup | low | a mark that reverses the order of what follows, so that text reads other than it is |

High and critical keep a text out of recalls until a person releases it; low and medium are noted only.
A text that only talks about such sentences may match as well: this is a filter with known misses and false alarms, not a proof.
`RULES_VERSION` moves when a rule changes; false alarms are counted by `python -m tests.eval.signals`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

SignalKind = Literal[
    "role_control_spoofing",
    "instruction_override",
    "prompt_secret_extraction",
    "tool_exfiltration",
    "obfuscated_instruction",
    "hidden_control_markup",
]
Severity = Literal["low", "medium", "high", "critical"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
RULES_VERSION = 1
QUOTE_LIMIT = 400
# More places than this of one text add nothing to the decision; the first of them are kept.
MOST_SIGNALS = 20


@dataclass(frozen=True, slots=True)
class Signal:
    """One place: half-open span in code points, at most `QUOTE_LIMIT` long."""

    rule: str
    kind: SignalKind
    severity: Severity
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Rule:
    """`needs`: folded words of which a text that matches has at least one; they make the scan of other texts cheap."""

    name: str
    kind: SignalKind
    severity: Severity
    pattern: re.Pattern[str]
    needs: tuple[str, ...]


# A long text is looked at in windows, so that other threads get their turn; no match is longer than the overlap.
_WINDOW, _OVERLAP = 65_536, 1_024
# Every repetition is bounded, no two gaps are nested, and a gap ends with its sentence: a scan is linear in the text.
_GAP = r"[^.!?\n]{0,60}?"
_IGNORE = r"\b(?:ignore|disregard|forget|override|bypass|do\s+not\s+follow)\b"
_ORDERS = r"\b(?:instructions?|prompts?|guidelines|directives|system\s+messages?|programming|guardrails|safety\s+rules)\b"
_EARLIER = r"\b(?:previous|prior|earlier|preceding|above|original|system|developer|safety|your|all\s+(?:of\s+)?(?:the|your|other))\b"
_SECRETS = r"(?:api[\s_-]?keys?|credentials?|passwords?|access[\s_-]?tokens?|secrets?|environment\s+variables)"
_SEND = r"\b(?:send|post|upload|forward|email|transmit|exfiltrate|leak)\b"
_ADDRESS = r"(?:https?://|www\.|\w@\w)"

_NEEDS: dict[str, tuple[str, ...]] = {
    "override": ("ignore", "disregard", "forget", "override", "bypass", "follow"),
    "override_everything": ("ignore", "disregard", "forget"),
    "new_instructions": ("instruction", "prompt"),
    "chat_template": ("<|", "inst]", "sys>>", "_of_turn>"),
    "role_line": ("system", "developer"),
    "role_change": ("you",),
    "reveal_prompt": ("system", "prompt", "instruction"),
    "reveal_secret": ("key", "credential", "password", "token", "secret", "environment"),
    "exfiltrate": ("conversation", "history", "memor", "prompt", "key", "credential", "password", "token", "secret", "environment"),
    "beacon": ("![",),
    "call_tool": ("silently", "secretly", "without"),
    "encoded_command": ("decode", "decrypt", "unscramble"),
    "hidden_tags": (),
    "hidden_comment": ("<!--",),
    "bidi": (),
}
_SOURCES: tuple[tuple[str, SignalKind, Severity, str], ...] = (
    ("override", "instruction_override", "high", rf"{_IGNORE}(?={_GAP}{_EARLIER}){_GAP}{_ORDERS}"),
    (
        "override_everything",
        "instruction_override",
        "high",
        (
            r"(?:\A|[.!?:\n]\s{0,4})(?:please\s+)?(?:ignore|disregard|forget)\s+(?:everything|all)\s+(?:above|before\s+this|said\s+(?:so\s+far|above|before)|"
            r"you\s+(?:were|have\s+been)\s+told)\b"
        ),
    ),
    ("new_instructions", "instruction_override", "medium", r"^\W{0,8}(?:new|updated|revised)\s+(?:system\s+)?(?:instructions?|prompt)\s{0,4}:"),
    (
        "chat_template",
        "role_control_spoofing",
        "critical",
        r"<\|(?:im_start|im_end|start_header_id|end_header_id|eot_id|system|endoftext|endofprompt)\|>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>",
    ),
    ("role_line", "role_control_spoofing", "medium", r"^\W{0,8}(?:system|developer)\s+(?:message|prompt|override)\s{0,4}:"),
    (
        "role_change",
        "role_control_spoofing",
        "high",
        r"\byou\s+are\s+(?:now|from\s+now\s+on)\b[^.!?\n]{0,60}?\b(?:dan|jailbroken|unrestricted|unfiltered|developer\s+mode|no\s+restrictions|without\s+restrictions)\b",
    ),
    (
        "reveal_prompt",
        "prompt_secret_extraction",
        "high",
        (
            rf"\b(?:reveal|print|output|repeat|show|display|leak|disclose)\b{_GAP}\b(?:your|the)\s+(?:(?:full|entire|hidden|initial|original|secret)\s+){{0,2}}"
            r"(?:system\s+(?:prompt|message|instructions?)|(?:hidden|initial|secret)\s+(?:prompt|instructions?))\b"
        ),
    ),
    (
        "reveal_secret",
        "prompt_secret_extraction",
        "high",
        rf"\b(?:reveal|print|output|leak|disclose|exfiltrate|dump)\b{_GAP}\b(?:your|the\s+(?:user|system|server)(?:'s|s)?|all)\s+(?:\w+\s+)?{_SECRETS}\b",
    ),
    (
        "exfiltrate",
        "tool_exfiltration",
        "critical",
        rf"{_SEND}(?={_GAP}\b(?:conversation|chat\s+history|memor(?:y|ies)|system\s+prompt|{_SECRETS})\b)[^!?\n]{{0,160}}?{_ADDRESS}",
    ),
    ("beacon", "tool_exfiltration", "medium", r"!\[[^\]\n]{0,80}\]\(https?://[^\s)]{1,200}[?&][^\s)=]{1,40}=\{[^\s)}]{1,40}\}"),
    (
        "call_tool",
        "tool_exfiltration",
        "high",
        (
            r"\b(?:silently|secretly|without\s+(?:asking|telling|informing)\s+the\s+user)\b[^.!?\n]{0,30}?\b(?:call|invoke|execute|run|use)\b[^.!?\n]{0,30}?"
            r"\b(?:tool|function|command|script|curl|shell)\b|"
            r"\b(?:call|invoke|execute|run|use)\b[^.!?\n]{0,30}?\b(?:tool|function|command|script|curl|shell)\b[^.!?\n]{0,40}?"
            r"\bwithout\s+(?:asking|telling|informing)\s+the\s+user\b"
        ),
    ),
    (
        "encoded_command",
        "obfuscated_instruction",
        "high",
        (
            r"\b(?:decode|decrypt|unscramble)\b[^!?\n]{0,60}?\b(?:base\s?64|rot\s?13|hex(?:adecimal)?|following|this)\b[^!?\n]{0,60}?"
            r"\b(?:and|then)\s+(?:\w+\s+)?(?:follow|execute|obey|run|carry\s+out|comply\s+with)\b"
        ),
    ),
    ("hidden_tags", "hidden_control_markup", "critical", r"(?<!\U0001F3F4)(?<![\U000E0020-\U000E007F])[\U000E0020-\U000E007E]{2,400}"),
    (
        "hidden_comment",
        "hidden_control_markup",
        "high",
        (
            r"<!--(?=[^>]{0,300}?\b(?:assistant|agents?|ai|llm|language\s+model|chatbot)\b)[^>]{0,380}?"
            r"\b(?:must|should|ignore|do\s+not|always|never|instead|send|reveal)\b"
        ),
    ),
    ("bidi", "hidden_control_markup", "low", r"[\u202D\u202E\u2066-\u2068]"),
)
RULES: tuple[Rule, ...] = tuple(
    Rule(name, kind, severity, re.compile(pattern, re.IGNORECASE | re.MULTILINE), _NEEDS[name]) for name, kind, severity, pattern in _SOURCES
)


def scan(text: str) -> tuple[Signal, ...]:
    """The signals of a text by their place; at most `MOST_SIGNALS`, the gravest kept where there are more."""
    folded = text.casefold()
    wanted = [rule for rule in RULES if not rule.needs or any(word in folded for word in rule.needs)]
    found = {
        Signal(rule.name, rule.kind, rule.severity, match.start(), min(match.end(), match.start() + QUOTE_LIMIT))
        for start in range(0, len(text), _WINDOW)
        for rule in wanted
        for match in rule.pattern.finditer(text, start, start + _WINDOW + _OVERLAP)
    }
    gravest = sorted(found, key=lambda signal: (-SEVERITIES.index(signal.severity), signal.start, signal.end))[:MOST_SIGNALS]
    return tuple(sorted(gravest, key=lambda signal: (signal.start, signal.end, signal.rule)))


def calls_for_quarantine(signals: Iterable[Signal]) -> bool:
    """Whether a text with these signals is kept out until a person releases it."""
    return any(signal.severity in ("high", "critical") for signal in signals)


def describe(signals: Sequence[Signal]) -> str:
    """The kinds in words, gravest first; nothing of the text."""
    ordered = sorted(signals, key=lambda signal: -SEVERITIES.index(signal.severity))
    return ", ".join(dict.fromkeys(f"{signal.kind} ({signal.severity})" for signal in ordered))

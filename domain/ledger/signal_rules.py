"""The rules of the scan in English and in markup: what each finds, its kind and its severity.

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
| stop_following | instruction_override | high | stop following or obeying, then your instructions, rules, prompt |
| void_orders | instruction_override | high | your instructions or what the developers told you no longer apply, are void |
| your_new_instructions | instruction_override | high | "your new instructions are" |
| system_override | role_control_spoofing | high | "system override" or "safety rules are disabled" |
| persona | role_control_spoofing | high | act, respond or pretend, then without restrictions, as DAN, jailbroken; "you are DAN"; jailbreak mode |
| repeat_above | prompt_secret_extraction | high | repeat or print everything above, verbatim or from "You are" on |
| hidden_instructions | prompt_secret_extraction | high | reveal, print or tell me, then your initial, hidden or secret instructions |
| always_recommend | instruction_override | high | in all future conversations or answers, then must, always or never |
| addressed | instruction_override | high | a note to the AI, assistant or agents that commands: do not mention, call, send, approve |
| conceal | tool_exfiltration | medium | do not tell or mention it to the user |
| role_tag | role_control_spoofing | high | a tag or bracket of the system or developer, then a command to "you" |
| hidden_element | hidden_control_markup | high | an element that no reader sees, with words for an assistant or a command |
| markdown_comment | hidden_control_markup | high | a comment of Markdown that addresses an assistant or orders |
"""

from __future__ import annotations

import re
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
    """`needs`: folded words of which a text that matches has at least one; they make the scan of other texts cheap.

    `begins`: how a match begins, as `signal_places` finds it; empty where a match may begin anywhere. `before`: how many characters
    of a match may stand before that.
    """

    name: str
    kind: SignalKind
    severity: Severity
    pattern: re.Pattern[str]
    needs: tuple[str, ...]
    begins: tuple[str, ...] = ()
    before: int = 0


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
    "stop_following": ("following", "obeying"),
    "void_orders": (" void", "no longer appl", "not apply"),
    "your_new_instructions": ("new ",),
    "system_override": ("override", "disabled"),
    "persona": ("restriction", "dan", "jailbr", "unfiltered", "limits", "filters", "rules"),
    "repeat_above": ("above",),
    "hidden_instructions": ("instruction", "prompt", "directive"),
    "always_recommend": ("future", "subsequent", "every conversation"),
    "addressed": ("assistant", "agent", "llm", "language model", "chatbot", "the ai", "to ai", "you read", "you see", "you retrieve", "you recall"),
    "conceal": ("user",),
    "role_tag": ("system", "developer"),
    "hidden_element": ("display", "visibility", "font-size", "opacity", "hidden"),
    "markdown_comment": ("[//]:", "[comment]:"),
}
_SHOWS = ("reveal", "print", "output", "repeat", "show", "display", "leak", "disclose")
_BIDI = "\u202d\u202e\u2066\u2067\u2068"
_BEGINS: dict[str, tuple[str, ...]] = {
    "override": ("ignore", "disregard", "forget", "override", "bypass", "do "),
    "override_everything": ("please ", "ignore ", "disregard ", "forget "),
    "new_instructions": ("new ", "updated ", "revised "),
    "chat_template": ("<", "["),
    "role_line": ("system ", "developer "),
    "role_change": ("you ",),
    "reveal_prompt": _SHOWS,
    "reveal_secret": ("reveal", "print", "output", "leak", "disclose", "exfiltrate", "dump"),
    "exfiltrate": ("send", "post", "upload", "forward", "email", "transmit", "exfiltrate", "leak"),
    "beacon": ("!",),
    "call_tool": ("silently", "secretly", "without ", "call", "invoke", "execute", "run", "use"),
    "encoded_command": ("decode", "decrypt", "unscramble"),
    "hidden_tags": tuple(map(chr, range(0xE0020, 0xE007F))),
    "hidden_comment": ("<",),
    "stop_following": ("stop ", "cease ", "quit "),
    "void_orders": ("your", "previous", "earlier", "prior", "all", "developer"),
    "your_new_instructions": ("your ",),
    "system_override": ("system ", "safety ", "security ", "content "),
    "persona": ("act", "behave", "respond", "answer", "pretend", "you ", "do ", "jailbreak "),
    "repeat_above": ("repeat ", "print ", "output ", "reveal ", "show ", "write "),
    "hidden_instructions": (*_SHOWS, "tell "),
    "always_recommend": ("in ", "for "),
    "addressed": ("note ", "message ", "attention ", "instruction", "ai ", "llm ", "when "),
    "conceal": ("do ", "don", "never "),
    "role_tag": ("<", "[", "#"),
    "hidden_element": ("<",),
    "markdown_comment": ("[",),
    "bidi": tuple(_BIDI),
}
# White space or punctuation at the beginning of a line or sentence.
_BEFORE = {"override_everything": 5, "new_instructions": 8, "role_line": 8, "role_tag": 4, "markdown_comment": 3}
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
            r"<!--(?=[^>]{0,300}?\b(?:assistant|agents?|ai|llm|language\s+model|chatbot|previous|above|earlier|system\s+prompt|conversation)\b)[^>]{0,380}?"
            r"\b(?:must|should|ignore|do\s+not|always|never|instead|send|reveal|disregard|forget|print)\b"
        ),
    ),
    ("stop_following", "instruction_override", "high", rf"\b(?:stop|cease|quit)\s+(?:following|obeying)\b{_GAP}{_ORDERS}"),
    (
        "void_orders",
        "instruction_override",
        "high",
        (
            rf"\b(?:your|previous|earlier|prior|all|developers?){_GAP}(?:{_ORDERS}|\btold\s+you\b){_GAP}"
            r"\b(?:(?:is|are)\s+(?:now\s+)?(?:void|null)|no\s+longer\s+appl(?:y|ies)|do(?:es)?\s+not\s+apply\s+(?:to\s+you|any\s*more))\b"
        ),
    ),
    ("your_new_instructions", "instruction_override", "high", r"\byour\s+new\s+(?:system\s+)?(?:instructions?|prompt|orders|task)\s+(?:are|is)\b"),
    (
        "system_override",
        "role_control_spoofing",
        "high",
        r"\bsystem\s+override\b|\b(?:safety|security|content)\s+(?:rules|filters|guidelines|checks)\s+(?:are|have\s+been)\s+(?:now\s+)?(?:disabled|switched\s+off|lifted)\b",
    ),
    (
        "persona",
        "role_control_spoofing",
        "high",
        (
            r"\b(?:act|behave|respond|answer|pretend)\b[^.!?\n]{0,40}?\b(?:as\s+DAN|(?:have|has|with)\s+no\s+(?:restrictions|filters|rules|limits)|"
            r"without\s+(?:any\s+)?(?:restrictions|filters|limits|rules)|jailbroken|unfiltered)\b|"
            r"\byou\s+are\s+DAN\b|\bdo\s+anything\s+now\b|\bjailbreak\s+mode\b|"
            r"\byou\s+are\s+no\s+longer\s+an?\s+(?:AI|assistant|language\s+model)\b"
        ),
    ),
    (
        "repeat_above",
        "prompt_secret_extraction",
        "high",
        (
            r"\b(?:repeat|print|output|reveal|show|write\s+out)\b\s+(?:me\s+)?(?:everything|all(?:\s+(?:of\s+)?the\s+(?:text|words|content))?|the\s+(?:text|words))\s+"
            r"(?:\w+\s+){0,2}?above\b[^.!?\n]{0,60}?(?:\bverbatim\b|\bword\s+for\s+word\b|\byou\s+are\b)"
        ),
    ),
    (
        "hidden_instructions",
        "prompt_secret_extraction",
        "high",
        (
            rf"\b(?:reveal|print|output|repeat|show|display|leak|disclose|tell\s+me)\b{_GAP}\b(?:your|the)\s+(?:\w+\s+){{0,2}}?"
            r"(?:initial|hidden|secret|original|system|full)\s+(?:instructions?|prompt|directives|message)\b"
        ),
    ),
    (
        "always_recommend",
        "instruction_override",
        "high",
        (
            r"\b(?:in|for)\s+(?:all|every|any)\s+(?:future|subsequent)\s+(?:conversations?|sessions?|responses?|answers?|replies|reply)\b[^.!?\n]{0,80}?"
            r"\b(?:you\s+(?:must|shall|will)|always|never)\b"
        ),
    ),
    (
        "addressed",
        "instruction_override",
        "high",
        (
            r"\b(?:note|message|attention|instructions?)\s+(?:to|for)\s+(?:the\s+|any\s+|all\s+)?(?:AI|LLM|assistant|agent|language\s+model|chatbot)s?\b[^\n]{0,40}?"
            r"\b(?:do\s+not|don't|never|always|must|should|send|call|approve|transfer|forward|ignore)\b|"
            r"\b(?:AI|LLM)\s+(?:agents?|assistants?|models?)\s+(?:that\s+)?(?:read(?:s|ing)?|process(?:es|ing)?|see(?:s|ing)?)\s+this\b[^.!?\n]{0,60}?"
            r"\b(?:must|should|shall|have\s+to|are\s+to)\b|"
            r"\bwhen\s+you\s+(?:read|see|retrieve|recall)\s+this\s+(?:memory|text|note|document|message)\b[^.!?\n]{0,40}?\b(?:you\s+must|always|call|send|run|execute)\b"
        ),
    ),
    (
        "conceal",
        "tool_exfiltration",
        "medium",
        r"\b(?:do\s+not|don't|never)\s+(?:tell|inform|notify|alert|(?:mention|reveal|say)\s+(?:this|it|anything)\s+to)\s+the\s+user\b",
    ),
    (
        "role_tag",
        "role_control_spoofing",
        "high",
        (
            r"(?:<\s*/?\s*(?:system|developer)(?:[_\s]?(?:prompt|message))?\s*>|\[\s*(?:system|developer)\s+(?:message|prompt|note)\s*\]|"
            r"^\W{0,4}#{2,6}\s*system(?:\s+(?:message|prompt))?\s*:)(?=[^<\[]{0,160}?\b(?:you\s+(?:are|must|will|should)|ignore|disregard|forget|your|obey)\b)"
        ),
    ),
    (
        "hidden_element",
        "hidden_control_markup",
        "high",
        (
            r"<\w{1,12}\s[^>]{0,200}?(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0\b|\shidden(?=[\s>=]))[^>]{0,200}>"
            r"(?=[^<]{0,300}?\b(?:assistant|AI|LLM|language\s+model|agents?|ignore|disregard|system\s+prompt|instructions)\b)"
        ),
    ),
    (
        "markdown_comment",
        "hidden_control_markup",
        "high",
        (
            r"^\s{0,3}\[(?://|comment)\]:\s*(?:#|<>)\s*[(\"'](?=[^\n]{0,300}?\b(?:assistant|AI|LLM|language\s+model|ignore|disregard|forget|system\s+prompt|"
            r"instructions|send|reveal)\b)[^\n]{0,380}?\b(?:must|should|ignore|do\s+not|always|never|instead|send|reveal|disregard|forget|print)\b"
        ),
    ),
    ("bidi", "hidden_control_markup", "low", f"[{_BIDI}]"),
)
RULES: tuple[Rule, ...] = tuple(
    Rule(name, kind, severity, re.compile(pattern, re.IGNORECASE | re.MULTILINE), _NEEDS[name], _BEGINS[name], _BEFORE.get(name, 0))
    for name, kind, severity, pattern in _SOURCES
)

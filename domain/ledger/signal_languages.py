"""The two commands that matter most, in other languages than English: set your instructions aside, and show your system prompt.

Each language has its verbs of ignoring, its words for instructions, and those that say which ones are meant. All three stand in
one sentence; where a language puts the verb last, they stand in that order. A verb or an instruction alone says nothing.
"""

from __future__ import annotations

import re

from commonlore.domain.ledger.signal_rules import Rule

_GAP = r"[^.!?\n。！？।]{0,60}?"
# language: ((verbs), (instructions), (which)), as regular expressions of word beginnings
_VERB_FIRST: dict[str, tuple[str, str, str]] = {
    "de": (
        r"ignorier\w*|missachte\w*|vergiss|vergessen\s+sie|ignoriert",
        r"anweisung\w*|instruktion\w*|regeln|vorgaben|befehle|system-?prompt",
        r"vorherig\w*|bisherig\w*|obig\w*|früher\w*|vorangegang\w*|dein\w*|alten?|alle",
    ),
    "fr": (
        r"ignore[zr]?|oublie[zr]?|ne\s+(?:tiens|tenez)\s+pas\s+compte|fai(?:s|tes)\s+abstraction",
        r"instructions?|consignes?|directives?|règles|ordres",
        r"précédent\w*|antérieur\w*|ci-dessus|tes|vos|toutes?",
    ),
    "es": (
        r"ignor[ae]n?|olvid[ae]|omit[ae]|haz\s+caso\s+omiso|hagan?\s+caso\s+omiso",
        r"instruccion\w*|órdenes|reglas|indicaciones|directrices",
        r"anterior\w*|previ[ao]s|tus|sus|todas|antes",
    ),
    "it": (
        r"ignora(?:re|te)?|dimentica(?:re|te)?|trascura|non\s+tener\w*\s+conto",
        r"istruzion\w*|regole|direttive|ordini|indicazioni",
        r"precedent\w*|precedenza|tue|tutte|sopra",
    ),
    "pt": (
        r"ignor[ae]|esqueç[ao]|esquece|desconsider[ae]",
        r"instruç\w*|regras|diretrizes|ordens|orientações",
        r"anterior\w*|prévi[ao]s|suas|tuas|todas|acima",
    ),
    "nl": (r"negeer|vergeet", r"instructies|opdrachten|regels|aanwijzingen|richtlijnen", r"vorige|eerdere|bovenstaande|je|jouw|uw|alle"),
    "sv": (
        r"ignorera|glöm|bortse\s+från|ignorer|glem",
        r"instruktion\w*|anvisning\w*|regler\w*|regel\w*",
        r"tidigare|föregående|ovanstående|alla|alle|dina|dine",
    ),
    "pl": (
        r"z?ignoruj\w*|zapomnij\w*|pomiń\w*",
        r"instrukcj\w*|polece\w*|zasad\w*|wytyczn\w*",
        r"poprzedni\w*|wcześniejsz\w*|swo\w+|wszystki\w*|powyższ\w*",
    ),
    "cs": (r"ignoruj\w*|zapomeň\w*", r"instrukc\w*|pokyn\w*|pravid\w*|příkaz\w*", r"předchozí\w*|všechn\w*|své|dosavadní\w*"),
    "ru": (
        r"(?:про)?игнорируй\w*|забудь\w*|не\s+обращай\w*\s+внимания",
        r"инструкц\w*|указани\w*|правил\w*|команд\w*",
        r"предыдущ\w*|прежн\w*|все|свои|вышеуказанн\w*",
    ),
    "uk": (r"(?:про)?ігноруй\w*|забудь\w*", r"інструкц\w*|вказівк\w*|правил\w*", r"попередн\w*|усі|всі|свої"),
    "ro": (r"ignor(?:ă|ați|a)|uită|uitați", r"instrucțiuni\w*|reguli\w*", r"anterioar\w*|precedent\w*|toate|tale"),
    "el": (r"αγνόησε|αγνοήστε|ξέχασε", r"οδηγίες|εντολές|κανόνες", r"προηγούμεν\w*|όλες|όλους"),
    "vi": (r"bỏ\s+qua|phớt\s+lờ|quên", r"hướng\s+dẫn|chỉ\s+dẫn|lệnh|quy\s+tắc|chỉ\s+thị", r"trước|trên|tất\s+cả|mọi"),
    "id": (r"abaikan|lupakan", r"instruksi|perintah|aturan|petunjuk", r"sebelumnya|di\s+atas|semua"),
    "fi": (r"jätä\s+huomiotta|unohda|ohita", r"ohje\w*|säännö\w*|käsky\w*", r"aiem\w*|aikaisem\w*|edelli\w*|kaikki"),
    "hu": (r"hagyd\s+figyelmen\s+kívül|felejtsd\s+el", r"utasítás\w*|szabály\w*", r"korábbi\w*|összes|előző\w*"),
    "ar": (r"تجاهل\w*|انس\w*", r"التعليمات|الأوامر|القواعد|الإرشادات", r"السابقة|أعلاه|جميع|كل|كافة"),
    "he": (r"התעלמ?ם?\w*|שכח\w*", r"ההוראות|הכללים|ההנחיות|הפקודות", r"הקודמות|הקודמים|כל|מכל"),
}
# How each of the verbs begins, as in `signal_places`.
_VERB_BEGINS: dict[str, str] = {
    "de": "ignorier|missachte|vergiss|vergessen ",
    "fr": "ignore|oublie|ne |fais |faites ",
    "es": "ignor|olvid|omit|haz |haga",
    "it": "ignora|dimentica|trascura|non ",
    "pt": "ignor|esque|desconsider",
    "nl": "negeer|vergeet",
    "sv": "ignorer|glöm|bortse |glem",
    "pl": "ignoruj|zignoruj|zapomnij|pomiń",
    "cs": "ignoruj|zapomeň",
    "ru": "игнорируй|проигнорируй|забудь|не ",
    "uk": "ігноруй|проігноруй|забудь",
    "ro": "ignor|uit",
    "el": "αγνόησε|αγνοήστε|ξέχασε",
    "vi": "bỏ |phớt |quên",
    "id": "abaikan|lupakan",
    "fi": "jätä |unohda|ohita",
    "hu": "hagyd |felejtsd ",
    "ar": "تجاهل|انس",
    "he": "התעל|שכח",
}
_VERB_LAST: dict[str, tuple[str, str, str]] = {
    "tr": (
        r"yok\s*say\w*|görmezden\s+gel\w*|unut\w*|dikkate\s+alma\w*",
        r"talimat\w*|yönerge\w*|kural\w*|komut\w*",
        r"önceki|yukarıdaki|tüm|bütün|eski",
    ),
    "hi": (r"अनदेखा|नज़रअंदाज़|नजरअंदाज|भूल", r"निर्देश\w*|आदेश\w*|नियम\w*", r"पिछल|पूर्व|सभी|ऊपर"),
}
# Scripts without spaces: words have no borders.
_UNSPACED: dict[str, tuple[str, tuple[str, ...]]] = {
    "zh": (
        r"(?:忽略|无视|無視|忽視|忘记|忘記|忘掉|不要理会|不要理會)[^。！？\n]{0,16}?(?:之前|以前|先前|上面|以上|前面|所有|全部|你的|您的|一切|你之前)[^。！？\n]{0,16}?(?:指令|指示|说明|說明|提示|规则|規則|命令)",
        ("忽", "视", "視", "忘", "理会", "理會"),
    ),
    "ja": (
        r"(?:以前|これまで|今まで|前の|上記|先の|すべて|全て|全部|あなた)[^。！？\n]{0,12}?(?:指示|命令|ルール|プロンプト|規則|指令)[^。！？\n]{0,12}?(?:無視|忘れ(?:て(?!い|し|く[^だ])|ろ|なさい))",
        ("無視", "忘れ"),
    ),
    "ko": (
        r"(?:이전|앞선|앞의|위의|기존|모든|지금까지)[^.!?\n]{0,16}?(?:지시|명령|규칙|지침|프롬프트)[^.!?\n]{0,10}?(?:무시\s*(?:하|해)|잊(?:어|고|으))",
        ("무시", "잊"),
    ),
    "th": (r"(?:เพิกเฉย|ละเว้น|ลืม|ไม่ต้องสนใจ)[^\n]{0,20}?(?:คำสั่ง|คำแนะนำ|กฎ)[^\n]{0,12}?(?:ก่อนหน้า|ทั้งหมด|เดิม|ข้างต้น)", ("คำสั่ง", "คำแนะนำ", "กฎ")),
}
_REVEAL_BEGINS = (
    "zeig",
    "gib",
    "verrat",
    "nenn",
    "affich",
    "révèl",
    "montr",
    "muestr",
    "revel",
    "imprim",
    "mostr",
    "toon",
    "onthul",
    "pokaż",
    "ukaž",
    "покажи",
    "выведи",
    "раскрой",
    "göster",
)
_REVEAL: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "european": (
        (
            r"\b(?:zeig\w*|gib|verrat\w*|nenn\w*|affich\w*|révèl\w*|montr\w*|muestr\w*|revel\w*|imprim\w*|mostr\w*|toon|onthul|pokaż|ukaž|покажи\w*|выведи\w*|раскрой\w*|göster\w*)"
            r"\b[^.!?\n]{0,60}?(?:\bsystem-?\s?prompt\w*|\bsysteemprompt|\bsystemanweisung\w*|\bprompt\s+(?:système|(?:de|di|do|del)\s+sist\w+)|"
            r"\binstruc\w*\s+(?:de|do|del|du)\s+sist\w+|\bсистемн\w+\s+(?:промпт\w*|инструкц\w*)|\bsistem\s+(?:istem\w*|talimat\w*))"
        ),
        ("prompt", "system", "sistem", "систем"),
        _REVEAL_BEGINS,
    ),
    "east": (
        (
            r"(?:输出|輸出|显示|顯示|告诉我|告訴我|泄露|透露|打印)[^。！？\n]{0,12}?(?:系统提示|系統提示)|(?:システムプロンプト|システムの指示)[^。！？\n]{0,10}?(?:表示|出力|教え|開示|見せ)|"
            r"시스템\s*프롬프트[^.!?\n]{0,12}?(?:출력|보여|공개|알려)"
        ),
        ("系统提示", "系統提示", "システム", "시스템"),
        (),
    ),
}


def _stems(expression: str) -> tuple[str, ...]:
    """The plain beginnings of the alternatives: a text without any of them cannot match."""
    plain = re.sub(r"\\s[+*]|\(\?:[^)]*\)\??|\[[^\]]*\]\??|[^\\)\]]\?", "|", expression)
    stems = tuple(sorted({piece.replace("\\w", "").strip("*+?-") for piece in plain.split("|") if len(piece.replace("\\w", "").strip("*+?-")) > 2}))
    return tuple(stem.casefold() for stem in stems)


def _rules() -> tuple[Rule, ...]:
    flags = re.IGNORECASE | re.MULTILINE
    made = []
    for language, (verbs, orders, which) in _VERB_FIRST.items():
        begins = tuple(_VERB_BEGINS[language].split("|"))
        pattern = rf"\b(?:{verbs})\b(?={_GAP}\b(?:\w{{0,3}})(?:{which})\b){_GAP}\b(?:{orders})\b"
        made.append(Rule(f"override_{language}", "instruction_override", "high", re.compile(pattern, flags), _stems(orders), begins))
    for language, (verbs, orders, which) in _VERB_LAST.items():
        pattern = rf"(?:{which}){_GAP}(?:{orders}){_GAP}(?:{verbs})"
        made.append(Rule(f"override_{language}", "instruction_override", "high", re.compile(pattern, flags), _stems(orders)))
    made += [
        Rule(f"override_{name}", "instruction_override", "high", re.compile(pattern, flags), needs) for name, (pattern, needs) in _UNSPACED.items()
    ]
    made += [
        Rule(f"reveal_{name}", "prompt_secret_extraction", "high", re.compile(pattern, flags), needs, begins)
        for name, (pattern, needs, begins) in _REVEAL.items()
    ]
    return tuple(made)


LANGUAGE_RULES: tuple[Rule, ...] = _rules()

"""Words that carry grammar and no subject. They are indexed like every word and dropped from queries only.

The list is closed on purpose. Negations, numbers and prepositions of place stay out of it, since they can decide an answer, and so does
May. All words are in folded form.
"""

from __future__ import annotations

_ENGLISH = """
    a an the this that these those i me my mine myself we us our ours ourselves you your yours yourself he him his himself she her hers
    herself it its itself they them their theirs themselves am is are was were be been being have has had having do does did doing done
    will would shall should can could might must and or but if so than then as at by for from in into of on onto to with about
    what which who whom whose when where why how there here im ive id ill youre youve youd youll hes shes theyre theyve weve thats whats
    wheres whos whens hows whys lets please tell
"""
# Of the other languages only what is no common English word, name, unit or command, so that no query needs a language.
_GERMAN = "der das und ist ein eine einen einem einer eines von zu auf wie wer wo wann warum welche welcher welches wurde sind dem"
_FRENCH = "le les des et dans une du que qui quoi quel quelle quels quelles ou au aux ce cette"
_SPANISH = "el los las del en por cual cuales quien quienes cuando donde como fue una es y se lo"

FUNCTION_WORDS = frozenset(f"{_ENGLISH} {_GERMAN} {_FRENCH} {_SPANISH}".split())

"""Text as evidence and relationships are searched, cut, quoted and named by. One analyser for every store."""

from commonlore.domain.text.analyse import query_terms, terms
from commonlore.domain.text.mentions import Mention, find_mentions, sentence_around
from commonlore.domain.text.normalise import fold, name_key
from commonlore.domain.text.parts import Span, split_parts

__all__ = ["Mention", "Span", "find_mentions", "fold", "name_key", "query_terms", "sentence_around", "split_parts", "terms"]

"""Text as evidence and relationships are searched, cut, quoted and named by. One analyser for every store."""

from commonlore.domain.text.analyse import query_terms, terms
from commonlore.domain.text.normalise import fold, name_key
from commonlore.domain.text.parts import Span, split_parts

__all__ = ["Span", "fold", "name_key", "query_terms", "split_parts", "terms"]

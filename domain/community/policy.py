"""Every number that decides a community, named, checked and versioned. A snapshot names the configuration it was made with."""

from __future__ import annotations

from dataclasses import dataclass

VERSION = "community-leiden-1"


@dataclass(frozen=True, slots=True)
class CommunityPolicy:
    """
    `resolution` and `seed` as in dense-mem 11.1. `evidence_weight`, `entity_weight` and `value_weight` are shared out among
    the other groups that hold the same item. An item that more than `clique_limit` groups hold ties them through one node of
    its own, so that edges grow with the items and not with their square.
    A community of more than `split_above` groups is looked at by itself and split where it falls apart: over a whole space
    modularity cannot see small communities.
    `most_sweeps` bounds the local moves, `most_relationships` and `most_supports` what is read; beyond them nothing is.
    `kept_overlap` is the share of groups, in hundredths, that keeps a community its logical identity.
    """

    resolution: float = 1.0
    seed: int = 158
    evidence_weight: float = 2.0
    entity_weight: float = 1.0
    value_weight: float = 1.0
    clique_limit: int = 12
    split_above: int = 64
    most_sweeps: int = 50
    least_groups: int = 2
    most_relationships: int = 250_000
    most_supports: int = 1_000_000
    kept_overlap: int = 60
    shown_entities: int = 5
    kept_entities: int = 10
    shown_predicates: int = 5
    shown_quotes: int = 5
    kept_quotes: int = 10
    quote_chars: int = 400
    summary_chars: int = 4000

    def __post_init__(self) -> None:
        if self.resolution <= 0 or self.clique_limit < 2 or self.least_groups < 2 or self.most_relationships < 1:
            raise ValueError("resolution > 0, clique_limit and least_groups >= 2, most_relationships >= 1")
        if not 50 < self.kept_overlap <= 100:
            raise ValueError("kept_overlap lies above 50, so that no two communities can claim one identity")

    @property
    def configuration(self) -> str:
        """What a partition depends on besides its source; two snapshots are comparable when it is the same."""
        weights = f"{self.evidence_weight}/{self.entity_weight}/{self.value_weight}"
        return f"{VERSION};resolution={self.resolution};seed={self.seed};weights={weights};clique={self.clique_limit};split={self.split_above};sweeps={self.most_sweeps}"

"""Every posting of the database, whether a worker folded it yet or not, as rows of a plain table."""

from __future__ import annotations

import psycopg

_CODE = "p.code >> 32 as part_no, (p.code >> 16 & 65535)::int as frequency, (p.code & 65535)::int as length"
_PARTS = """
    select b.team_id, b.space_epoch, b.term, e.evidence_id, e.code
    from commonlore.evidence_posting b cross join unnest(b.evidence_ids, b.codes) as e (evidence_id, code)
    union all
    select d.team_id, d.space_epoch, w.key, d.evidence_ids[1 + (h.hit & 63)], d.bases[1 + (h.hit & 63)] + (h.hit >> 6 << 16)
    from commonlore.evidence_posting_difference d cross join jsonb_each_text(d.words) w cross join unnest(w.value::bigint[]) h (hit)
"""
_DOCUMENTS = """
    select s.team_id, s.space_epoch, s.generation, s.term, s.relationship_id, s.code from (
        select b.team_id, b.space_epoch, b.generation, b.term, e.relationship_id, e.code, 1 as sign
        from commonlore.relationship_posting b cross join unnest(b.relationship_ids, b.codes) as e (relationship_id, code)
        union all
        select d.team_id, d.space_epoch, d.generation, w.key, d.relationship_ids[1 + (h.hit & 63)],
               d.bases[1 + (h.hit & 63)] + (h.hit >> 6 << 16), d.sign
        from commonlore.relationship_posting_difference d cross join jsonb_each_text(d.words) w cross join unnest(w.value::bigint[]) h (hit)
    ) s group by 1, 2, 3, 4, 5, 6 having sum(s.sign) <> 0
"""
# Columns: team_id, space_epoch, term, evidence_id, part_no, frequency, length, code.
PART_POSTINGS = f"(select p.*, {_CODE} from ({_PARTS}) p) p"
# The same with generation and relationship_id; what was added and taken away again is not there.
DOCUMENT_POSTINGS = f"(select p.*, {_CODE} from ({_DOCUMENTS}) p) p"


def fold(connection: psycopg.Connection, team_id: object) -> None:
    """All postings of a team in blocks, as if a worker had been there. `connection`: a superuser's."""
    for frontier, key, postings, generation in (
        ("evidence", "evidence_id", _PARTS, ""),
        ("relationship", "relationship_id", _DOCUMENTS, "generation, "),
    ):
        for statement in (
            f"create temporary table folded as select p.* from ({postings}) p where p.team_id = %(team)s",
            f"delete from commonlore.{frontier}_posting where team_id = %(team)s",
            f"delete from commonlore.{frontier}_posting_difference where team_id = %(team)s",
            (
                f"insert into commonlore.{frontier}_posting (team_id, space_epoch, {generation}term, entries, {key}s, codes) "
                f"select team_id, space_epoch, {generation}term, count(*), array_agg({key}), array_agg(code) from ("
                f"select f.*, (row_number() over (partition by space_epoch, {generation}term order by {key}, code) - 1) / 64 as block from folded f) f "
                f"group by team_id, space_epoch, {generation}term, block"
            ),
            "drop table folded",
        ):
            connection.execute(statement.encode(), {"team": team_id})

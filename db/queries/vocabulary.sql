-- Predicates as an administrator defines them: new versions, never changed ones.

-- name: definitions
-- The newest version of each predicate after a key, in the order of the keys, with how many relationships count now.
select p.predicate_key, p.version, p.aliases, p.subject_kinds, p.object_kinds, p.relationship_kind, p.current_cardinality, p.lifecycle_state,
       p.known_from
from (
    select distinct on (d.predicate_key) d.*
    from commonlore.predicate_definition d
    where d.predicate_key > %(after_key)s::text
      and d.team_id = %(team_id)s::uuid -- tenant
      and d.space_epoch = %(space_epoch)s::bigint -- tenant
    order by d.predicate_key, d.version desc
) p
order by p.predicate_key
limit %(most)s::int;

-- name: define
with definition as (
    insert into commonlore.predicate_definition
        (team_id, space_epoch, predicate_key, version, aliases, subject_kinds, object_kinds, relationship_kind, current_cardinality,
         lifecycle_state, known_from)
    values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(key)s::text, %(version)s::int, %(aliases)s::text[], %(subject_kinds)s::text[],
            %(object_kinds)s::text[], %(relationship_kind)s::text, %(current_cardinality)s::text, %(lifecycle_state)s::text,
            %(now)s::timestamptz)
)
insert into commonlore.predicate_registration_event
    (team_id, space_epoch, event_id, predicate_key, version, policy, submission_id, actor_profile_id, reason, known_from)
values (%(team_id)s::uuid, %(space_epoch)s::bigint, %(event_id)s::uuid, %(key)s::text, %(version)s::int, 'administered_v1', null,
        %(actor_profile_id)s::uuid, %(reason)s::text, %(now)s::timestamptz);

-- name: several_current
-- Where an author holds several current statements of one scope, the earliest first: what a cardinality of one would not hold.
select r.owner_profile_id, r.subject_entity_id, array_agg(r.relationship_id order by r.known_from, r.relationship_id) as relationship_ids
from commonlore.relationship r
where r.predicate_key = %(key)s::text and r.status = 'active' and r.support_count > 0 and r.identity_alias_of is null
  and r.team_id = %(team_id)s::uuid -- tenant
  and r.space_epoch = %(space_epoch)s::bigint -- tenant
group by r.owner_profile_id, r.subject_entity_id, r.polarity, r.valid_from, r.scope_key
having count(*) > 1
order by min(r.known_from), r.subject_entity_id
limit %(most)s::int;

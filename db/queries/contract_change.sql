-- Changes of the installation's contracts, by whoever holds the database.

-- name: next_contract_id
select (max(c.contract_id) + 1)::int as contract_id from commonlore.embedding_contract c;

-- name: add_contract
-- A contract to be built; one that was retired begins anew under its number.
insert into commonlore.embedding_contract (contract_id, contract_key, dimensions, lifecycle_state, started_at)
values (%(contract_id)s::smallint, %(contract_key)s::text, %(dimensions)s::int, 'building', %(now)s::timestamptz)
on conflict (contract_key) do update
set lifecycle_state = 'building', started_at = excluded.started_at, activated_at = null, retired_at = null
returning contract_id;

-- name: make_tables
select commonlore.make_vector_tables(%(contract_id)s::smallint, %(dimensions)s::int);

-- name: drop_tables
select commonlore.drop_vector_tables(%(contract_id)s::smallint);

-- name: stand_by
update commonlore.embedding_contract c set lifecycle_state = 'standby' where c.lifecycle_state = 'served';

-- name: make_room
-- The one that stands by, out of the way of the one that will.
update commonlore.embedding_contract c set lifecycle_state = 'building' where c.contract_id = %(contract_id)s::smallint;

-- name: serve
update commonlore.embedding_contract c set lifecycle_state = 'served', activated_at = %(now)s::timestamptz
where c.contract_id = %(contract_id)s::smallint;

-- name: retire
update commonlore.embedding_contract c set lifecycle_state = 'retired', retired_at = %(now)s::timestamptz
where c.contract_id = %(contract_id)s::smallint;

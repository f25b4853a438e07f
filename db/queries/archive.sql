-- What an archive is made of, read from the catalogue, so that a new table needs no word here. Run by the owner.

-- name: list_tables
-- Every table that keeps rows, by schema and name, with the columns that hold them and how closely its policies bind.
-- A column that names a transaction of this server is none of them: rows that are restored come with the transaction that restores them.
-- Left out are partitions, which their parent shows, and unlogged tables, which a crash empties as well.
-- rows_about is the planner's estimate, null before the first ANALYZE.
select n.nspname::text as schema_name, c.relname::text as table_name,
       case when not c.relrowsecurity then 'installation'
            when exists (select from pg_policy p where p.polrelid = c.oid and pg_get_expr(p.polqual, p.polrelid) like '%%commonlore.space_epoch%%') then 'space'
            else 'team' end as level,
       array(select a.attname::text from pg_attribute a
             where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.atttypid <> 'xid8'::regtype
             order by a.attnum) as columns,
       c.relforcerowsecurity as forced,
       nullif(c.reltuples, -1)::bigint as rows_about,
       c.relkind = 'r' and pg_relation_size(c.oid) = 0 as has_no_page
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where n.nspname in ('commonlore', 'procrastinate') and c.relkind in ('r', 'p') and c.relpersistence = 'p' and not c.relispartition
order by n.nspname, c.relname;

-- name: list_sequences
-- Every sequence and the last number that it gave; null where it gave none.
select s.schemaname::text as schema_name, s.sequencename::text as sequence_name, s.last_value
from pg_sequences s
where s.schemaname in ('commonlore', 'procrastinate')
order by s.schemaname, s.sequencename;

-- name: list_foreign_keys
-- Every foreign key, by schema, table and name, as the text that makes it again.
select n.nspname::text as schema_name, c.relname::text as table_name, k.conname::text as name, pg_get_constraintdef(k.oid) as definition
from pg_constraint k
join pg_class c on c.oid = k.conrelid
join pg_namespace n on n.oid = c.relnamespace
where k.contype = 'f' and k.conparentid = 0 and n.nspname in ('commonlore', 'procrastinate')
order by n.nspname, c.relname, k.conname;

-- name: list_triggers
-- Triggers that act in normal operation, by schema, table and name; those of foreign keys are left out.
select n.nspname::text as schema_name, c.relname::text as table_name, t.tgname::text as name
from pg_trigger t
join pg_class c on c.oid = t.tgrelid
join pg_namespace n on n.oid = c.relnamespace
where not t.tgisinternal and t.tgparentid = 0 and t.tgenabled = 'O' and n.nspname in ('commonlore', 'procrastinate')
order by n.nspname, c.relname, t.tgname;

-- name: list_epochs
-- The present epoch of every space of the team, whatever its state, in order. What lies behind a fence is erased and is not read.
select s.space_epoch from commonlore.space s
where s.team_id = %(team_id)s::uuid -- tenant
order by s.space_epoch;

-- name: read_state
-- The instant and the server of the snapshot; the first statement of its transaction.
select now() as taken_at, current_setting('server_version') as server,
       (select e.extversion from pg_extension e where e.extname = 'vector') as pgvector,
       (select v.version_num from commonlore.alembic_version v) as revision;

-- name: hold_off_migrations
-- A migration waits for the end of this connection, and this for the end of a migration.
select pg_advisory_lock_shared(%(lock)s::bigint);

-- name: hold_off_everyone
-- One restore at a time, and no migration beside it.
select pg_advisory_xact_lock(%(lock)s::bigint);

-- name: has_teams_table
select to_regclass('commonlore.team') is not null as made;

-- name: set_sequence
-- The next number comes after this one.
select setval(format('%%I.%%I', %(schema_name)s::text, %(sequence_name)s::text)::regclass, %(last_value)s::bigint);

-- name: make_vector_tables
-- The tables of a contract that is not the first one, where they are missing.
select commonlore.make_vector_tables(c.contract_id, c.dimensions) from commonlore.embedding_contract c
where c.contract_id <> 1 and c.lifecycle_state <> 'retired'
order by c.contract_id;

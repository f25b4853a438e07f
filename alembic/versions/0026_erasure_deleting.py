"""Erasure: the functions by which a worker deletes what is out of sight, and looks for what is left of it."""

from alembic import op

revision = "0026"
down_revision = "0025"

# All that goes with a team: `TEAM_ORDER` of the manifest.
OF_TEAM = (
    *("retention_rule", "limit_use", "promotion_item", "promotion"),
    *("legal_hold", "export", "space_grant", "recall_feedback", "feedback_mark", "feedback_result", "feedback_recall"),
    *("projection_generation", "space", "space_epoch", "credential", "profile"),
)


def upgrade() -> None:
    op.execute(_DELETING.replace("{tables}", ", ".join(f"'{table}'" for table in OF_TEAM)))
    op.execute(_CHECKING)


_DELETING = """
-- The epoch that a deleting transaction has open; raises unless the erasure reaches into it to that extent and is being carried out.
create function commonlore.erased_epoch(erasure uuid, wanted text) returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp as $body$
declare
    team constant uuid := nullif(current_setting('commonlore.team_id', true), '')::uuid;
    epoch constant bigint := nullif(current_setting('commonlore.space_epoch', true), '')::bigint;
begin
    if not exists (
        select from commonlore.erasure e
        join commonlore.erasure_scope s on s.team_id = e.team_id and s.erasure_id = e.erasure_id
        where e.team_id = team and e.erasure_id = erasure and e.state in ('deleting', 'checking')
          and s.space_epoch = epoch and s.extent = wanted
    ) then
        raise 'no erasure of this extent is being carried out here';
    end if;
    return epoch;
end
$body$;
revoke execute on function commonlore.erased_epoch(uuid, text) from public;

-- Adds the ids of rows that hang on what goes already. How many are new.
create function commonlore.collect_rows(table_name text, id_column text, key_column text, erasure uuid) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
declare
    team constant uuid := nullif(current_setting('commonlore.team_id', true), '')::uuid;
    epoch constant bigint := commonlore.erased_epoch(erasure, 'items');
    changed bigint;
begin
    execute format(
        'insert into commonlore.erasure_item (team_id, space_epoch, erasure_id, item_id, item_kind)'
        ' select distinct $1, $2, $3, t.%2$I, $4 from commonlore.%1$I t'
        ' join commonlore.erasure_item i on i.team_id = $1 and i.space_epoch = $2 and i.erasure_id = $3 and i.item_id = t.%3$I'
        ' where t.team_id = $1 and t.space_epoch = $2 on conflict do nothing', table_name, id_column, key_column)
    using team, epoch, erasure, table_name;
    get diagnostics changed = row_count;
    return changed;
end
$body$;

-- Takes references out of the way: of rows that go, to themselves; of rows that stay, to nothing.
create function commonlore.unlink_rows(table_name text, key_column text, id_column text, erasure uuid, extent text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
declare
    team constant uuid := nullif(current_setting('commonlore.team_id', true), '')::uuid;
    epoch constant bigint := commonlore.erased_epoch(erasure, extent);
    gone constant text := 'in (select i.item_id from commonlore.erasure_item i where i.team_id = $1 and i.space_epoch = $2 and i.erasure_id = $3)';
    changed bigint := 0;
begin
    if id_column is not null then
        execute format('update commonlore.%1$I t set %2$I = t.%3$I where t.team_id = $1 and t.space_epoch = $2 and t.%2$I <> t.%3$I and $3 is not null',
                       table_name, key_column, id_column) || case extent when 'items' then format(' and t.%I ', id_column) || gone else '' end
        using team, epoch, erasure;
    end if;
    if extent = 'items' then
        execute format('update commonlore.%1$I t set %2$I = null where t.team_id = $1 and t.space_epoch = $2 and t.%2$I ', table_name, key_column) || gone
            || case when id_column is null then '' else format(' and t.%I not ', id_column) || gone end
        using team, epoch, erasure;
        get diagnostics changed = row_count;
    end if;
    return changed;
end
$body$;

-- Deletes at most so many rows of a table: those that the column ties to what goes or, without a column, all of the epoch.
create function commonlore.purge_rows(table_name text, key_column text, erasure uuid, most integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
declare
    team constant uuid := nullif(current_setting('commonlore.team_id', true), '')::uuid;
    epoch constant bigint := commonlore.erased_epoch(erasure, case when key_column is null then 'whole' else 'items' end);
    tied constant text := case when key_column is null then '' else format(
        ' join commonlore.erasure_item i on i.team_id = $1 and i.space_epoch = $2 and i.erasure_id = $3 and i.item_id = t.%I', key_column) end;
    changed bigint;
begin
    execute format('delete from commonlore.%1$I where team_id = $1 and space_epoch = $2 and ctid = any(array('
                   'select t.ctid from commonlore.%1$I t', table_name) || tied
            || ' where t.team_id = $1 and t.space_epoch = $2 and $3 is not null limit $4))'
    using team, epoch, erasure, most;
    get diagnostics changed = row_count;
    return changed;
end
$body$;

-- The number of an epoch that a fence has ended, once nothing of it is left: whoever wrote there all the while writes to nothing.
create function commonlore.purge_epoch(erasure uuid) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
declare
    team constant uuid := nullif(current_setting('commonlore.team_id', true), '')::uuid;
    epoch constant bigint := commonlore.erased_epoch(erasure, 'whole');
    changed bigint;
begin
    delete from commonlore.space_epoch p where p.team_id = team and p.space_epoch = epoch and p.known_to is not null;
    get diagnostics changed = row_count;
    return changed;
end
$body$;

-- Deletes about so many rows of what callers said of rows that go; of a whole epoch, before its rows are deleted. It is kept by id, for the team as a whole.
create function commonlore.purge_feedback(erasure uuid, extent text, most integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
declare
    team constant uuid := nullif(current_setting('commonlore.team_id', true), '')::uuid;
    epoch constant bigint := commonlore.erased_epoch(erasure, extent);
    gone text := 'select i.item_id from commonlore.erasure_item i where i.team_id = $1 and i.space_epoch = $2 and i.erasure_id = $3';
    shown record;
    kept text;
    deleted bigint;
    changed bigint := 0;
begin
    for shown in select * from (values ('evidence', 'evidence_id'), ('relationship', 'relationship_id'), ('community', 'logical_community_id'),
                                       ('community', 'community_id'), ('hypothesis', 'hypothesis_id')) as s (name, id) where extent = 'whole' loop
        gone := gone || format(' union all select t.%2$I from commonlore.%1$I t where t.team_id = $1 and t.space_epoch = $2', shown.name, shown.id);
    end loop;
    -- Marks name results: those are deleted once no mark is left.
    foreach kept in array array['feedback_mark', 'feedback_result'] loop
        execute format('delete from commonlore.%1$I where team_id = $1 and ctid = any(array('
                       'select f.ctid from commonlore.%1$I f where f.team_id = $1 and f.result_id in (%2$s) limit $4))', kept, gone)
        using team, epoch, erasure, most;
        get diagnostics deleted = row_count;
        changed := changed + deleted;
        exit when deleted >= most;
    end loop;
    return changed;
end
$body$;

-- What is left of it.
create function commonlore.left_feedback(erasure uuid) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
declare
    team constant uuid := nullif(current_setting('commonlore.team_id', true), '')::uuid;
    epoch constant bigint := commonlore.erased_epoch(erasure, 'items');
begin
    return (
        select count(*) from commonlore.feedback_result f
        join commonlore.erasure_item i on i.team_id = team and i.space_epoch = epoch and i.erasure_id = erasure and i.item_id = f.result_id
        where f.team_id = team
    );
end
$body$;

-- Predicates that the erased texts alone brought in and that no relationship has; with what was noted of their coming.
create function commonlore.purge_predicates(erasure uuid) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
declare
    team constant uuid := nullif(current_setting('commonlore.team_id', true), '')::uuid;
    epoch constant bigint := commonlore.erased_epoch(erasure, 'items');
    keys text[];
    changed bigint;
begin
    keys := array(
        select s.sample from commonlore.erasure_sample s
        where s.team_id = team and s.space_epoch = epoch and s.erasure_id = erasure and s.sample_kind = 'predicate'
          and not exists (select from commonlore.relationship r where r.team_id = team and r.space_epoch = epoch and r.predicate_key = s.sample)
          and not exists (select from commonlore.conflict_case c where c.team_id = team and c.space_epoch = epoch and c.predicate_key = s.sample)
          and not exists (select from commonlore.hypothesis h where h.team_id = team and h.space_epoch = epoch and h.predicate_key = s.sample)
    );
    delete from commonlore.predicate_registration_event e where e.team_id = team and e.space_epoch = epoch and e.predicate_key = any(keys);
    get diagnostics changed = row_count;
    delete from commonlore.predicate_definition p where p.team_id = team and p.space_epoch = epoch and p.predicate_key = any(keys);
    return changed;
end
$body$;

-- Deletes briefs that were about something that went, or in whose answers it was named; with what happened to them.
create function commonlore.purge_briefs(erasure uuid) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
declare
    team constant uuid := nullif(current_setting('commonlore.team_id', true), '')::uuid;
    epoch constant bigint := commonlore.erased_epoch(erasure, 'items');
    id_form constant text := '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
    keys text[];
    changed bigint;
begin
    keys := array(
        select distinct b.brief_key
        from (
            select d.brief_key, d.brief_key as words from commonlore.delegated_brief d where d.team_id = team and d.space_epoch = epoch
            union all
            select v.brief_key, v.detail::text from commonlore.delegated_brief_event v where v.team_id = team and v.space_epoch = epoch
        ) b
        cross join lateral regexp_matches(b.words, id_form, 'g') as m (id)
        join commonlore.erasure_item i on i.team_id = team and i.space_epoch = epoch and i.erasure_id = erasure and i.item_id = m.id[1]::uuid
    );
    delete from commonlore.delegated_summary s where s.team_id = team and s.space_epoch = epoch and s.brief_key = any(keys);
    delete from commonlore.delegated_brief_event v where v.team_id = team and v.space_epoch = epoch and v.brief_key = any(keys);
    delete from commonlore.delegated_brief d where d.team_id = team and d.space_epoch = epoch and d.brief_key = any(keys);
    get diagnostics changed = row_count;
    return changed;
end
$body$;

-- Deletes at most so many rows of a table that goes with the team, once the whole team is erased.
create function commonlore.purge_team_rows(table_name text, erasure uuid, most integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
declare
    team constant uuid := nullif(current_setting('commonlore.team_id', true), '')::uuid;
    changed bigint;
begin
    if table_name <> all(array[{tables}]) or not exists (
        select from commonlore.erasure e
        where e.team_id = team and e.erasure_id = erasure and e.target_kind = 'team' and e.state in ('deleting', 'checking')
    ) then
        raise 'no erasure of the team is being carried out, or the table does not go with it';
    end if;
    execute format('delete from commonlore.%1$I where team_id = $1 and ctid = any(array('
                   'select t.ctid from commonlore.%1$I t where t.team_id = $1 limit $2))', table_name) using team, most;
    get diagnostics changed = row_count;
    return changed;
end
$body$;
revoke execute on function commonlore.collect_rows(text, text, text, uuid), commonlore.unlink_rows(text, text, text, uuid, text),
    commonlore.purge_rows(text, text, uuid, integer), commonlore.purge_epoch(uuid), commonlore.purge_feedback(uuid, text, integer),
    commonlore.left_feedback(uuid), commonlore.purge_briefs(uuid), commonlore.purge_predicates(uuid),
    commonlore.purge_team_rows(text, uuid, integer) from public;
grant execute on function commonlore.collect_rows(text, text, text, uuid), commonlore.unlink_rows(text, text, text, uuid, text),
    commonlore.purge_rows(text, text, uuid, integer), commonlore.purge_epoch(uuid), commonlore.purge_feedback(uuid, text, integer),
    commonlore.left_feedback(uuid), commonlore.purge_briefs(uuid), commonlore.purge_predicates(uuid),
    commonlore.purge_team_rows(text, uuid, integer) to commonlore_worker;
"""

_CHECKING = """
-- Rows of a table in the open space as its caller sees them.
create function commonlore.count_rows(table_name text) returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp as $body$
declare
    answer bigint;
begin
    execute format('select count(*) from commonlore.%I t where t.team_id = $1 and t.space_epoch = $2', table_name) into answer
    using nullif(current_setting('commonlore.team_id', true), '')::uuid, nullif(current_setting('commonlore.space_epoch', true), '')::bigint;
    return answer;
end
$body$;
revoke execute on function commonlore.count_rows(text) from public;
grant execute on function commonlore.count_rows(text) to commonlore_app, commonlore_worker;

-- How many rows of a table in the open epoch still have to do with what went: by an id in any column of any type, or by words of the texts.
-- In the columns `quoting` others wrote: an id there is theirs. Where the epoch was erased whole, every row counts.
create function commonlore.left_rows(table_name text, quoting text[], erasure uuid, extent text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
declare
    team constant uuid := nullif(current_setting('commonlore.team_id', true), '')::uuid;
    epoch constant bigint := commonlore.erased_epoch(erasure, extent);
    items constant text := 'from commonlore.erasure_item i where i.team_id = $1 and i.space_epoch = $2 and i.erasure_id = $3';
    samples constant text := 'from commonlore.erasure_sample s where s.team_id = $1 and s.space_epoch = $2 and s.erasure_id = $3';
    id_form constant text := '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
    conditions text[] := '{}';
    found record;
    answer bigint;
begin
    for found in
        select a.attname as name, format_type(a.atttypid, null) as kind from pg_attribute a
        where a.attrelid = format('commonlore.%I', table_name)::regclass and a.attnum > 0 and not a.attisdropped
          and a.attname not in ('team_id', 'space_epoch')
    loop
        if found.kind = 'uuid' then
            conditions := conditions || format('t.%I in (select i.item_id %s)', found.name, items);
        elsif found.kind = 'uuid[]' then
            conditions := conditions || format('t.%I && array(select i.item_id %s)', found.name, items);
        elsif found.kind = 'bytea' then
            conditions := conditions || format('encode(t.%I, ''hex'') in (select s.sample %s and s.sample_kind = ''digest'')', found.name, samples);
        elsif found.kind in ('text', 'text[]', 'json', 'jsonb', 'character varying') then
            if not found.name = any(quoting) then
                conditions := conditions || format(
                    '(t.%1$I::text ~ %2$L and exists (select from regexp_matches(t.%1$I::text, %2$L, ''g'') as m (id), lateral (select %3$s and i.item_id = m.id[1]::uuid) x))',
                    found.name, id_form, items);
            end if;
            conditions := conditions || format('exists (select %s and s.sample_kind = ''fragment'' and position(s.sample in t.%I::text) > 0)', samples, found.name);
        end if;
    end loop;
    if extent = 'whole' or conditions = '{}' then
        conditions := case extent when 'whole' then array['true'] else array['false'] end;
    end if;
    execute format('select count(*) from commonlore.%I t where t.team_id = $1 and t.space_epoch = $2 and $3 is not null and (%s)',
                   table_name, array_to_string(conditions, ' or ')) into answer using team, epoch, erasure;
    return answer;
end
$body$;
revoke execute on function commonlore.left_rows(text, text[], uuid, text) from public;
grant execute on function commonlore.left_rows(text, text[], uuid, text) to commonlore_worker;
"""

"""Plans are made once for all teams: the planner takes every row of a tenant table for one team's."""

from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.execute(_RULES)
    op.execute(_TABLES)


# A plan for any team must be good for the largest: with the rows of a team thought few, the planner takes any index that
# begins with the team for as good as the right one. The values count from the next ANALYZE on.
_RULES = """
create function commonlore.plan_as_one_team(table_name regclass) returns void
language plpgsql set search_path = pg_catalog, commonlore as $body$
declare
    key_column record;
begin
    for key_column in
        select attname from pg_attribute
        where attrelid = table_name and attname in ('team_id', 'space_epoch', 'generation') and not attisdropped
    loop
        execute format('alter table %s alter column %I set (n_distinct = 1)', table_name, key_column.attname);
    end loop;
end
$body$;
revoke execute on function commonlore.plan_as_one_team(regclass) from public;

create or replace function commonlore.isolate(table_name regclass, level text, app_writes text, worker_writes text) returns void
language plpgsql set search_path = pg_catalog, commonlore as $body$
declare
    team constant text := 'team_id = nullif(current_setting(''commonlore.team_id'', true), '''')::uuid';
    space constant text := 'space_epoch = nullif(current_setting(''commonlore.space_epoch'', true), '''')::bigint';
    condition text := case level when 'team' then team when 'space' then team || ' and ' || space end;
    granted record;
begin
    if condition is null then
        raise 'level must be team or space, not %', level;
    end if;
    execute format('alter table %s enable row level security', table_name);
    execute format('alter table %s force row level security', table_name);
    execute format('create policy tenant on %s using (%s) with check (%s)', table_name, condition, condition);
    for granted in select * from (values ('commonlore_app', app_writes), ('commonlore_worker', worker_writes)) as g (role, writes) loop
        execute format('grant select on %s to %I', table_name, granted.role);
        if granted.writes in ('append', 'change', 'remove') then
            execute format('grant insert on %s to %I', table_name, granted.role);
        end if;
        if granted.writes in ('change', 'remove') then
            execute format('grant update on %s to %I', table_name, granted.role);
        end if;
        if granted.writes = 'remove' then
            execute format('grant delete on %s to %I', table_name, granted.role);
        end if;
    end loop;
    perform commonlore.plan_as_one_team(table_name);
end
$body$;
"""

_TABLES = """
select commonlore.plan_as_one_team(p.polrelid) from pg_policy p
join pg_class c on c.oid = p.polrelid
join pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'commonlore' and p.polname = 'tenant'
order by c.relname;
"""

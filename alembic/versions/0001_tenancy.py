"""Teams, profiles, credentials, spaces and their epochs; the functions that put a table behind its policies."""

from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.execute(_FUNCTIONS)
    op.execute(_TABLES)
    op.execute(_POLICIES)


_FUNCTIONS = """
-- Puts a tenant table behind forced row security. Run by migrations only.
-- level: 'team' compares the team; 'space' compares team and space epoch.
-- writes: 'append' lets a role insert only, 'change' also update, 'remove' also delete.
create function commonlore.isolate(table_name regclass, level text, app_writes text, worker_writes text) returns void
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
end
$body$;
revoke execute on function commonlore.isolate(regclass, text, text, text) from public;
"""

_TABLES = """
create table commonlore.team (
    team_id uuid primary key,
    name text not null check (name = btrim(name) and length(name) between 1 and 100),
    unclaimed_evidence text not null default 'eligible' check (unclaimed_evidence in ('eligible', 'withheld')),
    known_from timestamptz not null,
    retired_at timestamptz
);

create table commonlore.profile (
    team_id uuid not null references commonlore.team (team_id),
    profile_id uuid not null,
    name text not null check (name = btrim(name) and length(name) between 1 and 100),
    profile_kind text not null check (profile_kind in ('human', 'agent', 'system')),
    known_from timestamptz not null,
    retired_at timestamptz,
    primary key (team_id, profile_id),
    unique (team_id, name)
);

create table commonlore.credential (
    team_id uuid not null,
    credential_id uuid not null,
    profile_id uuid not null,
    name text not null check (name = btrim(name) and length(name) between 1 and 100),
    prefix text not null check (length(prefix) between 8 and 24),
    suffix text not null check (length(suffix) between 1 and 6),
    secret_sha256 bytea not null check (length(secret_sha256) = 32),
    scopes text[] not null check (scopes <@ array['read', 'write', 'admin', 'destroy'] and cardinality(scopes) > 0),
    memory_binding text not null check (memory_binding in ('shared_only', 'profile_private', 'credential_private')),
    known_from timestamptz not null,
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    primary key (team_id, credential_id),
    unique (team_id, prefix),
    foreign key (team_id, profile_id) references commonlore.profile (team_id, profile_id)
);
create index credential_by_profile on commonlore.credential (team_id, profile_id);

-- Every fence of a space takes a new number, so one number names one space between two fences.
create sequence commonlore.space_epoch_number as bigint;

create table commonlore.space (
    team_id uuid not null references commonlore.team (team_id),
    space_id uuid not null,
    space_kind text not null check (space_kind in ('team_shared', 'profile_private', 'credential_private')),
    name text check (name = btrim(name) and length(name) between 1 and 100),
    owner_profile_id uuid,
    owner_credential_id uuid,
    space_epoch bigint not null,
    lifecycle_state text not null default 'active' check (lifecycle_state in ('active', 'sealed', 'retired')),
    known_from timestamptz not null,
    -- When something was first written here; a recall leaves out a space that never held anything.
    content_from timestamptz,
    primary key (team_id, space_id),
    unique (team_id, space_epoch),
    foreign key (team_id, owner_profile_id) references commonlore.profile (team_id, profile_id),
    foreign key (team_id, owner_credential_id) references commonlore.credential (team_id, credential_id),
    check (
        (space_kind = 'team_shared' and owner_profile_id is null and owner_credential_id is null)
        or (space_kind = 'profile_private' and owner_profile_id is not null and owner_credential_id is null and name is null)
        or (space_kind = 'credential_private' and owner_credential_id is not null and owner_profile_id is null and name is null)
    )
);
create unique index space_shared_once on commonlore.space (team_id) where space_kind = 'team_shared' and name is null;
create unique index space_named_once on commonlore.space (team_id, name) where name is not null and lifecycle_state = 'active';
create unique index space_of_profile_once on commonlore.space (team_id, owner_profile_id) where space_kind = 'profile_private';
create unique index space_of_credential_once on commonlore.space (team_id, owner_credential_id) where space_kind = 'credential_private';

create table commonlore.space_epoch (
    team_id uuid not null,
    space_epoch bigint not null,
    space_id uuid not null,
    known_from timestamptz not null,
    known_to timestamptz,
    primary key (team_id, space_epoch),
    foreign key (team_id, space_id) references commonlore.space (team_id, space_id) deferrable initially deferred,
    check (known_to is null or known_to >= known_from)
);
create index space_epoch_by_space on commonlore.space_epoch (team_id, space_id);

-- One row for the whole installation and each model; no tenant data.
create table commonlore.embedding_contract (
    contract_id smallint primary key,
    contract_key text not null unique,
    dimensions integer not null check (dimensions between 1 and 16000),
    lifecycle_state text not null check (lifecycle_state in ('building', 'served', 'retired'))
);
create unique index embedding_contract_served_once on commonlore.embedding_contract (lifecycle_state) where lifecycle_state = 'served';
insert into commonlore.embedding_contract values (1, 'local:all-MiniLM-L6-v2-onnx-int8:384:cosine:unit:doc1:query1', 384, 'served');

-- The gate of the relationship vector branch: one row a team and generation, never counted per recall.
create table commonlore.projection_generation (
    team_id uuid not null references commonlore.team (team_id),
    source_kind text not null check (source_kind in ('relationship')),
    generation integer not null check (generation >= 1),
    format_version integer not null,
    contract_id smallint not null references commonlore.embedding_contract (contract_id),
    state text not null check (state in ('projecting_text', 'embedding', 'current', 'failed', 'retired')),
    known_from timestamptz not null,
    activated_at timestamptz,
    primary key (team_id, source_kind, generation),
    check (state <> 'current' or activated_at is not null)
);
create unique index projection_generation_current_once on commonlore.projection_generation (team_id, source_kind) where state = 'current';
"""

_POLICIES = """
select commonlore.isolate('commonlore.team', 'team', 'none', 'none');
select commonlore.isolate('commonlore.profile', 'team', 'change', 'none');
select commonlore.isolate('commonlore.credential', 'team', 'change', 'none');
select commonlore.isolate('commonlore.space', 'team', 'change', 'none');
select commonlore.isolate('commonlore.space_epoch', 'team', 'append', 'none');
select commonlore.isolate('commonlore.projection_generation', 'team', 'none', 'change');

-- An administrator's request changes this rule of its own team, and nothing else of a team.
grant update (unclaimed_evidence) on commonlore.team to commonlore_app;

-- A worker and the owner list the teams, then set the context of one of them; the serving role cannot.
create policy list_teams on commonlore.team for select to commonlore_worker, commonlore_owner using (true);

grant select on commonlore.embedding_contract, commonlore.alembic_version to commonlore_app, commonlore_worker;
grant usage on sequence commonlore.space_epoch_number to commonlore_app;
"""

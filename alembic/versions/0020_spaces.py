"""Named shared spaces with what each member may do there, and the role of a member."""

from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.execute(_TABLES)
    op.execute(_POLICIES)
    op.execute(_ROLES)


_TABLES = """
-- What a member may do in a named space. A change ends the row and makes another, so that it can be told who could read what, when.
create table commonlore.space_grant (
    team_id uuid not null,
    grant_id uuid not null,
    space_id uuid not null,
    profile_id uuid not null,
    access text not null check (access in ('read', 'write')),
    granted_by_profile_id uuid,
    known_from timestamptz not null,
    ended_by_profile_id uuid,
    known_to timestamptz,
    primary key (team_id, grant_id),
    foreign key (team_id, space_id) references commonlore.space (team_id, space_id),
    foreign key (team_id, profile_id) references commonlore.profile (team_id, profile_id),
    foreign key (team_id, granted_by_profile_id) references commonlore.profile (team_id, profile_id),
    foreign key (team_id, ended_by_profile_id) references commonlore.profile (team_id, profile_id),
    check (known_to is null or known_to >= known_from)
);
-- Authentication asks by member and space.
create unique index space_grant_once on commonlore.space_grant (team_id, profile_id, space_id) where known_to is null;
create index space_grant_of_space on commonlore.space_grant (team_id, space_id, grant_id);

-- The most that a key of the member may do: reader reads, member writes as well, admin also administers and destroys.
alter table commonlore.profile add column role text not null default 'member' check (role in ('reader', 'member', 'admin'));
"""

_POLICIES = """
select commonlore.isolate('commonlore.space_grant', 'team', 'change', 'none');
"""

# The owner is bound by the policies, so each team is opened in turn.
_ROLES = """
do $body$
declare
    listed record;
begin
    for listed in select team_id from commonlore.team loop
        perform set_config('commonlore.team_id', listed.team_id::text, true);
        update commonlore.profile p set role = 'admin'
        where p.team_id = listed.team_id and exists (
            select from commonlore.credential c
            where c.team_id = p.team_id and c.profile_id = p.profile_id and c.revoked_at is null and c.scopes && array['admin', 'destroy']
        );
    end loop;
    perform set_config('commonlore.team_id', '', true);
end
$body$;
"""

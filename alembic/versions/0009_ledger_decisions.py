"""What writes of the ledger keep so that a repeated call gets its first answer, and so that whoever decides later decided later."""

from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.execute(_SUBMISSIONS)
    op.execute(_INSTANTS)
    op.execute(_ENDS)


_SUBMISSIONS = """
-- Whoever holds the database may repeat a call as well; it has no credential.
alter table commonlore.submission alter column profile_id drop not null, alter column credential_id drop not null;
create unique index submission_of_the_holder_once on commonlore.submission (team_id, idempotency_key)
    where credential_id is null and idempotency_key is not null;
"""

_INSTANTS = """
-- The last instant that the ledger lock of a space gave to a write, and to which one. The next one is later, whatever its clock says.
create table commonlore.ledger_instant (
    team_id uuid not null,
    space_epoch bigint not null,
    known_from timestamptz not null,
    -- The transaction, so that a write that takes the lock again is known as the same one.
    given_to text not null,
    primary key (team_id, space_epoch),
    foreign key (team_id, space_epoch) references commonlore.space_epoch (team_id, space_epoch)
) with (fillfactor = 50);
select commonlore.isolate('commonlore.ledger_instant', 'space', 'change', 'none');
"""

_ENDS = """
-- The end of its validity that the relationship had after the change: a view of an earlier known time does not know a later one.
alter table commonlore.relationship_transition_event add column valid_to timestamptz check (isfinite(valid_to));

-- The owner is bound by the policies, so the rows are reached team by team and space by space.
do $body$
declare
    opened record;
begin
    for opened in select t.team_id from commonlore.team t loop
        perform set_config('commonlore.team_id', opened.team_id::text, true);
        declare
            epoch bigint;
        begin
            for epoch in select e.space_epoch from commonlore.space_epoch e loop
                perform set_config('commonlore.space_epoch', epoch::text, true);
                update commonlore.relationship_transition_event t set valid_to = r.valid_to from commonlore.relationship r
                where r.team_id = t.team_id and r.space_epoch = t.space_epoch and r.relationship_id = t.relationship_id;
            end loop;
        end;
    end loop;
    perform set_config('commonlore.team_id', '', true), set_config('commonlore.space_epoch', '', true);
end
$body$;
"""

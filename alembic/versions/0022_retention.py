"""How long a team keeps what nothing needs for ever; the one way by which entries of the audit log go."""

from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.execute(_TABLES)
    op.execute(_FUNCTIONS)
    op.execute(_POLICIES)


_TABLES = """
-- Days; null keeps for ever. A team without a row has the defaults.
create table commonlore.retention_rule (
    team_id uuid primary key references commonlore.team (team_id),
    audit_days integer check (audit_days between 30 and 36500),
    feedback_days integer not null default 30 check (feedback_days between 1 and 36500),
    answer_days integer check (answer_days between 1 and 36500),
    job_days integer not null default 30 check (job_days between 1 and 365),
    -- The last seal whose entries this rule removed.
    audit_removed_to bigint not null default 0,
    last_run_at timestamptz
);
create index submission_answered on commonlore.submission (team_id, space_epoch, known_from) where idempotency_key is not null;
"""

_FUNCTIONS = """
-- Removes the entries of the next seals that are older than the transaction's team wants, oldest first, as long as one is; how many entries.
-- The seals stay, so that the chain still holds. Nobody but the owner removes an entry otherwise, and no clock but the database's counts.
create function commonlore.remove_audit(most_seals integer) returns bigint
language plpgsql security definer set search_path = commonlore, pg_temp as $body$
declare
    team constant uuid := nullif(current_setting('commonlore.team_id', true), '')::uuid;
    rule retention_rule;
    seal record;
    gone bigint;
    removed bigint := 0;
begin
    select r.* into rule from retention_rule r where r.team_id = team for update;
    if rule.audit_days is null then
        return 0;
    end if;
    for seal in
        select s.ordinal, s.entry_ids, s.last_known_from from audit_seal s
        where s.team_id = team and s.ordinal > rule.audit_removed_to order by s.ordinal limit most_seals
    loop
        exit when seal.last_known_from >= now() - make_interval(days => rule.audit_days);
        delete from audit_entry e where e.team_id = team and e.entry_id = any(seal.entry_ids);
        get diagnostics gone = row_count;
        removed := removed + gone;
        update retention_rule r set audit_removed_to = seal.ordinal where r.team_id = team;
    end loop;
    return removed;
end
$body$;
revoke execute on function commonlore.remove_audit(integer) from public;
grant execute on function commonlore.remove_audit(integer) to commonlore_worker;
"""

_POLICIES = """
select commonlore.isolate('commonlore.retention_rule', 'team', 'append', 'append');
grant update (audit_days, feedback_days, answer_days, job_days) on commonlore.retention_rule to commonlore_app;
grant update (last_run_at) on commonlore.retention_rule to commonlore_worker;
grant update (idempotency_key, result) on commonlore.submission to commonlore_worker;
"""

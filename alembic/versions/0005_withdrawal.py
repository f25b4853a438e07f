"""Withdrawal of evidence: signals found in texts, quarantine and release, and the indexes that revisions and settlement read."""

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.execute(_RULES)
    op.execute(_SECURITY)
    op.execute(_POLICIES)


_RULES = """
alter table commonlore.submission drop constraint submission_submission_kind_check;
alter table commonlore.submission add constraint submission_submission_kind_check check (submission_kind in ('remember', 'retract'));

-- 'guard' only notes what a scan finds; 'quarantine' also keeps texts with grave signals out of every recall.
alter table commonlore.team add column evidence_quarantine text not null default 'quarantine'
    check (evidence_quarantine in ('quarantine', 'guard'));

create index evidence_by_source on commonlore.evidence (team_id, space_epoch, source_id, revision_id) where source_id is not null;
"""

_SECURITY = """
-- What was decided about the safety of a text; a text without signals has no row. The latest of quarantine and released wins.
create table commonlore.evidence_security_event (
    team_id uuid not null,
    space_epoch bigint not null,
    event_id uuid not null,
    evidence_id uuid not null,
    event_kind text not null check (event_kind in ('deterministic_scan', 'reviewer_signal', 'quarantine_release')),
    decision text not null check (decision in ('guarded', 'quarantine', 'released')),
    -- The version of the rules of a scan; null for a decision of a person.
    rules_version integer,
    reason text not null check (length(reason) between 1 and 1000),
    -- Null where whoever holds the database decided.
    actor_profile_id uuid,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, event_id),
    foreign key (team_id, space_epoch, evidence_id) references commonlore.evidence (team_id, space_epoch, evidence_id),
    foreign key (team_id, actor_profile_id) references commonlore.profile (team_id, profile_id)
);
create index evidence_security_event_by_evidence on commonlore.evidence_security_event
    (team_id, space_epoch, evidence_id, known_from desc, event_id desc);

-- Where in a text a rule matched: half-open, in code points; `quote` is exactly that place.
create table commonlore.evidence_security_signal (
    team_id uuid not null,
    space_epoch bigint not null,
    event_id uuid not null,
    signal_no integer not null check (signal_no >= 0),
    signal_kind text not null check (signal_kind in ('role_control_spoofing', 'instruction_override', 'prompt_secret_extraction',
        'tool_exfiltration', 'obfuscated_instruction', 'hidden_control_markup')),
    severity text not null check (severity in ('low', 'medium', 'high', 'critical')),
    span_start integer not null,
    span_end integer not null,
    quote text not null,
    primary key (team_id, space_epoch, event_id, signal_no),
    foreign key (team_id, space_epoch, event_id) references commonlore.evidence_security_event (team_id, space_epoch, event_id),
    check (0 <= span_start and span_start < span_end)
);
"""

_POLICIES = """
select commonlore.isolate('commonlore.evidence_security_event', 'space', 'append', 'none');
select commonlore.isolate('commonlore.evidence_security_signal', 'space', 'append', 'none');
grant update (evidence_quarantine) on commonlore.team to commonlore_app;
"""

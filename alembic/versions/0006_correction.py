"""What was wrong and is put right: corrections of relationships, merges and splits of entities, administered predicates."""

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.execute(_RELATIONSHIPS)
    op.execute(_NAMES)
    op.execute(_POLICIES)


_RELATIONSHIPS = """
alter table commonlore.submission drop constraint submission_submission_kind_check;
alter table commonlore.submission add constraint submission_submission_kind_check
    check (submission_kind in ('remember', 'retract', 'correct'));

-- The statement that a correction put in this one's place: it never held, so no view of valid time shows it.
alter table commonlore.relationship add column corrected_by uuid;
alter table commonlore.relationship add foreign key (team_id, space_epoch, corrected_by)
    references commonlore.relationship (team_id, space_epoch, relationship_id);

-- The support of another relationship that this one was copied from by a correction or a merge.
alter table commonlore.relationship_support add column copied_from uuid;
alter table commonlore.relationship_support add foreign key (team_id, space_epoch, copied_from)
    references commonlore.relationship_support (team_id, space_epoch, support_id);

create table commonlore.relationship_cross_reference (
    team_id uuid not null,
    space_epoch bigint not null,
    reference_id uuid not null,
    author_profile_id uuid not null,
    source_relationship_id uuid not null,
    source_version integer not null check (source_version >= 1),
    target_relationship_id uuid not null,
    target_version integer not null check (target_version >= 1),
    kind text not null check (kind in ('confirms', 'challenges', 'corrects', 'adopts_evidence_from')),
    verification_event_id uuid,
    submission_id uuid not null,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, reference_id),
    foreign key (team_id, author_profile_id) references commonlore.profile (team_id, profile_id),
    foreign key (team_id, space_epoch, source_relationship_id)
        references commonlore.relationship (team_id, space_epoch, relationship_id),
    foreign key (team_id, space_epoch, target_relationship_id)
        references commonlore.relationship (team_id, space_epoch, relationship_id),
    foreign key (team_id, space_epoch, verification_event_id)
        references commonlore.verification_event (team_id, space_epoch, event_id),
    foreign key (team_id, space_epoch, submission_id) references commonlore.submission (team_id, space_epoch, submission_id),
    check (source_relationship_id <> target_relationship_id)
);
create index relationship_cross_reference_by_source on commonlore.relationship_cross_reference
    (team_id, space_epoch, source_relationship_id, known_from);
create index relationship_cross_reference_by_target on commonlore.relationship_cross_reference
    (team_id, space_epoch, target_relationship_id, known_from);

-- One correction, from its submission to its end. The token of one that waits is kept as a hash only.
create table commonlore.relationship_correction (
    team_id uuid not null,
    space_epoch bigint not null,
    submission_id uuid not null,
    owner_profile_id uuid not null,
    relationship_id uuid not null,
    expected_version integer not null check (expected_version >= 1),
    request jsonb not null check (jsonb_typeof(request) = 'object'),
    support_set_sha256 bytea not null check (length(support_set_sha256) = 32),
    state text not null check (state in ('awaiting_confirmation', 'completed', 'rejected')),
    candidates jsonb check (jsonb_typeof(candidates) = 'object'),
    token_sha256 bytea check (length(token_sha256) = 32),
    expires_at timestamptz,
    successor_id uuid,
    reason_code text,
    known_from timestamptz not null,
    concluded_at timestamptz,
    primary key (team_id, space_epoch, submission_id),
    foreign key (team_id, space_epoch, submission_id) references commonlore.submission (team_id, space_epoch, submission_id),
    foreign key (team_id, space_epoch, relationship_id)
        references commonlore.relationship (team_id, space_epoch, relationship_id),
    foreign key (team_id, space_epoch, successor_id)
        references commonlore.relationship (team_id, space_epoch, relationship_id),
    check ((state = 'awaiting_confirmation') = (concluded_at is null)),
    check (state <> 'awaiting_confirmation' or (token_sha256 is not null and expires_at is not null and candidates is not null))
);
create index relationship_correction_by_relationship on commonlore.relationship_correction
    (team_id, space_epoch, relationship_id, known_from);
"""

_NAMES = """
-- Where a retired entity lives on after a merge, or after the split that made it was taken back.
alter table commonlore.entity add column merged_into uuid;
alter table commonlore.entity add foreign key (team_id, space_epoch, merged_into)
    references commonlore.entity (team_id, space_epoch, entity_id);

-- An act of administration on the identity of names. A reversal is an event of its own that names what it takes back.
create table commonlore.entity_correction (
    team_id uuid not null,
    space_epoch bigint not null,
    correction_id uuid not null,
    action text not null check (action in ('merge', 'split', 'reverse', 'rename', 'add_alias')),
    -- The entity whose rows were moved, and the one that they were moved to; for names both are the entity itself.
    from_entity_id uuid not null,
    to_entity_id uuid not null,
    reverses_id uuid,
    reason text not null check (length(reason) <= 1000),
    -- Null where whoever holds the database decided.
    actor_profile_id uuid,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, correction_id),
    unique (team_id, space_epoch, reverses_id),
    foreign key (team_id, space_epoch, from_entity_id) references commonlore.entity (team_id, space_epoch, entity_id),
    foreign key (team_id, space_epoch, to_entity_id) references commonlore.entity (team_id, space_epoch, entity_id),
    foreign key (team_id, space_epoch, reverses_id)
        references commonlore.entity_correction (team_id, space_epoch, correction_id),
    check ((action = 'reverse') = (reverses_id is not null))
);
create index entity_correction_by_from on commonlore.entity_correction (team_id, space_epoch, from_entity_id, known_from);
create index entity_correction_by_to on commonlore.entity_correction (team_id, space_epoch, to_entity_id, known_from);

-- What a merge or split did to one relationship, with what stood before, so that it can be taken back.
create table commonlore.entity_correction_item (
    team_id uuid not null,
    space_epoch bigint not null,
    correction_id uuid not null,
    relationship_id uuid not null,
    -- repointed: `target_id` was made for it. joined: `target_id` said the same already. displaced: gave way to another current object.
    effect text not null check (effect in ('repointed', 'joined', 'displaced')),
    target_id uuid,
    status_before text not null,
    known_to_before timestamptz,
    target_status_before text,
    target_known_to_before timestamptz,
    target_valid_to_before timestamptz,
    target_status_after text,
    primary key (team_id, space_epoch, correction_id, relationship_id),
    foreign key (team_id, space_epoch, correction_id)
        references commonlore.entity_correction (team_id, space_epoch, correction_id),
    foreign key (team_id, space_epoch, relationship_id)
        references commonlore.relationship (team_id, space_epoch, relationship_id),
    foreign key (team_id, space_epoch, target_id)
        references commonlore.relationship (team_id, space_epoch, relationship_id),
    check ((effect = 'displaced') = (target_id is null))
);
create index entity_correction_item_by_relationship on commonlore.entity_correction_item (team_id, space_epoch, relationship_id);
create index entity_correction_item_by_target on commonlore.entity_correction_item (team_id, space_epoch, target_id)
    where target_id is not null;

-- Where a name was learned: the correction that gave it, or the text that carries it.
alter table commonlore.entity_name add column correction_id uuid, add column evidence_id uuid,
    add column span_start integer, add column span_end integer;
alter table commonlore.entity_name add foreign key (team_id, space_epoch, correction_id)
    references commonlore.entity_correction (team_id, space_epoch, correction_id);
alter table commonlore.entity_name add foreign key (team_id, space_epoch, evidence_id)
    references commonlore.evidence (team_id, space_epoch, evidence_id);
alter table commonlore.entity_name add check (num_nulls(evidence_id, span_start, span_end) in (0, 3));

-- A definition may come from an administrator, who submits nothing and may hold the database instead of a key.
alter table commonlore.predicate_registration_event alter column submission_id drop not null, alter column actor_profile_id drop not null,
    add column reason text check (length(reason) <= 1000);
alter table commonlore.predicate_registration_event drop constraint predicate_registration_event_policy_check;
alter table commonlore.predicate_registration_event add constraint predicate_registration_event_policy_check
    check (policy in ('seed_v1', 'open_vocabulary_v1', 'administered_v1'));
"""

_POLICIES = """
select commonlore.isolate('commonlore.relationship_cross_reference', 'space', 'append', 'none');
select commonlore.isolate('commonlore.relationship_correction', 'space', 'change', 'none');
select commonlore.isolate('commonlore.entity_correction', 'space', 'append', 'none');
select commonlore.isolate('commonlore.entity_correction_item', 'space', 'append', 'none');
"""

"""What is known: evidence, entities, values, predicates, relationships, supports and the events behind them."""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.execute(_EVIDENCE)
    op.execute(_NAMES)
    op.execute(_RELATIONSHIPS)
    op.execute(_POLICIES)


_EVIDENCE = """
create table commonlore.submission (
    team_id uuid not null, space_epoch bigint not null,
    submission_id uuid not null,
    submission_kind text not null check (submission_kind in ('remember')),
    profile_id uuid not null,
    credential_id uuid not null,
    idempotency_key text check (length(idempotency_key) between 1 and 128),
    request_sha256 bytea not null check (length(request_sha256) = 32),
    result text,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, submission_id),
    unique (team_id, credential_id, idempotency_key),
    foreign key (team_id, space_epoch) references commonlore.space_epoch (team_id, space_epoch),
    foreign key (team_id, profile_id) references commonlore.profile (team_id, profile_id),
    foreign key (team_id, credential_id) references commonlore.credential (team_id, credential_id)
);

create table commonlore.evidence_source (
    team_id uuid not null, space_epoch bigint not null,
    source_id uuid not null,
    owner_profile_id uuid not null,
    source_key text not null check (length(source_key) between 1 and 256),
    current_revision_id uuid not null,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, source_id),
    unique (team_id, space_epoch, owner_profile_id, source_key)
);

create table commonlore.evidence_source_revision (
    team_id uuid not null, space_epoch bigint not null,
    revision_id uuid not null,
    source_id uuid not null,
    revision_token text not null check (length(revision_token) between 1 and 256),
    previous_revision_id uuid,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, revision_id),
    unique (team_id, space_epoch, source_id, revision_token),
    foreign key (team_id, space_epoch, source_id) references commonlore.evidence_source (team_id, space_epoch, source_id),
    foreign key (team_id, space_epoch, previous_revision_id)
        references commonlore.evidence_source_revision (team_id, space_epoch, revision_id)
);
alter table commonlore.evidence_source add foreign key (team_id, space_epoch, current_revision_id)
    references commonlore.evidence_source_revision (team_id, space_epoch, revision_id) deferrable initially deferred;

create table commonlore.evidence (
    team_id uuid not null, space_epoch bigint not null,
    evidence_id uuid not null,
    submission_id uuid not null,
    evidence_index integer not null check (evidence_index >= 0),
    owner_profile_id uuid not null,
    content text not null check (content <> ''),
    content_sha256 bytea not null check (length(content_sha256) = 32),
    -- Null for evidence stored with force_insert: it never takes in a later duplicate.
    duplicate_sha256 bytea check (length(duplicate_sha256) = 32),
    source_type text not null check (source_type in ('conversation', 'document', 'observation', 'manual')),
    authority text not null check (authority in ('authoritative', 'primary', 'secondary', 'inferred', 'unknown')),
    source text, source_group text,
    source_id uuid,
    revision_id uuid,
    labels text[] not null, metadata jsonb check (jsonb_typeof(metadata) = 'object'),
    occurred_at timestamptz,
    speaker text,
    session text, sequence bigint,
    part_count integer not null check (part_count >= 1),
    known_from timestamptz not null,
    primary key (team_id, space_epoch, evidence_id),
    unique (team_id, space_epoch, submission_id, evidence_index),
    foreign key (team_id, space_epoch, submission_id) references commonlore.submission (team_id, space_epoch, submission_id),
    foreign key (team_id, space_epoch, source_id) references commonlore.evidence_source (team_id, space_epoch, source_id),
    foreign key (team_id, space_epoch, revision_id) references commonlore.evidence_source_revision (team_id, space_epoch, revision_id),
    check ((source_id is null) = (revision_id is null)),
    check (isfinite(occurred_at))
);
create unique index evidence_stored_once on commonlore.evidence (team_id, space_epoch, duplicate_sha256) where duplicate_sha256 is not null;
create index evidence_by_content on commonlore.evidence (team_id, space_epoch, content_sha256);
create index evidence_by_session on commonlore.evidence (team_id, space_epoch, session, sequence) where session is not null;

-- A later sighting of a text that is stored already; the first sighting is the evidence row itself.
create table commonlore.evidence_occurrence (
    team_id uuid not null, space_epoch bigint not null,
    occurrence_id uuid not null,
    evidence_id uuid not null,
    submission_id uuid not null,
    evidence_index integer not null check (evidence_index >= 0),
    authority text not null,
    source text, source_group text,
    labels text[] not null, metadata jsonb check (jsonb_typeof(metadata) = 'object'),
    occurred_at timestamptz,
    session text, sequence bigint,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, occurrence_id),
    unique (team_id, space_epoch, submission_id, evidence_index),
    foreign key (team_id, space_epoch, evidence_id) references commonlore.evidence (team_id, space_epoch, evidence_id),
    foreign key (team_id, space_epoch, submission_id) references commonlore.submission (team_id, space_epoch, submission_id)
);
create index evidence_occurrence_by_evidence on commonlore.evidence_occurrence (team_id, space_epoch, evidence_id, known_from);

create table commonlore.evidence_lifecycle_event (
    team_id uuid not null, space_epoch bigint not null,
    event_id uuid not null,
    evidence_id uuid not null,
    action text not null check (action in ('supersede', 'retract', 'erase')),
    replacement_evidence_id uuid,
    reason text not null,
    actor_profile_id uuid not null,
    submission_id uuid,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, event_id),
    foreign key (team_id, space_epoch, evidence_id) references commonlore.evidence (team_id, space_epoch, evidence_id),
    foreign key (team_id, space_epoch, replacement_evidence_id) references commonlore.evidence (team_id, space_epoch, evidence_id)
);
create index evidence_lifecycle_event_by_evidence on commonlore.evidence_lifecycle_event (team_id, space_epoch, evidence_id, known_from);

-- The evidence that is not eligible at present, derived from events by every write; small, so that a recall can subtract it.
create table commonlore.evidence_exclusion (
    team_id uuid not null, space_epoch bigint not null,
    evidence_id uuid not null,
    reason text not null check (reason in ('superseded', 'retracted', 'erased', 'quarantined', 'source_revised', 'unsupported')),
    known_from timestamptz not null,
    primary key (team_id, space_epoch, evidence_id, reason),
    foreign key (team_id, space_epoch, evidence_id) references commonlore.evidence (team_id, space_epoch, evidence_id)
);
"""

_NAMES = """
create table commonlore.entity (
    team_id uuid not null, space_epoch bigint not null,
    entity_id uuid not null,
    entity_kind text not null
        check (entity_kind in ('person', 'organization', 'project', 'product', 'place', 'document', 'concept', 'other')),
    status text not null check (status in ('active', 'retired', 'needs_review')),
    version integer not null check (version >= 1),
    known_from timestamptz not null,
    primary key (team_id, space_epoch, entity_id),
    unique (team_id, space_epoch, entity_id, entity_kind),
    foreign key (team_id, space_epoch) references commonlore.space_epoch (team_id, space_epoch)
);

create table commonlore.entity_name (
    team_id uuid not null, space_epoch bigint not null,
    entity_name_id uuid not null,
    entity_id uuid not null,
    entity_kind text not null,
    display_name text not null check (length(display_name) between 1 and 256),
    name_key text not null check (name_key <> ''),
    name_kind text not null check (name_kind in ('canonical', 'alias', 'former')),
    known_from timestamptz not null, known_to timestamptz,
    primary key (team_id, space_epoch, entity_name_id),
    foreign key (team_id, space_epoch, entity_id, entity_kind)
        references commonlore.entity (team_id, space_epoch, entity_id, entity_kind),
    check (known_to is null or known_to >= known_from)
);
create unique index entity_name_canonical_once on commonlore.entity_name (team_id, space_epoch, entity_id)
    where name_kind = 'canonical' and known_to is null;
create index entity_name_lookup on commonlore.entity_name (team_id, space_epoch, name_key) where known_to is null;
create index entity_name_by_entity on commonlore.entity_name (team_id, space_epoch, entity_id);

create table commonlore.entity_resolution_event (
    team_id uuid not null, space_epoch bigint not null,
    event_id uuid not null,
    submission_id uuid not null,
    mention_ref text not null,
    name text not null,
    entity_kind text not null,
    action text not null check (action in ('reuse', 'create', 'ambiguous')),
    entity_id uuid,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, event_id),
    foreign key (team_id, space_epoch, submission_id) references commonlore.submission (team_id, space_epoch, submission_id),
    foreign key (team_id, space_epoch, entity_id) references commonlore.entity (team_id, space_epoch, entity_id),
    check ((action = 'ambiguous') = (entity_id is null))
);

create table commonlore.value_record (
    team_id uuid not null, space_epoch bigint not null,
    value_id uuid not null,
    value_type text not null check (value_type in ('string', 'number', 'boolean', 'date', 'date_time')),
    canonical_value text not null,
    unit text,
    display text not null,
    normalization_version integer not null,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, value_id),
    unique nulls not distinct (team_id, space_epoch, value_type, canonical_value, unit, normalization_version),
    foreign key (team_id, space_epoch) references commonlore.space_epoch (team_id, space_epoch)
);

create table commonlore.predicate_definition (
    team_id uuid not null, space_epoch bigint not null,
    predicate_key text not null check (length(predicate_key) between 1 and 128),
    version integer not null check (version >= 1),
    aliases text[] not null,
    subject_kinds text[] not null,
    object_kinds text[] not null,
    relationship_kind text not null check (relationship_kind in ('state', 'event')),
    current_cardinality text not null check (current_cardinality in ('one', 'many')),
    lifecycle_state text not null check (lifecycle_state in ('active', 'deprecated', 'retired')),
    known_from timestamptz not null,
    primary key (team_id, space_epoch, predicate_key, version),
    foreign key (team_id, space_epoch) references commonlore.space_epoch (team_id, space_epoch)
);

create table commonlore.predicate_registration_event (
    team_id uuid not null, space_epoch bigint not null,
    event_id uuid not null,
    predicate_key text not null,
    version integer not null,
    policy text not null check (policy in ('seed_v1', 'open_vocabulary_v1')),
    submission_id uuid not null,
    actor_profile_id uuid not null,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, event_id),
    foreign key (team_id, space_epoch, predicate_key, version)
        references commonlore.predicate_definition (team_id, space_epoch, predicate_key, version)
);
"""

_RELATIONSHIPS = """
create table commonlore.relationship (
    team_id uuid not null, space_epoch bigint not null,
    relationship_id uuid not null,
    owner_profile_id uuid not null,
    semantic_group_key text not null check (semantic_group_key ~ '^sg:[0-9a-f]{64}$'),
    subject_entity_id uuid not null,
    predicate_key text not null,
    predicate_version integer not null,
    object_entity_id uuid,
    object_value_id uuid,
    relationship_kind text not null check (relationship_kind in ('state', 'event')),
    current_cardinality text not null check (current_cardinality in ('one', 'many')),
    status text not null check (status in
        ('pending_evidence', 'active', 'needs_review', 'quarantined', 'superseded', 'disputed', 'retracted', 'rejected')),
    polarity text not null check (polarity in ('+', '-')),
    scope_key text,
    valid_from timestamptz, valid_to timestamptz,
    support_count integer not null check (support_count >= 0),
    source_group_count integer not null check (source_group_count >= 0),
    version integer not null check (version >= 1),
    identity_alias_of uuid,
    known_from timestamptz not null, known_to timestamptz,
    primary key (team_id, space_epoch, relationship_id),
    foreign key (team_id, owner_profile_id) references commonlore.profile (team_id, profile_id),
    foreign key (team_id, space_epoch, subject_entity_id) references commonlore.entity (team_id, space_epoch, entity_id),
    foreign key (team_id, space_epoch, object_entity_id) references commonlore.entity (team_id, space_epoch, entity_id),
    foreign key (team_id, space_epoch, object_value_id) references commonlore.value_record (team_id, space_epoch, value_id),
    foreign key (team_id, space_epoch, predicate_key, predicate_version)
        references commonlore.predicate_definition (team_id, space_epoch, predicate_key, version),
    foreign key (team_id, space_epoch, identity_alias_of)
        references commonlore.relationship (team_id, space_epoch, relationship_id),
    check (num_nonnulls(object_entity_id, object_value_id) = 1),
    check (valid_to is null or valid_from is null or valid_to >= valid_from),
    check (isfinite(valid_from) and isfinite(valid_to)),
    check (known_to is null or known_to >= known_from)
);
-- valid_to is not part of the identity: learning when something ended does not make it another statement.
create unique index relationship_identity_once on commonlore.relationship
    (team_id, space_epoch, owner_profile_id, subject_entity_id, predicate_key, object_entity_id, object_value_id, polarity, valid_from, scope_key)
    nulls not distinct where identity_alias_of is null;
create unique index relationship_current_once on commonlore.relationship
    (team_id, space_epoch, owner_profile_id, subject_entity_id, predicate_key, polarity, valid_from, scope_key)
    nulls not distinct
    where identity_alias_of is null and current_cardinality = 'one' and status = 'active' and support_count > 0;
create index relationship_by_group on commonlore.relationship (team_id, space_epoch, semantic_group_key);
create index relationship_by_subject on commonlore.relationship (team_id, space_epoch, subject_entity_id, predicate_key);
create index relationship_by_object on commonlore.relationship (team_id, space_epoch, object_entity_id, predicate_key)
    where object_entity_id is not null;

create table commonlore.relationship_observation (
    team_id uuid not null, space_epoch bigint not null,
    observation_id uuid not null,
    submission_id uuid not null,
    relationship_id uuid,
    ref text not null,
    proposal jsonb not null check (jsonb_typeof(proposal) = 'object'),
    known_from timestamptz not null,
    primary key (team_id, space_epoch, observation_id),
    foreign key (team_id, space_epoch, submission_id) references commonlore.submission (team_id, space_epoch, submission_id),
    foreign key (team_id, space_epoch, relationship_id)
        references commonlore.relationship (team_id, space_epoch, relationship_id)
);
create index relationship_observation_by_relationship on commonlore.relationship_observation
    (team_id, space_epoch, relationship_id, known_from);

create table commonlore.verification_event (
    team_id uuid not null, space_epoch bigint not null,
    event_id uuid not null,
    observation_id uuid not null,
    evidence_verdict text not null check (evidence_verdict in ('entailed', 'contradicted', 'insufficient')),
    verifier text not null,
    confidence real not null check (confidence between 0 and 1),
    rationale text not null check (length(rationale) <= 1000),
    known_from timestamptz not null,
    primary key (team_id, space_epoch, event_id),
    foreign key (team_id, space_epoch, observation_id)
        references commonlore.relationship_observation (team_id, space_epoch, observation_id)
);
create index verification_event_by_observation on commonlore.verification_event (team_id, space_epoch, observation_id, known_from);

create table commonlore.relationship_support (
    team_id uuid not null, space_epoch bigint not null,
    support_id uuid not null,
    relationship_id uuid not null,
    observation_id uuid not null,
    verification_event_id uuid not null,
    evidence_id uuid not null,
    source_group_key text not null,
    span_start integer not null, span_end integer not null,
    quote text not null,
    authority text not null,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, support_id),
    unique (team_id, space_epoch, relationship_id, evidence_id, span_start, span_end),
    foreign key (team_id, space_epoch, relationship_id)
        references commonlore.relationship (team_id, space_epoch, relationship_id),
    foreign key (team_id, space_epoch, observation_id)
        references commonlore.relationship_observation (team_id, space_epoch, observation_id),
    foreign key (team_id, space_epoch, verification_event_id)
        references commonlore.verification_event (team_id, space_epoch, event_id),
    foreign key (team_id, space_epoch, evidence_id) references commonlore.evidence (team_id, space_epoch, evidence_id),
    check (0 <= span_start and span_start < span_end)
);
create index relationship_support_by_evidence on commonlore.relationship_support (team_id, space_epoch, evidence_id);

create table commonlore.support_decision_event (
    team_id uuid not null, space_epoch bigint not null,
    event_id uuid not null,
    support_id uuid not null,
    decision text not null check (decision in ('grant', 'revoke', 'reinstate')),
    reason text not null,
    actor_profile_id uuid not null,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, event_id),
    foreign key (team_id, space_epoch, support_id)
        references commonlore.relationship_support (team_id, space_epoch, support_id)
);
-- The latest decision wins: known_from, then the id (dense-mem 2.6).
create index support_decision_event_latest on commonlore.support_decision_event
    (team_id, space_epoch, support_id, known_from desc, event_id desc);

create table commonlore.relationship_transition_event (
    team_id uuid not null, space_epoch bigint not null,
    event_id uuid not null,
    relationship_id uuid not null,
    from_status text,
    to_status text not null,
    version integer not null check (version >= 1),
    reason text not null,
    verification_event_id uuid,
    decision_event_id uuid,
    known_from timestamptz not null,
    primary key (team_id, space_epoch, event_id),
    unique (team_id, space_epoch, relationship_id, version),
    foreign key (team_id, space_epoch, relationship_id)
        references commonlore.relationship (team_id, space_epoch, relationship_id),
    foreign key (team_id, space_epoch, verification_event_id)
        references commonlore.verification_event (team_id, space_epoch, event_id),
    foreign key (team_id, space_epoch, decision_event_id)
        references commonlore.support_decision_event (team_id, space_epoch, event_id)
);
"""

_POLICIES = """
select commonlore.isolate('commonlore.submission', 'space', 'change', 'none');
select commonlore.isolate('commonlore.evidence_source', 'space', 'change', 'none');
select commonlore.isolate('commonlore.evidence_source_revision', 'space', 'append', 'none');
select commonlore.isolate('commonlore.evidence', 'space', 'append', 'none');
select commonlore.isolate('commonlore.evidence_occurrence', 'space', 'append', 'none');
select commonlore.isolate('commonlore.evidence_lifecycle_event', 'space', 'append', 'none');
select commonlore.isolate('commonlore.evidence_exclusion', 'space', 'remove', 'none');
select commonlore.isolate('commonlore.entity', 'space', 'change', 'none');
select commonlore.isolate('commonlore.entity_name', 'space', 'change', 'none');
select commonlore.isolate('commonlore.entity_resolution_event', 'space', 'append', 'none');
select commonlore.isolate('commonlore.value_record', 'space', 'append', 'none');
select commonlore.isolate('commonlore.predicate_definition', 'space', 'append', 'none');
select commonlore.isolate('commonlore.predicate_registration_event', 'space', 'append', 'none');
select commonlore.isolate('commonlore.relationship', 'space', 'change', 'none');
select commonlore.isolate('commonlore.relationship_observation', 'space', 'append', 'none');
select commonlore.isolate('commonlore.verification_event', 'space', 'append', 'none');
select commonlore.isolate('commonlore.relationship_support', 'space', 'append', 'none');
select commonlore.isolate('commonlore.support_decision_event', 'space', 'append', 'none');
select commonlore.isolate('commonlore.relationship_transition_event', 'space', 'append', 'none');
"""

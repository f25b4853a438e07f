"""What is searched: parts, postings, statistics and vectors of evidence; documents of relationships."""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.execute(_EVIDENCE)
    op.execute(_RELATIONSHIPS)
    op.execute(_POLICIES)


_EVIDENCE = """
-- A searchable piece of a text. `text` is null where the part is the whole content.
create table commonlore.evidence_part (
    team_id uuid not null,
    space_epoch bigint not null,
    evidence_id uuid not null,
    part_no integer not null check (part_no >= 0),
    span_start integer not null,
    span_end integer not null,
    text text,
    primary key (team_id, space_epoch, evidence_id, part_no),
    foreign key (team_id, space_epoch, evidence_id) references commonlore.evidence (team_id, space_epoch, evidence_id),
    check (0 <= span_start and span_start < span_end)
);

-- The last digits of an id are random, so its order is a fixed sample of the space: how widely a query's distances spread.
create index evidence_part_sample on commonlore.evidence_part (team_id, space_epoch, "right"(evidence_id::text, 12)) where part_no = 0;

-- The lexical branch reads this index alone: equality on leakproof types, so the policy costs nothing.
create table commonlore.evidence_posting (
    team_id uuid not null,
    space_epoch bigint not null,
    term text not null,
    evidence_id uuid not null,
    part_no integer not null,
    frequency smallint not null,
    length smallint not null
);
alter table commonlore.evidence_posting add primary key (team_id, space_epoch, term, evidence_id, part_no) include (frequency, length);

-- Insert-only differences; a read adds them up and a worker folds them (no hot row, no lock order).
create table commonlore.evidence_term_statistic (
    team_id uuid not null,
    space_epoch bigint not null,
    term text not null,
    statistic_id uuid not null,
    parts integer not null
);
alter table commonlore.evidence_term_statistic add primary key (team_id, space_epoch, term, statistic_id) include (parts);

create table commonlore.evidence_statistic (
    team_id uuid not null,
    space_epoch bigint not null,
    statistic_id uuid not null,
    parts bigint not null,
    length bigint not null,
    -- Whole texts, where `parts` counts their pieces.
    texts bigint not null default 0,
    primary key (team_id, space_epoch, statistic_id)
);

-- Contract 1. The covering index keeps the vectors of one space together, in the order of their ids.
create table commonlore.evidence_vector_1 (
    team_id uuid not null,
    space_epoch bigint not null,
    evidence_id uuid not null,
    part_no integer not null,
    embedding halfvec(384) not null
);
alter table commonlore.evidence_vector_1 alter column embedding set storage plain;
alter table commonlore.evidence_vector_1 add primary key (team_id, space_epoch, evidence_id, part_no) include (embedding);

-- Parts whose vector is still to be made, or failed for good.
create table commonlore.evidence_embedding_backlog (
    team_id uuid not null,
    space_epoch bigint not null,
    evidence_id uuid not null,
    part_no integer not null,
    contract_id smallint not null references commonlore.embedding_contract (contract_id),
    search_state text not null check (search_state in ('pending', 'failed')),
    attempts integer not null default 0,
    error_code text,
    primary key (team_id, space_epoch, evidence_id, part_no, contract_id),
    foreign key (team_id, space_epoch, evidence_id, part_no)
        references commonlore.evidence_part (team_id, space_epoch, evidence_id, part_no)
);
create index evidence_embedding_backlog_failed on commonlore.evidence_embedding_backlog (team_id, space_epoch)
    where search_state = 'failed';
"""

_RELATIONSHIPS = """
create table commonlore.relationship_document (
    team_id uuid not null,
    space_epoch bigint not null,
    generation integer not null,
    relationship_id uuid not null,
    source_version integer not null,
    document_text text not null,
    search_state text not null check (search_state in ('pending', 'current', 'failed', 'not_required')),
    attempts integer not null default 0,
    error_code text,
    primary key (team_id, space_epoch, generation, relationship_id),
    foreign key (team_id, space_epoch, relationship_id)
        references commonlore.relationship (team_id, space_epoch, relationship_id)
);
create index relationship_document_waiting on commonlore.relationship_document (team_id, space_epoch, generation, relationship_id)
    where search_state in ('pending', 'failed');

create table commonlore.relationship_posting (
    team_id uuid not null,
    space_epoch bigint not null,
    generation integer not null,
    term text not null,
    relationship_id uuid not null,
    frequency smallint not null,
    length smallint not null
);
alter table commonlore.relationship_posting
    add primary key (team_id, space_epoch, generation, term, relationship_id) include (frequency, length);
create index relationship_posting_by_relationship on commonlore.relationship_posting
    (team_id, space_epoch, generation, relationship_id);

create table commonlore.relationship_term_statistic (
    team_id uuid not null,
    space_epoch bigint not null,
    generation integer not null,
    term text not null,
    statistic_id uuid not null,
    documents integer not null
);
alter table commonlore.relationship_term_statistic
    add primary key (team_id, space_epoch, generation, term, statistic_id) include (documents);

create table commonlore.relationship_statistic (
    team_id uuid not null,
    space_epoch bigint not null,
    generation integer not null,
    statistic_id uuid not null,
    documents bigint not null,
    length bigint not null,
    primary key (team_id, space_epoch, generation, statistic_id)
);

create table commonlore.relationship_vector_1 (
    team_id uuid not null,
    space_epoch bigint not null,
    generation integer not null,
    relationship_id uuid not null,
    embedding halfvec(384) not null
);
alter table commonlore.relationship_vector_1 alter column embedding set storage plain;
alter table commonlore.relationship_vector_1
    add primary key (team_id, space_epoch, generation, relationship_id) include (embedding);
"""

_POLICIES = """
select commonlore.isolate('commonlore.evidence_part', 'space', 'append', 'none');
select commonlore.isolate('commonlore.evidence_posting', 'space', 'append', 'none');
select commonlore.isolate('commonlore.evidence_term_statistic', 'space', 'append', 'remove');
select commonlore.isolate('commonlore.evidence_statistic', 'space', 'append', 'remove');
select commonlore.isolate('commonlore.evidence_vector_1', 'space', 'append', 'append');
select commonlore.isolate('commonlore.evidence_embedding_backlog', 'space', 'append', 'remove');
select commonlore.isolate('commonlore.relationship_document', 'space', 'change', 'change');
select commonlore.isolate('commonlore.relationship_posting', 'space', 'remove', 'remove');
select commonlore.isolate('commonlore.relationship_term_statistic', 'space', 'append', 'remove');
select commonlore.isolate('commonlore.relationship_statistic', 'space', 'append', 'remove');
select commonlore.isolate('commonlore.relationship_vector_1', 'space', 'remove', 'remove');
"""

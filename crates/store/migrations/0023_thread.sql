-- The thread from requirements to code, tests and their runs. A push writes its rows under a new snapshot or run, which nobody
-- reads until one small transaction makes it the head of its ref, or marks it as complete.

create table repository (
    id text primary key,
    name text not null check (length(name) between 1 and 200),
    name_folded text not null unique,
    -- The ref whose head reports and pages are about.
    main_ref text not null,
    -- What closes a unit: the least verdict, the least trust of a run, and the refs whose runs count.
    closes_at text not null check (closes_at in ('passed', 'witnessed', 'proven')),
    trust_min text not null check (trust_min in ('local', 'token', 'oidc')),
    closing_refs text,
    -- The identity that CI proves: who issued it, and the number of the repository there.
    issuer text,
    external_id text,
    version bigint not null check (version >= 1),
    created_at bigint not null,
    updated_at bigint not null
);
create unique index repository_identity on repository (issuer, external_id) where issuer is not null;

create table repository_project (
    repository_id text not null references repository (id) on delete cascade,
    project_id text not null references project (id),
    primary key (repository_id, project_id)
);
create index repository_project_project on repository_project (project_id, repository_id);

-- The repositories that a token with the scope `evidence` may push to, and what CI proved of its run.
create table token_repository (
    token_id text not null references token (id) on delete cascade,
    repository_id text not null references repository (id) on delete cascade,
    trust text not null check (trust in ('unverified', 'token', 'oidc')),
    ref text,
    commit_id text,
    primary key (token_id, repository_id)
);
create index token_repository_repository on token_repository (repository_id);

-- Proofs of identity that were used up, until they would have expired.
create table used_identity (
    issuer text not null,
    token_id text not null,
    expires_at bigint not null,
    primary key (issuer, token_id)
);
create index used_identity_end on used_identity (expires_at);

create table trace_snapshot (
    id text primary key,
    repository_id text not null references repository (id),
    ref text not null,
    commit_id text,
    is_dirty bigint not null check (is_dirty in (0, 1)),
    digest text not null,
    trust text not null check (trust in ('unverified', 'local', 'token', 'oidc')),
    n_files bigint not null,
    n_citations bigint not null,
    actor_id text,
    token_id text,
    is_complete bigint not null check (is_complete in (0, 1)),
    created_at bigint not null
);
create index trace_snapshot_repository on trace_snapshot (repository_id, created_at, id);

create table trace_head (
    repository_id text not null references repository (id),
    ref text not null,
    snapshot_id text not null references trace_snapshot (id),
    -- Whether `verification` knows what it and the runs since show.
    is_counted bigint not null check (is_counted in (0, 1)),
    updated_at bigint not null,
    primary key (repository_id, ref)
);
create index trace_head_snapshot on trace_head (snapshot_id);

-- `entities` has the ids of what the file cites, with commas between them: citations are in the order of entities, and an index by
-- path would make every push write twice as much.
create table trace_file (
    snapshot_id text not null,
    path text not null,
    blob text not null,
    entities text not null,
    primary key (snapshot_id, path)
-- sqlite
) without rowid;
-- postgres
);
-- both

-- A place in code that cites a unit of an entity, or with an empty `unit_hash` all of them. The blob is that of its file.
create table citation (
    snapshot_id text not null,
    entity_id text not null,
    path text not null,
    line bigint not null,
    unit_hash text not null,
    last_line bigint not null,
    kind text not null check (kind in ('code', 'test', 'exception', 'todo', 'implication', 'verifies')),
    pin bigint,
    symbol text,
    -- The lines of the function that it is in, which questions about a line are answered by.
    first_covered bigint not null,
    last_covered bigint not null,
    blob text not null,
    case_id text,
    primary key (snapshot_id, entity_id, path, line, unit_hash)
-- sqlite
) without rowid;
-- postgres
);
-- both

create table test_run (
    id text primary key,
    repository_id text not null references repository (id),
    ref text not null,
    commit_id text,
    digest text not null,
    tool text not null,
    trust text not null check (trust in ('unverified', 'local', 'token', 'oidc')),
    exit_status bigint,
    -- Whether all of it was reported, so that it may close something.
    is_whole bigint not null check (is_whole in (0, 1)),
    n_cases bigint not null,
    actor_id text,
    token_id text,
    is_complete bigint not null check (is_complete in (0, 1)),
    created_at bigint not null
);
create index test_run_repository on test_run (repository_id, ref, created_at, id);

create table test_case (
    id text primary key,
    repository_id text not null references repository (id),
    path text not null,
    symbol text not null
);
create index test_case_repository on test_case (repository_id);

create table test_result (
    case_id text not null,
    blob text not null,
    run_id text not null,
    outcome text not null check (outcome in ('passed', 'failed', 'flaky', 'skipped', 'not_run')),
    n_attempts bigint not null,
    duration_ms bigint,
    primary key (case_id, blob, run_id)
-- sqlite
) without rowid;
-- postgres
);
-- both
create index test_result_run on test_result (run_id);

-- What a test ran of the code that cites the same unit. `how` is 'none' where the run does not show that it did.
create table execution (
    case_id text not null,
    run_id text not null,
    entity_id text not null,
    unit_hash text not null,
    path text not null,
    blob text not null,
    how text not null check (how in ('proven', 'witnessed', 'none')),
    primary key (case_id, run_id, entity_id, unit_hash, path)
-- sqlite
) without rowid;
-- postgres
);
-- both
create index execution_run on execution (run_id);

-- What people have tried themselves, because no program can.
create table manual_evidence (
    id text primary key,
    project_id text not null references project (id),
    entity_id text not null,
    unit_hash text not null,
    outcome text not null check (outcome in ('passed', 'failed')),
    what text not null,
    attachment_digest text,
    actor_id text not null,
    done_at bigint not null,
    created_at bigint not null
);
create index manual_evidence_entity on manual_evidence (entity_id, unit_hash, created_at);

-- How much of an entity is closed by evidence, for reports that count many. Its text decides what its units are, so a change of the
-- text leaves it unverified until somebody pushes again.
create table verification (
    entity_id text primary key,
    project_id text not null,
    n_units bigint not null,
    n_implemented bigint not null,
    n_tested bigint not null,
    n_closed bigint not null,
    is_verified bigint not null check (is_verified in (0, 1)),
    is_cited bigint not null check (is_cited in (0, 1)),
    has_failed bigint not null check (has_failed in (0, 1)),
    content_version bigint not null
);
create index verification_project on verification (project_id, is_verified);

-- sqlite
create trigger entity_text_unverified after update of content_version, deleted_at on entity
when old.content_version <> new.content_version or (old.deleted_at is null) <> (new.deleted_at is null) begin
    update verification set is_verified = 0 where entity_id = new.id and is_verified = 1;
end;
-- postgres
create function unverify_entity() returns trigger language plpgsql as $$
begin
    update verification set is_verified = 0 where entity_id = new.id and is_verified = 1;
    return null;
end $$;
create trigger entity_text_unverified after update of content_version, deleted_at on entity
    for each row when (old.content_version <> new.content_version
        or (old.deleted_at is null) <> (new.deleted_at is null))
    execute function unverify_entity();
-- both

-- A named state of a project: the version of each entity, and the snapshots that were heads.
create table baseline (
    id text primary key,
    project_id text not null references project (id),
    name text not null check (length(name) between 1 and 100),
    name_folded text not null,
    note text,
    n_entities bigint not null,
    n_verified bigint not null,
    actor_id text,
    created_at bigint not null,
    unique (project_id, name_folded)
);
create table baseline_entity (
    baseline_id text not null references baseline (id) on delete cascade,
    entity_id text not null,
    version bigint not null,
    content_version bigint not null,
    is_verified bigint not null check (is_verified in (0, 1)),
    primary key (baseline_id, entity_id)
-- sqlite
) without rowid;
-- postgres
);
-- both
create table baseline_snapshot (
    baseline_id text not null references baseline (id) on delete cascade,
    snapshot_id text not null references trace_snapshot (id),
    primary key (baseline_id, snapshot_id)
);
create index baseline_snapshot_snapshot on baseline_snapshot (snapshot_id);

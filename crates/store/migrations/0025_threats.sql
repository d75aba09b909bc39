-- What people decided about the threats to a requirement or a user story, and the acceptance criteria that followed.

create table threat_link (
    id text primary key,
    project_id text not null references project (id),
    entity_id text not null,
    -- The pattern as it was when somebody decided: it may be gone from the library since.
    pattern text not null check (length(pattern) between 1 and 200),
    pattern_version text not null,
    name text not null,
    severity text not null,
    decision text not null check (decision in ('applies', 'not_applicable', 'risk_accepted')),
    reason text,
    -- What the text and the pattern had in common then: a list of words, as JSON.
    signs text,
    -- Who bears an accepted risk, and until when.
    owner_id text,
    review_by bigint,
    content_version bigint not null,
    actor_id text not null,
    version bigint not null check (version >= 1),
    created_at bigint not null,
    updated_at bigint not null,
    unique (entity_id, pattern),
    check (decision <> 'risk_accepted' or (owner_id is not null and review_by is not null)),
    check (decision = 'applies' or reason is not null)
);
create index threat_link_project on threat_link (project_id, entity_id);
create index threat_link_pattern on threat_link (pattern, project_id);

-- The criteria that were made because a threat applies. One may be against the same threat to several requirements of its story.
create table threat_criterion (
    link_id text not null references threat_link (id) on delete cascade,
    criterion_id text not null,
    created_at bigint not null,
    primary key (link_id, criterion_id)
);
create index threat_criterion_criterion on threat_criterion (criterion_id);

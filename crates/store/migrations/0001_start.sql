-- The requirements model. Times are microseconds since 1970, flags are 0 or 1.

create table project (
    id text primary key,
    key text not null unique check (length(key) between 2 and 10),
    name text not null check (length(name) between 1 and 200),
    description text check (length(description) <= 50000),
    version bigint not null check (version >= 1),
    created_at bigint not null,
    updated_at bigint not null
);

create table user_account (
    id text primary key,
    username text not null check (length(username) between 3 and 50),
    username_folded text not null unique,
    email text not null check (length(email) between 3 and 254),
    email_folded text not null unique,
    password_hash text,
    role text not null check (role in ('Commenter', 'User', 'Administrator')),
    disabled bigint not null check (disabled in (0, 1)),
    version bigint not null check (version >= 1),
    created_at bigint not null,
    updated_at bigint not null
);

create table token (
    id text primary key,
    user_id text not null references user_account (id),
    name text not null check (length(name) between 1 and 100),
    hash text not null unique,
    prefix text not null,
    scopes text not null,
    expires_at bigint,
    last_used_at bigint,
    created_at bigint not null,
    unique (user_id, name)
);

create table session (
    hash text primary key,
    user_id text not null references user_account (id),
    created_at bigint not null,
    expires_at bigint not null
);
create index session_of_user on session (user_id);

create table requirement_type (
    id text primary key,
    name text not null check (length(name) between 1 and 100),
    name_folded text not null unique,
    description text,
    version bigint not null check (version >= 1),
    created_at bigint not null,
    updated_at bigint not null
);

create table relationship_type (
    id text primary key,
    name text not null check (length(name) between 1 and 100),
    name_folded text not null unique,
    inverse_name text not null check (length(inverse_name) between 1 and 100),
    acyclic bigint not null check (acyclic in (0, 1)),
    description text,
    version bigint not null check (version >= 1),
    created_at bigint not null,
    updated_at bigint not null
);

create table status_model (
    entity_kind text primary key check (entity_kind in ('epic', 'user_story', 'requirement')),
    version bigint not null check (version >= 1),
    created_at bigint not null,
    updated_at bigint not null
);

create table status (
    entity_kind text not null references status_model (entity_kind),
    name text not null check (length(name) between 1 and 50),
    name_folded text not null,
    colour text not null,
    is_initial bigint not null check (is_initial in (0, 1)),
    is_final bigint not null check (is_final in (0, 1)),
    position bigint not null,
    primary key (entity_kind, name),
    unique (entity_kind, name_folded)
);
create unique index status_initial on status (entity_kind) where is_initial = 1;

create table status_transition (
    entity_kind text not null,
    from_status text not null,
    to_status text not null,
    primary key (entity_kind, from_status, to_status),
    foreign key (entity_kind, from_status) references status (entity_kind, name) on update cascade on delete cascade,
    foreign key (entity_kind, to_status) references status (entity_kind, name) on update cascade on delete cascade
);

-- One delete is one deletion: restoring it brings everything back that went with it.
create table deletion (
    id text primary key,
    project_id text not null references project (id),
    root_id text not null,
    actor_id text not null references user_account (id),
    deleted_at bigint not null
);

-- Epics, stories, criteria, requirements and steering documents. Which fields a kind has is checked here, and so is that
-- a parent is of the right kind and of the same project, and that a criterion belongs to the requirement's own story.
-- `live` is 1 or nothing. As a part of foreign keys it keeps what lives from hanging on what is deleted, even when one
-- transaction deletes a thing while another hangs something on it.
create table entity (
    project_id text not null references project (id),
    id text not null,
    kind text not null check (kind in ('epic', 'user_story', 'acceptance_criteria', 'requirement', 'steering_document')),
    number bigint not null check (number >= 1),
    parent_id text,
    parent_kind text,
    criterion_id text,
    title text check (length(title) between 1 and 500),
    description text check (length(description) <= 50000),
    priority bigint check (priority between 1 and 4),
    status text,
    type_id text references requirement_type (id),
    creator_id text not null references user_account (id),
    assignee_id text references user_account (id),
    version bigint not null check (version >= 1),
    content_version bigint not null check (content_version between 1 and version),
    created_at bigint not null,
    updated_at bigint not null,
    deleted_at bigint,
    deletion_id text references deletion (id),
    purged_at bigint,
    live bigint generated always as (case when deleted_at is null then 1 end) stored,
    primary key (project_id, id, kind),
    unique (id, parent_id),
    unique (id, live),
    unique (project_id, kind, number),
    foreign key (project_id, parent_id, parent_kind) references entity (project_id, id, kind),
    foreign key (criterion_id, parent_id) references entity (id, parent_id),
    foreign key (parent_id, live) references entity (id, live),
    foreign key (criterion_id, live) references entity (id, live),
    foreign key (kind, status) references status (entity_kind, name) on update cascade,
    check ((deleted_at is null) = (deletion_id is null)),
    check (purged_at is null or deleted_at is not null),
    check ((parent_id is null) = (parent_kind is null)),
    check ((kind in ('epic', 'steering_document')) = (parent_id is null)),
    check (kind <> 'user_story' or parent_kind = 'epic'),
    check (kind not in ('acceptance_criteria', 'requirement') or parent_kind = 'user_story'),
    check ((kind = 'acceptance_criteria') = (title is null)),
    check (kind <> 'acceptance_criteria' or description is not null),
    check ((kind in ('epic', 'user_story', 'requirement')) = (priority is not null)),
    check ((kind in ('epic', 'user_story', 'requirement')) = (status is not null)),
    check ((kind = 'requirement') = (type_id is not null)),
    check (criterion_id is null or kind = 'requirement')
);
create index entity_live on entity (project_id, kind, number) where deleted_at is null;
create index entity_child on entity (parent_id, kind, number);
create index entity_criterion on entity (criterion_id) where criterion_id is not null;
create index entity_deletion on entity (deletion_id) where deletion_id is not null;

-- The next number of each kind in each project. It only grows, so a number is never given twice.
create table counter (
    project_id text not null references project (id),
    kind text not null,
    next bigint not null check (next >= 1),
    primary key (project_id, kind)
);

create table relationship (
    project_id text not null references project (id),
    id text not null,
    source_id text not null,
    target_id text not null,
    requirement_kind text not null check (requirement_kind = 'requirement'),
    type_id text not null references relationship_type (id),
    creator_id text not null references user_account (id),
    target_version bigint not null check (target_version >= 1),
    version bigint not null check (version >= 1),
    created_at bigint not null,
    updated_at bigint not null,
    deleted_at bigint,
    deletion_id text references deletion (id),
    live bigint generated always as (case when deleted_at is null then 1 end) stored,
    primary key (project_id, id),
    unique (id),
    foreign key (project_id, source_id, requirement_kind) references entity (project_id, id, kind),
    foreign key (project_id, target_id, requirement_kind) references entity (project_id, id, kind),
    foreign key (source_id, live) references entity (id, live),
    foreign key (target_id, live) references entity (id, live),
    check (source_id <> target_id),
    check ((deleted_at is null) = (deletion_id is null))
);
create unique index relationship_live on relationship (source_id, target_id, type_id) where deleted_at is null;
create index relationship_source on relationship (source_id);
create index relationship_target on relationship (target_id);
create index relationship_deletion on relationship (deletion_id) where deletion_id is not null;

create table comment (
    project_id text not null references project (id),
    id text not null,
    entity_id text not null,
    entity_kind text not null check (entity_kind in ('epic', 'user_story', 'acceptance_criteria', 'requirement')),
    parent_id text,
    author_id text not null references user_account (id),
    content text not null check (length(content) between 1 and 50000),
    quote text check (length(quote) between 1 and 5000),
    anchor_start bigint,
    anchor_end bigint,
    detached bigint not null check (detached in (0, 1)),
    resolved bigint not null check (resolved in (0, 1)),
    version bigint not null check (version >= 1),
    created_at bigint not null,
    updated_at bigint not null,
    deleted_at bigint,
    deletion_id text references deletion (id),
    purged_at bigint,
    live bigint generated always as (case when deleted_at is null then 1 end) stored,
    primary key (project_id, id),
    unique (id, entity_id),
    foreign key (project_id, entity_id, entity_kind) references entity (project_id, id, kind),
    foreign key (entity_id, live) references entity (id, live),
    foreign key (parent_id, entity_id) references comment (id, entity_id),
    check ((deleted_at is null) = (deletion_id is null)),
    check ((anchor_start is null) = (anchor_end is null)),
    check (anchor_start is null or (quote is not null and anchor_start >= 0 and anchor_end > anchor_start))
);
create index comment_entity on comment (entity_id, created_at);
create index comment_parent on comment (parent_id) where parent_id is not null;
create index comment_deletion on comment (deletion_id) where deletion_id is not null;

create table steering_link (
    project_id text not null references project (id),
    epic_id text not null,
    epic_kind text not null check (epic_kind = 'epic'),
    document_id text not null,
    document_kind text not null check (document_kind = 'steering_document'),
    created_at bigint not null,
    primary key (project_id, epic_id, document_id),
    foreign key (project_id, epic_id, epic_kind) references entity (project_id, id, kind),
    foreign key (project_id, document_id, document_kind) references entity (project_id, id, kind)
);
create index steering_link_document on steering_link (document_id);

create table prompt (
    id text primary key,
    number bigint not null unique check (number >= 1),
    name text not null check (length(name) between 1 and 100),
    name_folded text not null,
    title text not null check (length(title) between 1 and 500),
    description text check (length(description) <= 50000),
    content text not null check (length(content) between 1 and 50000),
    role text not null check (role in ('user', 'assistant')),
    active bigint not null check (active in (0, 1)),
    creator_id text references user_account (id),
    version bigint not null check (version >= 1),
    created_at bigint not null,
    updated_at bigint not null,
    deleted_at bigint,
    deletion_id text references deletion (id),
    purged_at bigint,
    check ((deleted_at is null) = (deletion_id is null)),
    check (active = 0 or deleted_at is null)
);
create unique index prompt_name on prompt (name_folded) where deleted_at is null;
create unique index prompt_active on prompt (active) where active = 1;

-- What happened, never changed through the product. `changes` is a JSON object of [before, after] by field.
create table revision (
    id text primary key,
    project_id text,
    entity_kind text not null,
    entity_id text not null,
    version bigint not null,
    actor_id text,
    token_id text,
    via text not null,
    operation text not null,
    changes text not null,
    created_at bigint not null,
    request_id text
);
create index revision_entity on revision (entity_id, version);

create table authentication_event (
    id text primary key,
    user_id text,
    username text,
    event text not null,
    address text,
    created_at bigint not null,
    request_id text
);

-- What others are told: read in the order of `sequence`, only up to the oldest transaction that is still open.
create table change (
    sequence {sequence},
    transaction_number bigint not null,
    project_id text,
    entity_kind text not null,
    entity_id text not null,
    reference_id text,
    version bigint not null,
    operation text not null,
    actor_id text,
    created_at bigint not null
);
create index change_created on change (created_at);

create table idempotency (
    user_id text not null,
    operation text not null,
    key text not null,
    body_hash text not null,
    status bigint not null,
    answer text not null,
    created_at bigint not null,
    primary key (user_id, operation, key)
);
create index idempotency_created on idempotency (created_at);

insert into project (id, key, name, description, version, created_at, updated_at)
values ('00000000-0000-7000-8000-000000000001', 'DEFAULT', 'Default project', null, 1, {now}, {now});

insert into requirement_type (id, name, name_folded, description, version, created_at, updated_at) values
('00000000-0000-7000-8000-000000000101', 'Functional', 'functional', 'What the product does', 1, {now}, {now}),
('00000000-0000-7000-8000-000000000102', 'Non-Functional', 'non-functional', 'How well it does it', 1, {now}, {now}),
('00000000-0000-7000-8000-000000000103', 'Business Rule', 'business rule', 'What the business demands of it', 1, {now}, {now}),
('00000000-0000-7000-8000-000000000104', 'Interface', 'interface', 'How it meets people and programs', 1, {now}, {now}),
('00000000-0000-7000-8000-000000000105', 'Data', 'data', 'What it keeps, and in which form', 1, {now}, {now});

insert into relationship_type (id, name, name_folded, inverse_name, acyclic, description, version, created_at, updated_at) values
('00000000-0000-7000-8000-000000000201', 'depends_on', 'depends_on', 'is_depended_on_by', 1, 'The source needs the target', 1, {now}, {now}),
('00000000-0000-7000-8000-000000000202', 'blocks', 'blocks', 'is_blocked_by', 1, 'The target cannot go on before the source is done', 1, {now}, {now}),
('00000000-0000-7000-8000-000000000203', 'relates_to', 'relates_to', 'relates_to', 0, 'Both have to do with each other', 1, {now}, {now}),
('00000000-0000-7000-8000-000000000204', 'conflicts_with', 'conflicts_with', 'conflicts_with', 0, 'Both cannot hold at once', 1, {now}, {now}),
('00000000-0000-7000-8000-000000000205', 'derives_from', 'derives_from', 'is_source_of', 1, 'The source follows from the target', 1, {now}, {now});

insert into status_model (entity_kind, version, created_at, updated_at) values
('epic', 1, {now}, {now}), ('user_story', 1, {now}, {now}), ('requirement', 1, {now}, {now});

insert into status (entity_kind, name, name_folded, colour, is_initial, is_final, position) values
('epic', 'Backlog', 'backlog', '#6b7280', 1, 0, 1),
('epic', 'Draft', 'draft', '#8b5cf6', 0, 0, 2),
('epic', 'In Progress', 'in progress', '#2563eb', 0, 0, 3),
('epic', 'Done', 'done', '#15803d', 0, 1, 4),
('epic', 'Cancelled', 'cancelled', '#b91c1c', 0, 1, 5),
('user_story', 'Backlog', 'backlog', '#6b7280', 1, 0, 1),
('user_story', 'Draft', 'draft', '#8b5cf6', 0, 0, 2),
('user_story', 'In Progress', 'in progress', '#2563eb', 0, 0, 3),
('user_story', 'Done', 'done', '#15803d', 0, 1, 4),
('user_story', 'Cancelled', 'cancelled', '#b91c1c', 0, 1, 5),
('requirement', 'Draft', 'draft', '#8b5cf6', 1, 0, 1),
('requirement', 'Active', 'active', '#2563eb', 0, 0, 2),
('requirement', 'Obsolete', 'obsolete', '#6b7280', 0, 1, 3);

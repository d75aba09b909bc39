-- Saved views of tables: the query of one under a name, for its owner or for everybody who sees the project.
create table saved_view (
    id text primary key,
    project_id text not null references project (id) on delete cascade,
    kind text not null,
    owner_id text not null references user_account (id) on delete cascade,
    name text not null check (length(name) between 1 and 60),
    name_folded text not null,
    query text not null check (length(query) <= 2000),
    shared bigint not null check (shared in (0, 1)),
    version bigint not null check (version >= 1),
    created_at bigint not null,
    updated_at bigint not null,
    unique (project_id, kind, owner_id, name_folded)
);
create index saved_view_owner on saved_view (owner_id);

-- One-time links to sign in with: one for each user, and only the hash of its code.
create table sign_in_link (
    user_id text primary key references user_account (id),
    hash text not null unique,
    sets_password bigint not null check (sets_password in (0, 1)),
    created_at bigint not null,
    expires_at bigint not null
);
alter table session add column with_link bigint not null default 0;

-- What a final status means for what has it. Null where nobody said so: then its name decides.
alter table status add column outcome text check (outcome in ('done', 'cancelled', 'obsolete'));

-- The changes of a project, and those by agents, the newest first.
-- concurrently
create index revision_project on revision (project_id, created_at, id) where project_id is not null;
create index revision_agents on revision (project_id, created_at, id) where project_id is not null and via = 'mcp';

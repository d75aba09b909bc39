-- Who works on what. A lease is one row for each entity, which one statement takes and which stays when the lease ends, so that its
-- fence only ever grows. Whether it holds follows from `expires_at` and the database's clock, and from nothing else.

create table lease (
    entity_id text primary key,
    project_id text not null references project (id),
    -- The story of the entity when it was taken.
    story_id text,
    fence bigint not null check (fence >= 1),
    -- What the number of leases is limited by: the token, or the user where there was none.
    holder text not null,
    user_id text not null,
    token_id text,
    -- The files and folders that nobody else is given work in, as JSON.
    paths text not null,
    -- The version of the text that the holder was told.
    content_version bigint not null,
    taken_at bigint not null,
    expires_at bigint not null check (expires_at >= taken_at),
    -- The administrator who ended it before its time.
    broken_by text
);
create index lease_project on lease (project_id, expires_at);
create index lease_holder on lease (holder, expires_at);

-- What an agent's connection over HTTP leaves between two requests, so that any server can answer the next one.

create table mcp_session (
    id text primary key,
    user_id text not null references user_account (id) on delete cascade,
    revision text not null,
    client text not null,
    created_at bigint not null,
    used_at bigint not null
);
create index mcp_session_user on mcp_session (user_id);
create index mcp_session_used on mcp_session (used_at);

-- A resource that a session is told about: by its one spelling, and as the client wrote it.
create table mcp_subscription (
    session_id text not null references mcp_session (id) on delete cascade,
    topic text not null,
    uri text not null,
    primary key (session_id, topic)
);
create index mcp_subscription_topic on mcp_subscription (topic);

-- sqlite
-- What a search asks of every document that it finds.
create index search_document_state on search_document (number, is_deleted, created_at, updated_at);
-- postgres
-- Writers in parallel fill a pending list faster than one of them can empty it, and that one is held up by all the others.
alter index search_document_terms set (fastupdate = off);
-- No statement is planned by these statistics, and they take long to gather.
alter table search_document alter column terms set statistics 0;

-- Sessions have an id, so that they can be listed and revoked one by one, and record where they were begun. Those of earlier
-- versions have none and end here; they would end within 12 hours anyway.
drop table session;
create table session (
    id text primary key,
    hash text not null unique,
    user_id text not null references user_account (id),
    token_id text references token (id) on delete cascade,
    address text,
    user_agent text,
    created_at bigint not null,
    last_used_at bigint,
    expires_at bigint not null
);
create index session_of_user on session (user_id, created_at);
create index session_of_token on session (token_id);

-- A session that was begun with a token ends with it. Tokens can be edited, so they have a version like everything else.
alter table session add column token_id text references token (id) on delete cascade;
create index session_of_token on session (token_id);
alter table token add column version bigint not null default 1;
alter table token add column updated_at bigint not null default 0;
update token set updated_at = created_at;

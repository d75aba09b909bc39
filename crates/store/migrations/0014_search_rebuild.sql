-- Documents are indexed anew beside serving. While that goes on: the version of the terms that they get, the number of the last
-- document that has them, the last one that needs them, and how many are done of how many. At the end come those that were
-- changed since it began, perhaps by a server of the version before: since when, and the number of the last one of them.
alter table search_state add column target bigint;
alter table search_state add column reached bigint;
alter table search_state add column last_number bigint;
alter table search_state add column n_done bigint;
alter table search_state add column n_all bigint;
alter table search_state add column changed_since bigint;
alter table search_state add column reached_changed bigint;

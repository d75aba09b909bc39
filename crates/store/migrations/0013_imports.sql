-- Imports. A large one is applied in several transactions; what it has changed is found by its id in the history, so that it
-- can be resumed, and taken back as one.

create table import (
    id text primary key,
    project_id text not null,
    actor_id text not null,
    format text not null,
    file_hash text not null,
    rows_total bigint not null check (rows_total >= 0),
    rows_done bigint not null check (rows_done between 0 and rows_total),
    state text not null check (state in ('unfinished', 'finished', 'undoing', 'undone')),
    -- How far an undo has come: a kind and the last revision of it that was taken back.
    undo_cursor text,
    created_at bigint not null,
    updated_at bigint not null
);
create index import_newest on import (created_at, id);
create index import_of_actor on import (actor_id, created_at, id);

alter table revision add column import_id text;
create index revision_of_import on revision (import_id, entity_kind, entity_id, id) where import_id is not null;

-- Exports read what a project has in the order of time, a page at a time.
create index relationship_of_project on relationship (project_id, created_at, id);
create index comment_of_project on comment (project_id, created_at, id);

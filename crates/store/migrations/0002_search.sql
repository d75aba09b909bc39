-- Full-text search. A document is an entity or a comment; documents are numbered in the order in which they were made.

create table search_document (
-- sqlite
    number integer primary key autoincrement,
-- postgres
    number bigint primary key,
-- both
    id text not null unique,
    entity_id text not null,
    created_at bigint not null,
    updated_at bigint not null,
    is_deleted bigint not null check (is_deleted in (0, 1)),
    -- The terms of the title and of the body, in their order, which ranks are made from.
-- postgres
    terms tsvector not null,
-- both
    title text not null,
    body text not null
);
create index search_document_entity on search_document (entity_id);
create index search_document_created on search_document (created_at);

-- sqlite
create virtual table search_index using fts5 (
    terms, tokenize = 'ascii', content = '', contentless_delete = 1, detail = none
);
-- postgres
create sequence search_number;
-- What is not needed to find documents is kept beside the table, so that a search reads few pages of it.
alter table search_document set (toast_tuple_target = 128);
-- Each search reads the whole pending list, so it stays short; without one, each write would wait for hundreds of pages.
create index search_document_terms on search_document using gin (terms) with (gin_pending_list_limit = 256);
-- both

-- A renamed status keeps its mark, so that documents with it need not be indexed again.
alter table status add column mark bigint;
update status set mark = position;

-- The version of the terms that the documents were indexed with.
create table search_state (version bigint not null);
insert into search_state (version) values (0);

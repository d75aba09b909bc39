-- sqlite
-- Few documents are deleted, and a search has to look every one up: the less there is to look through, the better.
create index search_document_deleted on search_document (number) where is_deleted = 1;
-- What is intersected is left out by the page, and what is written is merged until there is one part of each size.
insert into search_index (search_index, rank) values ('pgsz', 2000);
insert into search_index (search_index, rank) values ('usermerge', 2);
-- postgres
-- Documents are marked with blocks of several sizes; all are indexed anew.
update search_state set version = 0;
-- both

-- The text that ranks are made from. A search reads that of the best few hundred documents, which are often neighbours.
-- sqlite
create view search_text as select number, title, body from search_document;
-- postgres
-- Beside its table PostgreSQL would keep each text compressed and in pieces, and look every piece up.
create table search_text (
    number bigint primary key,
    title text not null,
    body text not null
);
insert into search_text (number, title, body) select number, title, body from search_document order by number;
alter table search_document drop column title, drop column body;
-- both

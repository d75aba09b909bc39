-- Changes are read in the order in which their transactions began to write, which is not that of their numbers where
-- several write at once. SQLite has one writer, whose numbers are in order.
-- postgres
create index change_order on change (transaction_number, sequence);
-- both

-- The cluster that the numbers of transactions in `change` are from. A dump brings it along into another one, where they
-- start over.
-- postgres
create table cluster (identifier text not null);
-- both

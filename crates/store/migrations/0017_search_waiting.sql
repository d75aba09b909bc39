-- postgres
-- A document has a hundred terms or more, and entering each of them in its place took most of the time of a write. Now documents
-- wait in a list beside the index, and servers enter them together every second. Searches read the list. It has no limit, so that
-- no writer has to enter what all others have left; where no server runs, autovacuum does.
alter index search_document_terms set (fastupdate = on, gin_pending_list_limit = 2147483647);
-- both

-- postgres
-- A document has a hundred terms or more, and entering each in its place took most of the time of a write. They are entered
-- together again, a few seconds at a time; servers look after that, so that writers do not have to and searches find few that wait.
alter index search_document_terms set (fastupdate = on, gin_pending_list_limit = 4096);
-- both

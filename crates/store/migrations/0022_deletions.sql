-- The deletions of a project in the order of time: its page lists the newest first.
-- concurrently
create index deletion_project on deletion (project_id, deleted_at, id);

-- A session may have streams open on several servers, of which one tells it what is new: where the last was opened.
alter table mcp_session add column told_by text;
alter table mcp_session add column told_at bigint;

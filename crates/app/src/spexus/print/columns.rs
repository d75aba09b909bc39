//! Which columns a list has. They follow from the command and not from what is found, so that pages look alike.

/// The columns of the list that a command answers; none where nobody has chosen any.
pub fn of(words: &str) -> Option<&'static [&'static str]> {
    Some(match words {
        "epic list" => &["reference_id", "title", "status", "priority", "assignee", "version", "created_at"],
        "user-story list" => {
            &["reference_id", "title", "epic", "status", "priority", "assignee", "version", "created_at"]
        }
        "acceptance-criteria list" => {
            &["reference_id", "description", "user_story", "creator", "version", "created_at"]
        }
        "requirement list" => &[
            "reference_id",
            "title",
            "user_story",
            "type",
            "status",
            "priority",
            "assignee",
            "version",
            "created_at",
        ],
        "steering-document list" => &["reference_id", "title", "creator", "version", "created_at"],
        "search" | "requirement search" => {
            &["reference_id", "kind", "title", "snippet", "status", "priority", "type"]
        }
        "history" => &["version", "operation", "changes", "actor", "via", "created_at"],
        "audit" => &["event", "entity_kind", "entity_id", "actor", "via", "version", "created_at"],
        "comment list" => &["id", "entity", "author", "content", "resolved", "created_at"],
        "relationship list" | "suspect-link list" => {
            &["id", "source", "type", "target", "suspect", "created_at"]
        }
        "prompt list" => &["reference_id", "name", "title", "active", "version", "updated_at"],
        "requirement-type list" => &["name", "description", "version"],
        "relationship-type list" => &["name", "inverse_name", "acyclic", "description", "version"],
        "status-model list" => &["entity_kind", "statuses", "version"],
        "project list" => &["key", "name", "description", "version", "created_at"],
        "user list" => &["username", "email", "role", "disabled", "created_at"],
        "user directory" => &["username", "id"],
        "auth session list" => {
            &["id", "begun_with", "token", "address", "user_agent", "current", "last_used_at", "expires_at"]
        }
        "token list" => &["name", "prefix", "user", "scopes", "expires_at", "last_used_at", "created_at"],
        "imports list" => {
            &["id", "project", "actor", "format", "rows_done", "rows_total", "state", "created_at"]
        }
        // `epic history` and the like.
        _ if words.ends_with(" history") => return of("history"),
        _ => return None,
    })
}

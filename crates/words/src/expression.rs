//! The condition that a database evaluates: documents with some terms and without others, in its own syntax.

/// A condition on the terms of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// The document has this term.
    Term(String),
    /// The document has a term with this prefix.
    Prefix(String),
    /// All of these match. Never empty.
    All(Vec<Expression>),
    /// One of these matches. Never empty.
    Any(Vec<Expression>),
    /// The first matches, and the second does not.
    Without(Box<Expression>, Box<Expression>),
}

impl Expression {
    /// Returns the query for `match` on an FTS5 table.
    pub fn fts5(&self) -> String {
        match self {
            Expression::Term(term) => format!("\"{term}\""),
            Expression::Prefix(prefix) => format!("\"{prefix}\" *"),
            Expression::All(parts) => join(parts, " AND ", Expression::fts5),
            Expression::Any(parts) => join(parts, " OR ", Expression::fts5),
            Expression::Without(wanted, excluded) => format!("({} NOT {})", wanted.fts5(), excluded.fts5()),
        }
    }

    /// Returns the query as text to cast to PostgreSQL's `tsquery`.
    pub fn tsquery(&self) -> String {
        match self {
            Expression::Term(term) => format!("'{term}'"),
            Expression::Prefix(prefix) => format!("'{prefix}':*"),
            Expression::All(parts) => join(parts, " & ", Expression::tsquery),
            Expression::Any(parts) => join(parts, " | ", Expression::tsquery),
            Expression::Without(wanted, excluded) => {
                format!("({} & !{})", wanted.tsquery(), excluded.tsquery())
            }
        }
    }
}

fn join(parts: &[Expression], between: &str, render: impl Fn(&Expression) -> String) -> String {
    format!("({})", parts.iter().map(render).collect::<Vec<_>>().join(between))
}

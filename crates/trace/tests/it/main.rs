//! Traceability from the outside: small projects in, reports out.

mod documents;
mod lcov;
mod page;

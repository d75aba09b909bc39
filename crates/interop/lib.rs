//! Nothing but tests: `tests/it` connects clients that others wrote with the servers that we build.

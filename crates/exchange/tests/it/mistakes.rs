//! What is said about files that are not right.

use exchange::Format;
use expect_test::{Expect, expect};

use crate::told_of;

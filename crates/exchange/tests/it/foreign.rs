//! Files that other requirements tools wrote.

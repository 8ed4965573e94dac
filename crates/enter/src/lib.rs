//! The steps into a sandbox, in the order in which they must happen.

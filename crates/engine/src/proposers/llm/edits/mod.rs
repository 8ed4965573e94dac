//! Parsing of the answer of a language model into edits, and their application to files. No I/O happens here.
//!
//! ```
//! use std::collections::BTreeMap;
//! use menace_engine::proposers::llm::edits;
//!
//! let files = BTreeMap::from([("cart.py".to_owned(), "total = 1\n".to_owned())]);
//! let answer = "cart.py\n<<<<<<< SEARCH\ntotal = 1\n=======\ntotal = 2\n>>>>>>> REPLACE\n";
//! let applied = edits::apply(&edits::read(answer)?, &files)?;
//! assert_eq!(applied.files["cart.py"], "total = 2\n");
//! assert!(applied.audit.is_empty());
//! # Ok::<(), edits::EditError>(())
//! ```

mod apply;
mod blocks;
mod diff;
mod edit;
mod error;
mod fence;
mod file_lines;
mod file_names;
mod location;
mod nearest_match;
mod parse;

pub use apply::{AppliedEdits, apply};
pub use edit::{AnswerEdit, EditChange, EditLine};
pub use error::EditError;
pub use parse::read;

#[cfg(test)]
mod edits_tests;
#[cfg(test)]
mod malformed_tests;

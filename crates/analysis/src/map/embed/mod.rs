//! Vectors of the modules' wording, and the similar pairs among them.

mod embedder;
mod similarity;
mod stop_words;
mod terms;
mod tf_idf;
mod vector;

pub use embedder::Embedder;
pub(super) use similarity::{SimilarPair, similar_pairs};
pub use tf_idf::TfIdfEmbedder;
pub use vector::SparseVector;

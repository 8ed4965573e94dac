//! The seam between grouping and whatever turns text into vectors.

use super::SparseVector;

/// Turns documents into vectors whose cosine says how alike they are.
///
/// The map needs no network: [`TfIdf`](super::TfIdf) is the offline implementation. A neural model fits behind
/// the same trait with [`SparseVector::from_dense`]; what can fail, such as loading it, belongs before this call.
pub trait Embedder {
    /// One vector per document, in order. A document without content gets an empty vector, which is like nothing.
    fn embed(&self, documents: &[&str]) -> Vec<SparseVector>;
}

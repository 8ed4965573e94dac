//! Interface between grouping and the model that turns text into vectors.

use super::SparseVector;

/// Turns documents into vectors whose cosine is their similarity.
///
/// The map needs no network: [`TfIdfEmbedder`](super::TfIdfEmbedder) is the offline implementation. A neural model fits behind
/// the same trait with [`SparseVector::from_dense`]; steps that can fail, such as loading it, belong before this call.
pub trait Embedder {
    /// One vector per document, in order. A document without content gets an empty vector, which is similar to no other.
    fn embed(&self, documents: &[&str]) -> Vec<SparseVector>;
}

//! Louvain's modularity search with Leiden's refinement, so that every community is connected.
//!
//! Blondel et al., "Fast unfolding of communities in large networks" (2008); Traag, Waltman and van Eck, "From
//! Louvain to Leiden: guaranteeing well-connected communities" (2019).

mod levels;
mod local_moving;
mod refinement;

pub(super) use levels::louvain;

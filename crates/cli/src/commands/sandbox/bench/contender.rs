//! What takes part in the table.

use async_trait::async_trait;

use crate::arguments::SandboxBenchmark;

/// One row of the table, measured over and over. A new row (a zygote's call, say) implements this and is added in
/// `line_up`; everything else follows.
#[async_trait]
pub(super) trait Contender: Send {
    /// What the row is called and what it does.
    fn row(&self) -> Row;

    /// Does it once. The time that this takes is what is measured.
    async fn once(&mut self) -> anyhow::Result<()>;

    /// Ends what was kept between the times. Called once, whatever happened before.
    async fn finish(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}

/// What a row says beside its figures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) measure: SandboxBenchmark,
    /// What is done, in words.
    pub(super) what: &'static str,
    /// The row of ours that this one is a peer of.
    pub(super) peer_of: Option<SandboxBenchmark>,
}

/// A row that cannot be measured here.
#[derive(Debug, Clone, serde::Serialize)]
pub(super) struct LeftOut {
    pub(super) name: &'static str,
    pub(super) reason: String,
}

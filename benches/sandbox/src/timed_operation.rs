//! Interface of the rows of the table.

use async_trait::async_trait;

use crate::arguments::SandboxBenchmark;

/// Operation of one row of the table, whose duration is measured.
#[async_trait]
pub(crate) trait TimedOperation: Send {
    /// Name and description of the row.
    fn row(&self) -> BenchmarkRow;

    /// Performs the operation once. Its duration is one sample.
    async fn perform(&mut self) -> anyhow::Result<()>;

    /// Releases what was kept between the samples. Called once, also after a failure.
    async fn finish(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}

/// Name and description of a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BenchmarkRow {
    pub(crate) benchmark: SandboxBenchmark,
    /// Description of the operation.
    pub(crate) what: &'static str,
    /// Row of menace that this peer is compared with.
    pub(crate) peer_of: Option<SandboxBenchmark>,
}

/// A row that cannot be measured on this host.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct SkippedBenchmark {
    pub(crate) name: &'static str,
    pub(crate) reason: String,
}

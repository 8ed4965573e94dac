//! Adoption of sandboxes that outlived an earlier sandbox daemon.

use std::sync::Arc;

use menace_model::sandbox::SandboxState;

use super::entry::{SandboxEntry, lock};
use super::records::SandboxRecord;
use super::service::SandboxService;
use super::tenants::Caller;
use super::views::SandboxStatus;

impl SandboxService {
    /// Adopts the recorded sandboxes that still exist. Records of sandboxes that are gone are deleted; if the backend
    /// does not answer, the record is kept for the next start.
    pub async fn adopt(&self) {
        for record in self.records.iter().flat_map(super::records::SandboxRecords::all) {
            let id = record.id.clone();
            match self.adopt_one(record).await {
                Ok(true) => tracing::info!("adopted sandbox {id}"),
                Ok(false) => {
                    self.forget_record(&id);
                    self.happenings.publish(
                        "sandbox.lost",
                        &id,
                        None,
                        Some("the sandbox no longer exists".into()),
                    );
                }
                Err(error) => tracing::warn!("failed to adopt sandbox {id}: {}", error.message()),
            }
        }
    }

    async fn adopt_one(&self, record: SandboxRecord) -> Result<bool, crate::error::ApiError> {
        let backend = self.backends.get(record.backend).await?;
        let Some(sandbox) = backend.adopt(&record.id, &record.spec).await? else { return Ok(false) };
        let state = match sandbox.state().await {
            Ok(state) => state,
            Err(error) => {
                // Dropping a sandbox destroys it. One missing answer of the engine must not do that.
                std::mem::forget(sandbox);
                return Err(error.into());
            }
        };
        // The quota was checked when the sandbox was created.
        let caller = Caller { key: record.owner, ..Caller::default() };
        let reservation = self.tenants.reserve(&caller, &record.spec.limits)?;
        let entry =
            SandboxEntry::new(sandbox, record.spec, &record.wanted, record.backend, &caller, reservation)
                .with_creation_time(record.created_ms, record.wanted.ttl.map(|ttl| ttl.0));
        let entry = Arc::new(entry);
        let was_stopped = record.now.as_ref().is_some_and(|now| now.status == SandboxStatus::Stopped);
        if let Some(before) = record.now {
            entry.change(|now| *now = before);
        }
        entry.change(|now| now.status = adopted_status(state, was_stopped));
        lock(&self.entries).insert(entry.id.clone(), Arc::clone(&entry));
        self.metrics.adopted(entry.backend);
        self.tell("sandbox.adopted", &entry, None);
        Ok(true)
    }
}

/// Status of an adopted sandbox, from the engine's state and the recorded status: a stopped container keeps running its init
/// process, and the engine does not know that it accepts no commands. A command whose reader is gone is ended by its session
/// leader.
fn adopted_status(state: SandboxState, was_stopped: bool) -> SandboxStatus {
    match state {
        SandboxState::Paused => SandboxStatus::Paused,
        SandboxState::Running if was_stopped => SandboxStatus::Stopped,
        SandboxState::Running => SandboxStatus::Running,
        SandboxState::Ended => SandboxStatus::Stopped,
    }
}

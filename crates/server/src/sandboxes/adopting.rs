//! Sandboxes that outlived the process that held them are taken over.

use std::sync::Arc;

use menace_model::sandbox::SandboxState;

use super::entry::{Entry, lock};
use super::making::Sandboxes;
use super::records::Record;
use super::tenants::Caller;
use super::view::Status;

impl Sandboxes {
    /// Takes over what is still there of what was written down. What is gone is forgotten; what cannot be asked about now is
    /// kept for the next time.
    pub async fn adopt(&self) {
        for record in self.records.iter().flat_map(super::records::Records::all) {
            let id = record.id.clone();
            match self.adopt_one(record).await {
                Ok(true) => tracing::info!("sandbox {id} is still there"),
                Ok(false) => {
                    self.forget_record(&id);
                    self.happenings.tell("sandbox.lost", &id, None, Some("it was gone".into()));
                }
                Err(error) => tracing::warn!("sandbox {id} cannot be taken over now: {}", error.message()),
            }
        }
    }

    async fn adopt_one(&self, record: Record) -> Result<bool, crate::error::ApiError> {
        let backend = self.backends.get(record.backend).await?;
        let Some(sandbox) = backend.adopt(&record.id, &record.spec).await? else { return Ok(false) };
        let state = match sandbox.state().await {
            Ok(state) => state,
            Err(error) => {
                // Dropping a sandbox destroys it, and an engine that did not answer once is no reason for that.
                std::mem::forget(sandbox);
                return Err(error.into());
            }
        };
        // What it may have was decided when it was made.
        let caller = Caller { key: record.owner, ..Caller::default() };
        let reservation = self.tenants.reserve(&caller, &record.spec.limits)?;
        let entry = Entry::new(sandbox, record.spec, &record.wanted, record.backend, &caller, reservation)
            .made_at(record.created_ms, record.wanted.ttl.map(|ttl| ttl.0));
        let entry = Arc::new(entry);
        let was_stopped = record.now.as_ref().is_some_and(|now| now.status == Status::Stopped);
        if let Some(before) = record.now {
            entry.change(|now| *now = before);
        }
        entry.change(|now| now.status = status(state, was_stopped));
        lock(&self.entries).insert(entry.id.clone(), Arc::clone(&entry));
        self.metrics.adopted(entry.backend);
        self.tell("sandbox.adopted", &entry, None);
        Ok(true)
    }
}

/// What the engine says of a sandbox, and whether it was stopped: a container that was goes on with our first process alone, and
/// the engine does not know that it is to take no commands. A command that nobody hears any more is ended by its leader.
fn status(state: SandboxState, was_stopped: bool) -> Status {
    match state {
        SandboxState::Paused => Status::Paused,
        SandboxState::Running if was_stopped => Status::Stopped,
        SandboxState::Running => Status::Running,
        SandboxState::Ended => Status::Stopped,
    }
}

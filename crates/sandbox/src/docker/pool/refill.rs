//! Background task that fills the pool, one container at a time.

use std::sync::Arc;
use std::time::Instant;

use menace_model::sandbox::SandboxSpec;

use super::super::container::new_id;
use super::allocation::{ContainerPool, WarmContainer};
use super::key::PoolKey;
use super::state::NextCreation;
use crate::SandboxError;

impl ContainerPool {
    /// Creates missing containers in an endless loop.
    pub(super) async fn refill(self: Arc<Self>) {
        loop {
            let due = self.shared.lock().next_creation(Instant::now());
            match due {
                NextCreation::Now(key, template) => self.make_one(&key, *template).await,
                NextCreation::Nothing => self.shared.wake.notified().await,
                NextCreation::At(moment) => {
                    tokio::select! {
                        () = self.shared.wake.notified() => {}
                        () = tokio::time::sleep_until(moment.into()) => {}
                    }
                }
            }
        }
    }

    async fn make_one(&self, key: &PoolKey, template: SandboxSpec) {
        let began = Instant::now();
        let name = template.image.clone().unwrap_or_else(|| self.maker.default_image.clone());
        match self.try_one(key, template).await {
            Ok(Some(idle)) => {
                let over = self.shared.lock().add_created(key, idle, Instant::now());
                self.report_evicted(over);
                self.report_creation(&name, began, Ok(()), || self.shared.lock().backoff());
                self.report_warm_counts();
            }
            // The name now resolves to another image, and that kind has been learned.
            Ok(None) => {}
            Err(error) => {
                let wait = self.shared.lock().record_failure(key, Instant::now());
                self.report_creation(&name, began, Err(&error), || wait);
            }
        }
    }

    /// Creates a container of this kind. `None` if the image name now resolves to another image.
    async fn try_one(
        &self,
        key: &PoolKey,
        mut template: SandboxSpec,
    ) -> Result<Option<WarmContainer>, SandboxError> {
        let _lock = crate::files::lock(self.options.lock.as_deref()).await?;
        let image = self.maker.check(&mut template).await?;
        if !key.is_of(&image) {
            let gone = self.shared.lock().forget(key);
            self.report_evicted(gone);
            self.record_request(&template, &image);
            return Ok(None);
        }
        let id = new_id();
        let known = self.roll.register(&id, None);
        let made = self.maker.make(&template, &image, &id, Some(&self.options.label)).await?;
        known.set_container(&made.handle.container);
        Ok(Some(WarmContainer::new(made.handle, known, template, Arc::clone(&self.maker.janitor))))
    }
}

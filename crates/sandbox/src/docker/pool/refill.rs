//! Background task that fills the pool, one container at a time.

use std::sync::Arc;
use std::time::Instant;

use menace_model::sandbox::SandboxSpec;

use super::super::container::new_id;
use super::key::Key;
use super::state::Due;
use super::waiting::{Idle, Pool};
use crate::SandboxError;

impl Pool {
    /// Creates missing containers in an endless loop.
    pub(super) async fn refill(self: Arc<Self>) {
        loop {
            let due = self.shared.lock().due(Instant::now());
            match due {
                Due::Now(key, template) => self.make_one(&key, *template).await,
                Due::Nothing => self.shared.wake.notified().await,
                Due::At(moment) => {
                    tokio::select! {
                        () = self.shared.wake.notified() => {}
                        () = tokio::time::sleep_until(moment.into()) => {}
                    }
                }
            }
        }
    }

    async fn make_one(&self, key: &Key, template: SandboxSpec) {
        let began = Instant::now();
        let name = template.image.clone().unwrap_or_else(|| self.maker.default_image.clone());
        match self.try_one(key, template).await {
            Ok(Some(idle)) => {
                let over = self.shared.lock().made(key, idle, Instant::now());
                self.gave_way(over);
                self.tell_made(&name, began, Ok(()), || self.shared.lock().backoff());
                self.tell_waiting();
            }
            // The name now resolves to another image, and that kind has been learned.
            Ok(None) => {}
            Err(error) => {
                let wait = self.shared.lock().failed(key, Instant::now());
                self.tell_made(&name, began, Err(&error), || wait);
            }
        }
    }

    /// Creates a container of this kind. `None` if the image name now resolves to another image.
    async fn try_one(&self, key: &Key, mut template: SandboxSpec) -> Result<Option<Idle>, SandboxError> {
        let _lock = crate::files::lock(self.options.lock.as_deref()).await?;
        let image = self.maker.check(&mut template).await?;
        if !key.is_of(&image) {
            let gone = self.shared.lock().forget(key);
            self.gave_way(gone);
            self.learn(&template, &image);
            return Ok(None);
        }
        let id = new_id();
        let known = self.roll.enter(&id, None);
        let made = self.maker.make(&template, &image, &id, Some(&self.options.label)).await?;
        known.is_container(&made.handle.container);
        Ok(Some(Idle::new(made.handle, known, template, Arc::clone(&self.maker.janitor))))
    }
}

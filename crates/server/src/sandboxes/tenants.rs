//! Callers, their quotas, and the resources they have reserved.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use menace_model::sandbox::SandboxLimits;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::ApiError;

/// Caller of a request. Without a key it is the operator, who may access everything and has no quota.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Caller {
    /// Id of the API key.
    pub key: Option<String>,
    /// Quota of the key.
    #[serde(default)]
    pub quota: Quota,
}

/// Quota of an API key; missing values are unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Quota {
    /// Number of sandboxes.
    pub sandboxes: Option<u64>,
    /// Total CPU cores.
    pub cpus: Option<f64>,
    /// Total memory in bytes.
    pub memory: Option<u64>,
    /// Total disk space in bytes.
    pub disk: Option<u64>,
}

/// Resources reserved by all tenants.
#[derive(Debug, Default)]
pub(super) struct TenantReservations {
    by_key: Mutex<BTreeMap<Option<String>, ReservedResources>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct ReservedResources {
    sandboxes: u64,
    cpus: f64,
    memory: u64,
    disk: u64,
}

/// Share of a quota reserved for one sandbox; released on drop.
#[derive(Debug)]
pub(super) struct QuotaReservation {
    tenants: Arc<TenantReservations>,
    key: Option<String>,
    held: Mutex<ReservedResources>,
}

impl TenantReservations {
    /// Reserves a share for a sandbox with these limits, if the quota allows it.
    pub(super) fn reserve(
        self: &Arc<Self>,
        caller: &Caller,
        limits: &SandboxLimits,
    ) -> Result<QuotaReservation, ApiError> {
        let wanted = ReservedResources {
            sandboxes: 1,
            cpus: limits.cpus.unwrap_or(0.0),
            memory: limits.effective_memory(),
            disk: limits.effective_disk(),
        };
        self.take(caller, &ReservedResources::default(), &wanted)?;
        Ok(QuotaReservation { tenants: Arc::clone(self), key: caller.key.clone(), held: Mutex::new(wanted) })
    }

    /// Replaces one reserved share by another.
    fn take(
        &self,
        caller: &Caller,
        before: &ReservedResources,
        wanted: &ReservedResources,
    ) -> Result<(), ApiError> {
        let mut by_key = self.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        let held = by_key.entry(caller.key.clone()).or_default();
        let after = held.without(before).with(wanted);
        after.check(&caller.quota)?;
        *held = after;
        Ok(())
    }
}

impl QuotaReservation {
    /// Changes the reserved share.
    pub(super) fn change(&self, caller: &Caller, limits: &SandboxLimits) -> Result<(), ApiError> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = ReservedResources {
            cpus: limits.cpus.unwrap_or(held.cpus),
            memory: limits.memory.unwrap_or(held.memory),
            ..*held
        };
        self.tenants.take(&Caller { key: self.key.clone(), quota: caller.quota }, &held, &wanted)?;
        *held = wanted;
        Ok(())
    }
}

impl Drop for QuotaReservation {
    fn drop(&mut self) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let mut by_key = self.tenants.by_key.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(all) = by_key.get_mut(&self.key) {
            *all = all.without(&held);
            if all.sandboxes == 0 {
                by_key.remove(&self.key);
            }
        }
    }
}

impl ReservedResources {
    fn with(self, other: &Self) -> Self {
        Self {
            sandboxes: self.sandboxes + other.sandboxes,
            cpus: self.cpus + other.cpus,
            memory: self.memory.saturating_add(other.memory),
            disk: self.disk.saturating_add(other.disk),
        }
    }

    fn without(self, other: &Self) -> Self {
        Self {
            sandboxes: self.sandboxes - other.sandboxes,
            cpus: (self.cpus - other.cpus).max(0.0),
            memory: self.memory - other.memory,
            disk: self.disk - other.disk,
        }
    }

    fn check(&self, quota: &Quota) -> Result<(), ApiError> {
        let exceeded = |what: &str, would: String, most: String| {
            let message = format!("quota exceeded: {what} would be {would}, limit is {most}");
            Err(ApiError::new(StatusCode::FORBIDDEN, "quota_exceeded", message)
                .hint("destroy unused sandboxes, or ask the operator for a higher quota"))
        };
        if let Some(most) = quota.sandboxes.filter(|most| self.sandboxes > *most) {
            return exceeded("sandboxes", self.sandboxes.to_string(), most.to_string());
        }
        if let Some(most) = quota.cpus.filter(|most| self.cpus > *most + 1e-9) {
            return exceeded("CPU cores", format!("{:.2}", self.cpus), most.to_string());
        }
        if let Some(most) = quota.memory.filter(|most| self.memory > *most) {
            return exceeded("memory", format!("{} bytes", self.memory), format!("{most} bytes"));
        }
        if let Some(most) = quota.disk.filter(|most| self.disk > *most) {
            return exceeded("disk", format!("{} bytes", self.disk), format!("{most} bytes"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(memory: u64) -> SandboxLimits {
        SandboxLimits {
            memory: Some(memory),
            cpus: Some(1.0),
            disk: Some(1 << 20),
            ..SandboxLimits::default()
        }
    }

    #[test]
    fn released_shares_can_be_reserved_again() {
        let tenants = Arc::new(TenantReservations::default());
        let quota = Quota { sandboxes: Some(2), memory: Some(300), ..Quota::default() };
        let caller = Caller { key: Some("a".into()), quota };
        let first = tenants.reserve(&caller, &limits(200)).unwrap();
        assert!(tenants.reserve(&caller, &limits(200)).is_err(), "too much memory");
        let second = tenants.reserve(&caller, &limits(100)).unwrap();
        assert!(tenants.reserve(&caller, &limits(0)).is_err(), "too many");
        let other = Caller { key: Some("b".into()), quota };
        tenants.reserve(&other, &limits(300)).unwrap();
        drop((first, second));
        assert!(tenants.by_key.lock().unwrap().is_empty());
        tenants.reserve(&caller, &limits(300)).unwrap();
    }

    #[test]
    fn a_raised_limit_counts_against_the_quota() {
        let tenants = Arc::new(TenantReservations::default());
        let caller = Caller { key: Some("a".into()), quota: Quota { cpus: Some(2.0), ..Quota::default() } };
        let held = tenants.reserve(&caller, &limits(1)).unwrap();
        let wanted = |cpus| SandboxLimits { cpus: Some(cpus), memory: None, ..SandboxLimits::default() };
        assert!(held.change(&caller, &wanted(2.5)).is_err());
        held.change(&caller, &wanted(2.0)).unwrap();
        assert!(tenants.reserve(&caller, &limits(1)).is_err());
    }
}

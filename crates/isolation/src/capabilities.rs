//! Drops every capability, and every way to regain one.

use menace_model::{ErrorClass, ErrorDetails};
use rustix::{
    io::Errno,
    thread::{
        CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities, capabilities_secure_bits,
        capability_is_in_bounding_set, clear_ambient_capability_set, no_new_privs,
        remove_capability_from_bounding_set, set_capabilities, set_capabilities_secure_bits,
        set_no_new_privs,
    },
};
use thiserror::Error;

/// Capabilities could not be dropped.
#[derive(Debug, Error)]
pub enum CapabilitiesError {
    /// The bounding set could not be emptied.
    #[error("failed to remove capability {number} from the bounding set: {source}")]
    Bound {
        /// The capability, as `linux/capability.h` numbers them.
        number: u32,
        /// Error of the kernel.
        source: Errno,
    },
    /// The ambient set could not be emptied.
    #[error("failed to clear the ambient capabilities: {0}")]
    ClearAmbient(#[source] Errno),
    /// The effective, permitted and inheritable sets could not be emptied.
    #[error("failed to clear the capabilities of this thread: {0}")]
    Clear(#[source] Errno),
    /// The securebits, which define the capabilities of user 0, could not be locked.
    #[error("failed to lock the securebits: {0}")]
    Lock(#[source] Errno),
    /// The remaining capabilities could not be read.
    #[error("failed to read the capabilities of this thread: {0}")]
    Read(#[source] Errno),
    /// The kernel reported success for each step, and yet capabilities remain.
    #[error("capabilities remain in the {set} set: {bits:#x}")]
    Left {
        /// Name of the set.
        set: &'static str,
        /// One bit for each capability.
        bits: u64,
    },
    /// `no_new_privs` could not be set.
    #[error("failed to set no_new_privs: {0}")]
    NoNewPrivileges(#[source] Errno),
    /// `no_new_privs` was set and reads as not set.
    #[error("no_new_privs is not set although the kernel accepted it")]
    PrivilegesNotLocked,
}

impl ErrorDetails for CapabilitiesError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Bound { .. }
            | Self::ClearAmbient(_)
            | Self::Clear(_)
            | Self::Lock(_)
            | Self::Read(_)
            | Self::Left { .. }
            | Self::NoNewPrivileges(_)
            | Self::PrivilegesNotLocked => ErrorClass::Unsupported,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Bound { .. } => {
                Some("this needs CAP_SETPCAP, which root of a new user namespace has".into())
            }
            Self::ClearAmbient(_)
            | Self::Clear(_)
            | Self::Lock(_)
            | Self::Read(_)
            | Self::Left { .. }
            | Self::NoNewPrivileges(_)
            | Self::PrivilegesNotLocked => None,
        }
    }
}

/// Empties all five capability sets of this thread and locks the securebits, so that being or becoming user 0
/// restores nothing. The remaining capabilities are read from the kernel; any that remain are an error.
pub fn drop_all() -> Result<(), CapabilitiesError> {
    lock_secure_bits()?;
    clear_ambient_capability_set().map_err(CapabilitiesError::ClearAmbient)?;
    empty_bounding_set()?;
    let nothing = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: nothing, permitted: nothing, inheritable: nothing })
        .map_err(CapabilitiesError::Clear)?;
    verify_all_dropped()
}

/// Sets `no_new_privs`: from now on no executable gives this thread or its children more rights than they have.
pub fn no_new_privileges() -> Result<(), CapabilitiesError> {
    set_no_new_privs(true).map_err(CapabilitiesError::NoNewPrivileges)?;
    match no_new_privs() {
        Ok(true) => Ok(()),
        Ok(false) => Err(CapabilitiesError::PrivilegesNotLocked),
        Err(error) => Err(CapabilitiesError::NoNewPrivileges(error)),
    }
}

/// A thread without `CAP_SETPCAP` may not do this. With empty sets it does not need the lock either, as [`drop_all`]
/// requires an empty bounding set, from which not even user 0 gets capabilities.
fn lock_secure_bits() -> Result<(), CapabilitiesError> {
    let locked = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    // The bits of later kernels, which restrict how scripts are executed, keep the values they have.
    let kept =
        capabilities_secure_bits().map_err(CapabilitiesError::Read)? - CapabilitiesSecureBits::KEEP_CAPS;
    match set_capabilities_secure_bits(kept | locked) {
        Ok(()) | Err(Errno::PERM) => Ok(()),
        Err(error) => Err(CapabilitiesError::Lock(error)),
    }
}

fn empty_bounding_set() -> Result<(), CapabilitiesError> {
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // The kernel knows no capability of this number, nor any of a higher one.
            Err(Errno::INVAL) => break,
            Err(source) => match capability_is_in_bounding_set(capability) {
                // It was removed before.
                Ok(false) => {}
                Ok(true) => return Err(CapabilitiesError::Bound { number, source }),
                Err(Errno::INVAL) => break,
                Err(error) => return Err(CapabilitiesError::Read(error)),
            },
        }
    }
    Ok(())
}

fn verify_all_dropped() -> Result<(), CapabilitiesError> {
    let sets = capabilities(None).map_err(CapabilitiesError::Read)?;
    let left = [
        ("effective", sets.effective.bits()),
        ("permitted", sets.permitted.bits()),
        ("inheritable", sets.inheritable.bits()),
        // The ambient set is always within the permitted one.
        ("bounding", collect(capability_is_in_bounding_set)?),
    ];
    match left.into_iter().find(|(_, bits)| *bits != 0) {
        Some((set, bits)) => Err(CapabilitiesError::Left { set, bits }),
        None => Ok(()),
    }
}

/// Collects one bit for each capability that the kernel reports as a member of the set.
fn collect(is_in_set: fn(CapabilitySet) -> rustix::io::Result<bool>) -> Result<u64, CapabilitiesError> {
    let mut bits = 0;
    for number in 0..u64::BITS {
        match is_in_set(CapabilitySet::from_bits_retain(1 << number)) {
            Ok(true) => bits |= 1 << number,
            Ok(false) => {}
            Err(Errno::INVAL) => break,
            Err(error) => return Err(CapabilitiesError::Read(error)),
        }
    }
    Ok(bits)
}

#[cfg(test)]
mod tests {
    use std::{fs, process::Command};

    use super::*;
    use crate::forked_child;

    fn lines_of_status(status: &str, start: &str) -> Vec<String> {
        status.lines().filter(|line| line.starts_with(start)).map(str::to_owned).collect()
    }

    #[test]
    fn all_sets_are_empty_and_exec_as_user_0_restores_none() {
        forked_child::run_as_root_of_a_user_namespace(|| {
            assert_ne!(capabilities(None).unwrap().effective, CapabilitySet::empty());
            drop_all().unwrap();

            let after_exec = Command::new("cat").arg("/proc/self/status").output().unwrap().stdout;
            for status in
                [fs::read_to_string("/proc/self/status").unwrap(), String::from_utf8(after_exec).unwrap()]
            {
                let sets = lines_of_status(&status, "Cap");
                assert_eq!(sets.len(), 5);
                assert!(sets.iter().all(|set| set.ends_with("\t0000000000000000")), "{sets:?}");
            }
            assert_eq!(
                capabilities_secure_bits().unwrap().bits() & 0xff,
                0b1110_1111,
                "everything locked, and capabilities are not kept"
            );
        });
    }

    #[test]
    fn dropping_twice_is_no_error() {
        forked_child::run_as_root_of_a_user_namespace(|| {
            drop_all().unwrap();
            drop_all().unwrap();
        });
    }

    #[test]
    fn a_bounding_set_that_cannot_be_emptied_is_an_error() {
        forked_child::run_as_root_of_a_user_namespace(|| {
            let mut sets = capabilities(None).unwrap();
            sets.effective -= CapabilitySet::SETPCAP;
            set_capabilities(None, sets).unwrap();
            let error = drop_all().unwrap_err();
            assert!(matches!(error, CapabilitiesError::Bound { number: 0, source: Errno::PERM }), "{error}");
        });
    }

    #[test]
    fn no_new_privileges_shows_in_proc() {
        forked_child::run(|| {
            no_new_privileges().unwrap();
            let status = fs::read_to_string("/proc/self/status").unwrap();
            assert_eq!(lines_of_status(&status, "NoNewPrivs"), ["NoNewPrivs:\t1"]);
        });
    }
}

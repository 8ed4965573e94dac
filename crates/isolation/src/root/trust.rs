//! A certificate authority that programs in a sandbox trust in addition to those of the host.

use std::fs;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::mount::MountFlags;

use super::tree::RootTree;
use crate::mount::{BindAccess, attach_to, detached, make_read_only, virtual_file_system};
use crate::{StepContext, StepError};

/// Directory of the files inside the sandbox.
pub(super) const PLACE: &str = "/etc/menace";
/// The certificate alone.
pub const TRUSTED: &str = "/etc/menace/ca.pem";
/// The certificate and those that the host trusts.
pub const ALL_TRUSTED: &str = "/etc/menace/bundle.pem";

/// Paths at which programs look for the certificates that the system trusts: on Debian and Arch, Fedora, Alpine,
/// openSUSE.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
];

/// Makes programs below `root` trust an authority. `root` is not yet the root of this process.
pub fn mount_trust(root: &Path, certificate: &str) -> Result<(), StepError> {
    let tree = RootTree::at(root)?;
    let bundles: Vec<PathBuf> =
        BUNDLES.iter().map(PathBuf::from).filter(|bundle| tree.find(bundle).is_ok()).collect();
    let mut all = match bundles.first() {
        Some(bundle) => read(&tree, bundle)?,
        None => Vec::new(),
    };
    if all.last().is_some_and(|byte| *byte != b'\n') {
        all.push(b'\n');
    }
    all.extend_from_slice(certificate.as_bytes());
    let place = outside(root, PLACE);
    virtual_file_system("tmpfs", &place, MountFlags::NOSUID | MountFlags::NODEV, "mode=0755,size=4m")?;
    write(&outside(root, TRUSTED), certificate.as_bytes())?;
    write(&outside(root, ALL_TRUSTED), &all)?;
    make_read_only(&place)?;
    for bundle in bundles {
        let source = detached(&outside(root, ALL_TRUSTED), BindAccess::ReadOnly)?;
        attach_to(&source, tree.find(&bundle)?.as_fd(), &bundle)?;
    }
    Ok(())
}

/// Converts a path inside the sandbox to a path of this process. It contains no links.
fn outside(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

fn read(tree: &RootTree, path: &Path) -> Result<Vec<u8>, StepError> {
    let found = tree.find(path)?;
    // The descriptor was opened with O_PATH and is reopened for reading through /proc.
    let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&found));
    let mut content = Vec::new();
    fs::File::open(link)
        .and_then(|mut file| file.read_to_end(&mut content))
        .step(|| format!("read {}", path.display()))?;
    Ok(content)
}

fn write(path: &Path, content: &[u8]) -> Result<(), StepError> {
    fs::write(path, content).step(|| format!("write {}", path.display()))
}

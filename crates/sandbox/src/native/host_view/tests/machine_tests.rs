//! Tests of the view of the machine that they run on.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use menace_model::sandbox::SandboxUser;

use super::super::plan::HostView;
use super::super::{HostDescription, host_view};
use super::path_resolution::resolve_inside;
use menace_isolation::root::SkeletonEntry;

fn this_machine() -> HostView {
    host_view(&HostDescription::of_this_process(SandboxUser::default(), "sandbox".to_owned()))
}

#[test]
fn python_inside_is_the_same_as_outside() {
    let outside = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|directory| directory.join("python3"))
        .find(|python| python.exists())
        .expect("this test needs python3 on PATH");
    let view = this_machine();
    let inside = view
        .path
        .split(':')
        .find_map(|directory| resolve_inside(&view, &Path::new(directory).join("python3")));
    assert_eq!(inside, Some(outside.canonicalize().unwrap()));
}

#[test]
fn bind_sources_exist_and_contain_no_home() {
    let home = std::env::home_dir().unwrap();
    let sources: Vec<PathBuf> = this_machine()
        .entries
        .into_iter()
        .filter_map(|entry| match entry {
            SkeletonEntry::Bind { source, .. } => Some(source),
            _ => None,
        })
        .collect();
    assert!(sources.contains(&PathBuf::from("/usr")));
    for source in sources {
        assert_eq!(source.canonicalize().unwrap(), source);
        assert!(!home.starts_with(&source), "{} shows a home", source.display());
    }
}

/// Computing the view is part of every start of a sandbox. The fastest of many runs shows the cost; slower ones
/// include other load. The budget is 300 µs; the test allows twice that, so that it fails for a mistake and not for a
/// slow machine, and ten times that in an unoptimised build.
#[test]
fn computing_the_view_is_fast() {
    let host = HostDescription::of_this_process(SandboxUser::default(), "sandbox".to_owned());
    let timed_view = || {
        let start = Instant::now();
        let view = host_view(&host);
        (start.elapsed(), view.entries.len())
    };
    let (fastest, entries) = (0..200).map(|_| timed_view()).min().unwrap();
    println!("{entries} entries in {fastest:?}");
    let budget = Duration::from_micros(if cfg!(debug_assertions) { 6000 } else { 600 });
    assert!(fastest < budget, "{entries} entries took {fastest:?}");
}

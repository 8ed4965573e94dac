//! Finds the installation that contains a program directory, and shows as much of it as its programs need.

use std::path::{Path, PathBuf};

use super::links::show_program;
use super::plan::HostViewPlan;
use super::privacy::{looks_like_a_checkout, looks_private};
use super::system::is_standard;
use super::tree::{TopLevelNames, may_be_link};

/// Handling of a directory that is part of no installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LooseDirectoryRule {
    /// Show it: it is on `PATH`.
    Shown,
    /// Leave it: a link led to it.
    Hidden,
}

/// Names of directories with programs in a prefix.
const PROGRAM_DIRECTORIES: [&str; 3] = ["bin", "sbin", "condabin"];
/// Names that only an installation prefix has at its top: of conda, of Homebrew.
const SIGNS_OF_A_PREFIX: [&str; 2] = ["conda-meta", "Cellar"];
/// Names beside `bin` in a prefix.
const BESIDE_PROGRAMS: [&str; 3] = ["lib", "lib64", "share"];
/// Parts of a virtual environment.
const PARTS_OF_AN_ENVIRONMENT: [&str; 4] = ["pyvenv.cfg", "bin", "lib", "lib64"];
/// Parts of a rustup home that the proxies in `~/.cargo/bin` need. The rest are downloads.
const PARTS_OF_RUSTUP: [&str; 2] = ["settings.toml", "toolchains"];

/// Version managers whose shims look for their root in the home directory, and the variable that overrides it.
const SHIM_MANAGERS: [(&str, &str); 6] = [
    ("pyenv", "PYENV_ROOT"),
    ("rbenv", "RBENV_ROOT"),
    ("nodenv", "NODENV_ROOT"),
    ("goenv", "GOENV_ROOT"),
    ("asdf", "ASDF_DATA_DIR"),
    ("mise", "MISE_DATA_DIR"),
];

/// Shows the installation that contains a directory, whose path has no links, or the directory alone. Returns whether it
/// is shown alone.
pub(super) fn show_installation(
    plan: &mut HostViewPlan,
    directory: &Path,
    loose: LooseDirectoryRule,
) -> bool {
    // Environments can be created from each other, so their base links may form a cycle.
    if is_standard(directory) || (plan.examine(directory) && show_known_installation(plan, directory)) {
        return false;
    }
    let is_alone = loose == LooseDirectoryRule::Shown
        && !plan.shows(directory)
        && plan.privacy.may_show_loose(&plan.tree, directory);
    is_alone && plan.bind(directory)
}

fn show_known_installation(plan: &mut HostViewPlan, directory: &Path) -> bool {
    if plan.shows_for_path(directory) {
        return show_virtual_environment(plan, directory);
    }
    show_shim_manager(plan, directory)
        || show_rustup(plan, directory)
        || show_virtual_environment(plan, directory)
        || show_prefix(plan, directory)
}

/// pyenv and similar managers, asdf, mise: `shims` beside the installed versions. Every shim calls the manager, and the
/// manager needs the whole of its root.
fn show_shim_manager(plan: &mut HostViewPlan, directory: &Path) -> bool {
    if !directory.ends_with("shims") && !directory.ends_with("bin") {
        return false;
    }
    let Some(root) = shim_manager_roots(directory).into_iter().find(|root| is_shim_manager(plan, root))
    else {
        return false;
    };
    if !plan.shows(&root) && (looks_private(&TopLevelNames::of(&plan.tree, &root)) || !plan.bind(&root)) {
        return false;
    }
    if let Some(variable) = shim_manager_variable(plan, &root) {
        plan.variable(variable, &root);
    }
    let versions = root.join("versions");
    for (name, _) in plan.tree.list(&versions, |_, kind| may_be_link(kind)) {
        show_program(plan, &versions, &Path::new(&name).join("bin/python"));
    }
    true
}

/// Candidate roots: the parent of `shims`, or that of a plugin with shims or commands of its own.
fn shim_manager_roots(directory: &Path) -> Vec<PathBuf> {
    let around = directory.parent();
    let plugins = around.and_then(Path::parent).filter(|plugins| plugins.ends_with("plugins"));
    around.into_iter().chain(plugins.and_then(Path::parent)).map(Path::to_path_buf).collect()
}

fn is_shim_manager(plan: &HostViewPlan, root: &Path) -> bool {
    plan.tree.is_directory(&root.join("shims"))
        && ["versions", "installs"].iter().any(|installed| plan.tree.is_directory(&root.join(installed)))
}

fn shim_manager_variable(plan: &HostViewPlan, root: &Path) -> Option<&'static str> {
    let is_of = |name: &str| {
        root.file_name().is_some_and(|root| root == name || root.to_str() == Some(&format!(".{name}")))
            || plan.tree.exists(&root.join("libexec").join(name))
    };
    SHIM_MANAGERS.iter().find(|(name, _)| is_of(name)).map(|(_, variable)| *variable)
}

/// Shows `~/.cargo/bin`, whose programs are proxies for those in `~/.rustup`. Never the rest of `~/.cargo`, which
/// holds the registry token.
fn show_rustup(plan: &mut HostViewPlan, directory: &Path) -> bool {
    if !directory.ends_with("bin") || !plan.tree.exists(&directory.join("rustup")) || !plan.bind(directory) {
        return false;
    }
    let around = directory.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    let homes = [".rustup", "rustup"].map(|name| around.join(name));
    if let Some(home) = homes.iter().find(|home| plan.tree.is_directory(&home.join("toolchains"))) {
        for part in PARTS_OF_RUSTUP {
            show_part(plan, &home.join(part));
        }
        // A proxy that does not find this directory tries to create it, fails, and exits.
        plan.directory(&home.join("update-hashes"));
        plan.variable("RUSTUP_HOME", home);
    }
    true
}

/// Shows a virtual environment and its base Python, which is named in `pyvenv.cfg` and is the target of
/// `bin/python`.
fn show_virtual_environment(plan: &mut HostViewPlan, directory: &Path) -> bool {
    let Some(prefix) = directory.parent().filter(|_| directory.ends_with("bin")) else { return false };
    let configuration = prefix.join("pyvenv.cfg");
    if !plan.tree.is_file(&configuration) {
        return false;
    }
    // An environment created directly in a home directory or checkout has private files beside `bin`.
    let is_shared = |top: TopLevelNames| looks_private(&top) || looks_like_a_checkout(&top);
    if !plan.shows(prefix) && (is_shared(TopLevelNames::of(&plan.tree, prefix)) || !plan.bind(prefix)) {
        for part in PARTS_OF_AN_ENVIRONMENT {
            show_part(plan, &prefix.join(part));
        }
    }
    let base = plan.tree.read(&configuration).and_then(|text| base_of_environment(&text));
    if let Some(base) = base.and_then(|base| plan.tree.resolve(&base)) {
        show_installation(plan, &base.path, LooseDirectoryRule::Hidden);
        if plan.shows(&base.path) {
            plan.show_links(&base.links);
        }
    }
    show_program(plan, directory, Path::new("python"));
    true
}

/// Directory of the base interpreter: the key `home`.
fn base_of_environment(configuration: &str) -> Option<PathBuf> {
    let values = configuration.lines().filter_map(|line| line.split_once('='));
    values
        .filter(|(key, _)| key.trim() == "home")
        .map(|(_, value)| PathBuf::from(value.trim()))
        .find(|home| home.is_absolute())
}

/// Shows any other prefix with `bin` and `lib`: a Python of uv, Node of nvm, a JDK of SDKMAN, Go, conda, Homebrew.
fn show_prefix(plan: &mut HostViewPlan, directory: &Path) -> bool {
    let is_of_programs = PROGRAM_DIRECTORIES.iter().any(|name| directory.ends_with(name));
    let Some(prefix) = directory.parent().filter(|_| is_of_programs) else { return false };
    if plan.shows(prefix) {
        return true;
    }
    let top = TopLevelNames::of(&plan.tree, prefix);
    // The Go toolchain may be in a checkout of itself.
    let is_certain = top.has_any(&SIGNS_OF_A_PREFIX) || plan.tree.exists(&prefix.join("pkg/tool"));
    if !is_certain && (!top.has_any(&BESIDE_PROGRAMS) || looks_like_a_checkout(&top)) {
        return false;
    }
    !looks_private(&top) && plan.bind(prefix)
}

/// Shows one entry of a directory that is not shown as a whole.
fn show_part(plan: &mut HostViewPlan, part: &Path) {
    let Some(resolved) = plan.tree.resolve(part) else { return };
    if plan.bind(&resolved.path) {
        plan.show_links(&resolved.links);
    }
}

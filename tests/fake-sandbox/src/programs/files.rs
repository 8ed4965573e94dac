//! Programs that create, remove and inspect files.

use std::path::{Path, PathBuf};

use super::program_error::{FakeProgramError, FakeProgramResult, about, unknown};
use crate::error_number;
use crate::file_system::FakeFileNode;
use crate::invocation::{FakeExit, FakeInvocation};
use crate::resolve::FinalSymlink;

pub(super) fn mkdir(it: &FakeInvocation) -> FakeProgramResult {
    let (parents, paths) = match it.arguments() {
        [option, paths @ ..] if option == "-p" => (true, paths),
        paths => (false, paths),
    };
    for path in checked(paths)? {
        make_directory(it, path, parents).map_err(about(path))?;
    }
    Ok(())
}

pub(super) fn rm(it: &FakeInvocation) -> FakeProgramResult {
    let (options, paths) = match it.arguments() {
        [option, paths @ ..] if ["-r", "-f", "-rf", "-fr"].contains(&option.as_str()) => {
            (option.as_str(), paths)
        }
        paths => ("", paths),
    };
    for path in checked(paths)? {
        match remove(it, path, options.contains('r')) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) && options.contains('f') => {}
            other => other.map_err(|error| about(&format!("cannot remove '{path}'"))(error))?,
        }
    }
    Ok(())
}

pub(super) fn chmod(it: &FakeInvocation) -> FakeProgramResult {
    let [mode, path] = it.arguments() else { return Err(unknown(it.arguments())) };
    let mode = u32::from_str_radix(mode, 8).map_err(|_| unknown(it.arguments()))?;
    let mut files = it.machine.files();
    let place = files.resolve(&it.directory, Path::new(path), FinalSymlink::Follow).map_err(about(path))?;
    files.set_mode(&place, mode).map_err(about(path))
}

pub(super) fn ln(it: &FakeInvocation) -> FakeProgramResult {
    let [option, target, path] = it.arguments() else { return Err(unknown(it.arguments())) };
    if option != "-s" {
        return Err(unknown(it.arguments()));
    }
    let mut files = it.machine.files();
    let place = files.resolve(&it.directory, Path::new(path), FinalSymlink::Keep).map_err(about(path))?;
    if files.get(&place).is_some() {
        return Err(about(path)(error_number::exists()));
    }
    files.insert(&place, FakeFileNode::Link { target: PathBuf::from(target) }).map_err(about(path))
}

pub(super) async fn ls(it: FakeInvocation) -> FakeProgramResult {
    let path = match it.arguments() {
        [] => ".",
        [path] if !path.starts_with('-') => path,
        other => return Err(unknown(other)),
    };
    let text = list(&it, path).map_err(about(path))?;
    Ok(it.print(text).await?)
}

/// `test`: 0 for true, 1 for false, 2 for unsupported arguments.
pub(super) async fn test(it: FakeInvocation) -> FakeExit {
    let words: Vec<&str> = it.arguments().iter().map(String::as_str).collect();
    let answer = match words[..] {
        [option, path] => test_file(&it, option, path),
        [left, "=", right] => Some(left == right),
        [left, "!=", right] => Some(left != right),
        _ => None,
    };
    if let Some(answer) = answer {
        return FakeExit::Code(i32::from(!answer));
    }
    it.complain(format!("test: unsupported by the fake backend: {}\n", words.join(" "))).await;
    FakeExit::Code(2)
}

fn checked(paths: &[String]) -> Result<&[String], FakeProgramError> {
    if paths.is_empty() || paths.iter().any(|path| path.starts_with('-')) {
        return Err(unknown(paths));
    }
    Ok(paths)
}

fn make_directory(it: &FakeInvocation, path: &str, parents: bool) -> std::io::Result<()> {
    let mut files = it.machine.files();
    if !parents {
        let place = files.resolve(&it.directory, Path::new(path), FinalSymlink::Follow)?;
        if files.get(&place).is_some() {
            return Err(error_number::exists());
        }
        return files.insert(&place, FakeFileNode::directory());
    }
    let mut place = it.directory.clone();
    for part in Path::new(path).components() {
        place = files.resolve(&place, Path::new(part.as_os_str()), FinalSymlink::Follow)?;
        files.make_directories(&place)?;
    }
    Ok(())
}

fn remove(it: &FakeInvocation, path: &str, recursive: bool) -> std::io::Result<()> {
    let mut files = it.machine.files();
    let place = files.resolve(&it.directory, Path::new(path), FinalSymlink::Keep)?;
    if matches!(files.get(&place), Some(FakeFileNode::Directory { .. })) {
        if !recursive {
            return Err(error_number::is_directory());
        }
        let below: Vec<PathBuf> = files.below(&place).map(|(path, _)| path.to_owned()).collect();
        for path in below.iter().rev() {
            files.remove(path)?;
        }
    }
    files.remove(&place)
}

fn list(it: &FakeInvocation, path: &str) -> std::io::Result<String> {
    let files = it.machine.files();
    let place = files.resolve(&it.directory, Path::new(path), FinalSymlink::Follow)?;
    match files.get(&place) {
        None => Err(error_number::missing()),
        Some(FakeFileNode::Directory { .. }) => {
            let children = files.below(&place).filter(|(path, _)| path.parent() == Some(&place));
            let names = children.filter_map(|(path, _)| Some(path.file_name()?.to_string_lossy()));
            Ok(names.filter(|name| !name.starts_with('.')).map(|name| format!("{name}\n")).collect())
        }
        Some(_) => Ok(format!("{path}\n")),
    }
}

fn test_file(it: &FakeInvocation, option: &str, path: &str) -> Option<bool> {
    let files = it.machine.files();
    let last = if option == "-L" { FinalSymlink::Keep } else { FinalSymlink::Follow };
    let place = files.resolve(&it.directory, Path::new(path), last).ok();
    let node = place.as_deref().and_then(|place| files.get(place));
    match option {
        "-e" => Some(node.is_some()),
        "-f" => Some(matches!(node, Some(FakeFileNode::File { .. }))),
        "-d" => Some(matches!(node, Some(FakeFileNode::Directory { .. }))),
        "-L" => Some(matches!(node, Some(FakeFileNode::Link { .. }))),
        "-s" => Some(matches!(node, Some(FakeFileNode::File { bytes, .. }) if !bytes.is_empty())),
        "-x" => match node {
            Some(FakeFileNode::File { mode, .. } | FakeFileNode::Directory { mode }) => {
                Some(mode & 0o111 != 0)
            }
            _ => Some(false),
        },
        _ => None,
    }
}

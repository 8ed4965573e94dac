//! Root file system for containers, made of files of this machine: busybox and Python, with their libraries.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use tar::{Builder, EntryType, Header};

/// Python of the system, which needs only files below `/usr`.
const PYTHON: &str = "/usr/bin/python3";

/// Directories of the standard library that no test needs.
const LEFT_OUT: [&str; 8] =
    ["__pycache__", "test", "tests", "idlelib", "lib2to3", "ensurepip", "pydoc_data", "dist-packages"];

/// Packs the root directory into a file.
pub(super) fn root_archive(directory: &Path) -> PathBuf {
    let path = directory.join("root.tar");
    let file = File::create(&path).expect("the directory is writable");
    let mut image = ImageArchive { builder: Builder::new(file), added: BTreeSet::new() };
    image.builder.follow_symlinks(false);
    image.add_directories();
    image.add_busybox();
    image.add_python();
    image.add_libraries_of_rust();
    image.add_text("etc/passwd", "root:x:0:0:root:/:/bin/sh\nsandbox:x:1000:1000::/workspace:/bin/sh\n");
    image.add_text("etc/group", "root:x:0:\nsandbox:x:1000:\n");
    image.builder.into_inner().expect("the file is writable");
    path
}

struct ImageArchive {
    builder: Builder<File>,
    /// Names that were added: an engine accepts every name only once.
    added: BTreeSet<PathBuf>,
}

impl ImageArchive {
    fn add_directories(&mut self) {
        for name in
            ["usr", "usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "etc", "var", "proc", "sys", "dev", "run"]
        {
            self.add_directory(name, 0o755);
        }
        for name in ["home", "srv", "mnt", "media", "boot", "opt", "root", "var/lib", "var/log"] {
            self.add_directory(name, 0o755);
        }
        self.add_directory("tmp", 0o1777);
        for (name, target) in [
            ("bin", "usr/bin"),
            ("sbin", "usr/sbin"),
            ("lib", "usr/lib"),
            ("lib64", "usr/lib64"),
            ("var/tmp", "../tmp"),
        ] {
            self.add_link(name, target);
        }
    }

    fn add_busybox(&mut self) {
        let busybox = which("busybox");
        self.builder.append_path_with_name(&busybox, "usr/bin/busybox").expect("busybox can be read");
        for applet in output(Command::new(&busybox).arg("--list")).lines().filter(|name| *name != "busybox") {
            match on_this_machine(applet) {
                Some(program) => self.add_program(&program, applet),
                None => self.add_link(&format!("usr/bin/{applet}"), "busybox"),
            }
        }
    }

    /// Adds a program of this machine in place of the busybox one, because tests expect the wording of its messages.
    fn add_program(&mut self, program: &Path, name: &str) {
        self.add_file_as(program, Path::new("usr/bin").join(name));
        for library in libraries(program) {
            self.add_file(&library);
        }
    }

    fn add_python(&mut self) {
        let program = fs::canonicalize(PYTHON).expect("this machine has Python");
        self.add_link("usr/bin/python3", &program.file_name().unwrap_or_default().to_string_lossy());
        let library =
            output(Command::new(PYTHON).args(["-c", "import os; print(os.path.dirname(os.__file__))"]));
        let files = files_below(Path::new(library.trim()));
        let modules = files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "so"));
        let needed: BTreeSet<PathBuf> = modules.chain([&program]).flat_map(|path| libraries(path)).collect();
        for path in files.iter().chain([&program]).chain(&needed) {
            self.add_file(path);
        }
    }

    /// Adds the libraries that menace needs in a container. This test executable has the same compiler, so it needs the same.
    fn add_libraries_of_rust(&mut self) {
        let this = std::env::current_exe().expect("a running process knows its executable");
        for library in libraries(&this) {
            self.add_file(&library);
        }
    }

    /// Adds a file under the path that it has on this machine.
    fn add_file(&mut self, path: &Path) {
        self.add_file_as(path, in_usr(path));
    }

    /// Adds a file under another name; links are followed, so a link here becomes a file in the image.
    fn add_file_as(&mut self, path: &Path, name: PathBuf) {
        if self.added.insert(name.clone()) {
            let mut file = File::open(path).expect("a file of the system can be read");
            self.builder.append_file(name, &mut file).expect("the file is writable");
        }
    }

    fn add_text(&mut self, name: &str, text: &str) {
        let mut header = Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(text.len() as u64);
        self.builder.append_data(&mut header, name, text.as_bytes()).expect("the file is writable");
    }

    fn add_directory(&mut self, name: &str, mode: u32) {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Directory);
        header.set_mode(mode);
        header.set_size(0);
        self.builder.append_data(&mut header, format!("{name}/"), &[][..]).expect("the file is writable");
    }

    fn add_link(&mut self, name: &str, target: &str) {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Symlink);
        header.set_mode(0o777);
        header.set_size(0);
        self.builder.append_link(&mut header, name, target).expect("the file is writable");
    }
}

fn on_this_machine(name: &str) -> Option<PathBuf> {
    let places = ["/usr/bin", "/usr/sbin"].map(|directory| Path::new(directory).join(name));
    places.into_iter().find(|path| path.is_file())?.canonicalize().ok()
}

/// Maps a path below `/lib` and the like to `/usr`: in the image `/lib` is always a link to `/usr/lib`.
fn in_usr(path: &Path) -> PathBuf {
    let relative = path.strip_prefix("/").unwrap_or(path);
    if relative.starts_with("usr") { relative.to_owned() } else { Path::new("usr").join(relative) }
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("the standard library can be read");
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let path = entry.path();
        if path.is_file() {
            found.push(path);
        } else if path.is_dir() && !LEFT_OUT.iter().any(|left_out| name == *left_out) {
            found.extend(files_below(&path));
        }
    }
    found
}

/// Shared libraries of a program or library, and the loader itself.
fn libraries(path: &Path) -> Vec<PathBuf> {
    let printed = output(Command::new("ldd").arg(path));
    let words = printed.split_whitespace().filter(|word| word.starts_with('/'));
    words.map(|word| PathBuf::from(word.trim_end_matches(':'))).filter(|path| path.is_file()).collect()
}

fn which(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|directory| directory.join(program));
    found.find(|path| path.is_file()).expect("can_run_dockerd started the program before")
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("a program of the system can be started");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

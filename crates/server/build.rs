//! Embeds the files of the dashboard into the binary.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

const MISSING: &str = r#"
compile_error!("ui/dist is missing: the dashboard was not built\nhint: run script/bootstrap");
pub(super) static FILES: &[(&str, &[u8])] = &[];
"#;

fn main() {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui/dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    let code = if dist.join("index.html").is_file() { asset_table(&dist) } else { MISSING.to_owned() };
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR for build scripts"));
    fs::write(out.join("assets.rs"), code).expect("OUT_DIR is writable");
}

fn asset_table(dist: &Path) -> String {
    let mut files = Vec::new();
    collect(dist, &mut files);
    files.sort();
    let mut code = "pub(super) static FILES: &[(&str, &[u8])] = &[\n".to_owned();
    for file in files {
        let name = file.strip_prefix(dist).expect("every file was found below dist").display().to_string();
        let path = fs::canonicalize(&file).expect("the file was just listed");
        let _ = writeln!(
            code,
            "    ({:?}, include_bytes!({:?})),",
            format!("/{name}"),
            path.display().to_string()
        );
    }
    code + "];\n"
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("ui/dist can be read").flatten() {
        let path = entry.path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}

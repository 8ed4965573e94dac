//! Static files of the dashboard, embedded in the binary.

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// Caching of files below `/assets/`, whose names contain a hash of their content.
const FOREVER: &str = "public, max-age=31536000, immutable";

/// Finds the file at a path; `/` is the index page.
pub(super) fn find(path: &str) -> Option<(&'static str, &'static [u8])> {
    let path = if path == "/" { "/index.html" } else { path };
    FILES.iter().find(|(name, _)| *name == path).copied()
}

/// Response with the file at a path.
pub(super) fn answer(path: &str) -> Response {
    let Some((name, content)) = find(path) else { return StatusCode::NOT_FOUND.into_response() };
    let caching = if name.starts_with("/assets/") { FOREVER } else { "no-cache" };
    let headers = [(header::CONTENT_TYPE, kind(name)), (header::CACHE_CONTROL, caching)];
    (headers, Body::from(content)).into_response()
}

fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    /// Compressed size, the usual measure of page weight.
    fn compressed(content: &[u8]) -> usize {
        let mut gzip = Command::new("gzip")
            .arg("-9c")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("gzip is part of every Debian installation");
        let mut stdin = gzip.stdin.take().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || stdin.write_all(content).unwrap());
            gzip.wait_with_output().unwrap().stdout.len()
        })
    }

    #[test]
    fn the_page_is_small_and_loads_nothing_from_other_hosts() {
        let total: usize = FILES.iter().map(|(_, content)| compressed(content)).sum();
        assert!(total < 400_000, "{total} bytes");
        let (_, page) = find("/").unwrap();
        let page = String::from_utf8_lossy(page);
        assert!(!page.contains("http://") && !page.contains("https://"), "{page}");
        // The Content-Security-Policy forbids inline styles and scripts.
        assert!(!page.contains("<style") && !page.contains("style=") && !page.contains("<script>"), "{page}");
    }
}

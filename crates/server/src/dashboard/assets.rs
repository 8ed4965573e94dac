//! The files of the page itself, which are part of the binary.

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// Names below `/assets/` have a hash of their content, so that they never change.
const FOREVER: &str = "public, max-age=31536000, immutable";

/// The file at a path; `/` is the page.
pub(super) fn find(path: &str) -> Option<(&'static str, &'static [u8])> {
    let path = if path == "/" { "/index.html" } else { path };
    FILES.iter().find(|(name, _)| *name == path).copied()
}

/// The answer with the file at a path.
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

    /// What all files take when they are compressed, as everybody measures pages.
    fn compressed(content: &[u8]) -> usize {
        let mut gzip = Command::new("gzip")
            .arg("-9c")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("gzip is on every Debian");
        let mut stdin = gzip.stdin.take().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || stdin.write_all(content).unwrap());
            gzip.wait_with_output().unwrap().stdout.len()
        })
    }

    #[test]
    fn the_page_is_small_and_asks_nobody_else() {
        let total: usize = FILES.iter().map(|(_, content)| compressed(content)).sum();
        assert!(total < 400_000, "{total} bytes");
        let (_, page) = find("/").unwrap();
        let page = String::from_utf8_lossy(page);
        assert!(!page.contains("http://") && !page.contains("https://"), "{page}");
        // Nothing is inline, because the policy of the page forbids it.
        assert!(!page.contains("<style") && !page.contains("style=") && !page.contains("<script>"), "{page}");
    }
}

//! Access control of the dashboard.

use menace_tests::TestServer;
use menace_tests::http::ask;
use serde_json::json;

use crate::data::DashboardProcess;

fn status(address: &str, method: &str, path: &str, headers: &[(&str, &str)]) -> u16 {
    ask(address, method, path, headers, b"").status
}

#[test]
fn pages_forbid_inline_scripts_and_foreign_hosts_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let shown = DashboardProcess::of(directory.path(), &[]);
    let page = shown.get("/");
    let header = |name: &str| page.headers.iter().find(|(known, _)| known == name).unwrap().1.clone();
    let policy = header("content-security-policy");
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    assert_eq!(
        (header("x-content-type-options"), header("x-frame-options")),
        ("nosniff".into(), "DENY".into())
    );
    // DNS rebinding: a foreign name that resolves to this machine.
    for path in ["/", "/api/dashboard/about", "/roi"] {
        assert_eq!(status(&shown.address, "GET", path, &[("Host", "evil.example")]), 403, "{path}");
        assert_eq!(status(&shown.address, "GET", path, &[("Origin", "http://evil.example")]), 403, "{path}");
    }
    assert_eq!(shown.get("/api/dashboard/runs").code(), "no_runs");
    for path in ["/../Cargo.toml", "/assets/../index.html", "/etc/passwd", "/index.html/", "//"] {
        assert_eq!(shown.get(path).status, 404, "{path}");
    }
}

#[test]
fn the_server_serves_the_dashboard_and_isolates_sandbox_pages() {
    let server = TestServer::start();
    let page = server.ask("GET", "/");
    assert!(page.text().contains("<div id=\"app\">") && page.status == 200);
    assert_eq!(server.ask("GET", "/api/dashboard/about").json()["missing"]["sandboxes"], json!(null));
    assert_eq!(status(&server.address, "GET", "/", &[("Host", "evil.example")]), 403);
    // Metrics of the service are still served.
    assert!(server.ask("GET", "/metrics").text().contains("# "));
    let sandbox = server.sandbox(&json!({"project_name": "a"}));
    server.shell(&sandbox, "echo '<script>alert(1)</script>' > /workspace/a.html");
    let file = server.ask("GET", &format!("{sandbox}/files/workspace/a.html"));
    let policy = |answer: &menace_tests::http::HttpResponse| {
        answer
            .headers
            .iter()
            .find(|(name, _)| name == "content-security-policy")
            .map(|(_, value)| value.clone())
    };
    assert!(policy(&file).unwrap().starts_with("sandbox "), "{:?}", file.headers);
    let port = server.ask("GET", &format!("{sandbox}/ports/1/"));
    assert!(policy(&port).unwrap().starts_with("sandbox "), "{:?}", port.headers);
    // Requests of a sandboxed page have the origin `null`.
    assert_eq!(status(&server.address, "GET", "/api/sandboxes", &[("Origin", "null")]), 403);
}

#[test]
fn with_keys_only_the_page_is_public() {
    let server = TestServer::with(&["--require-key"]);
    assert_eq!(server.ask("GET", "/").status, 200);
    for path in ["/api/dashboard/about", "/roi", "/metrics/roi", "/api/sandboxes", "/plots/predictions.svg"] {
        assert_eq!(server.ask("GET", path).status, 401, "{path}");
    }
}

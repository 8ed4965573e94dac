//! Files into and out of a sandbox, and paths that must not escape.

use std::io::Write;

use menace_tests::TestServer;
use serde_json::json;

#[test]
fn a_file_round_trips_unchanged() {
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({}));
    let file = |path: &str| format!("{sandbox}/files/workspace/{path}");
    let content: Vec<u8> = (0..300_000_u32).map(|number| u8::try_from(number % 251).unwrap()).collect();
    assert_eq!(server.ask_with("PUT", &file("deep/er/data.bin?mode=0755"), &[], &content).status, 204);
    let got = server.ask("GET", &file("deep/er/data.bin"));
    assert_eq!((got.status, got.body == content), (200, true));
    let stat = server.ask("GET", &file("deep/er/data.bin?as=stat")).json();
    assert_eq!(
        (&stat["kind"], &stat["size"], &stat["mode"]),
        (&json!("file"), &json!(300_000), &json!("0755"))
    );
    assert_eq!(
        server.send("PATCH", &file("deep/er/data.bin"), &json!({ "move_to": "/workspace/ü b.bin" })).status,
        204
    );
    let listed = server.ask("GET", &file("")).json();
    let names: Vec<_> =
        listed["entries"].as_array().unwrap().iter().map(|entry| entry["name"].clone()).collect();
    assert_eq!(names, [json!("deep"), json!("ü b.bin")]);
    assert_eq!(server.ask("DELETE", &file("deep")).status, 204);
    assert_eq!(server.ask("GET", &file("deep")).code(), "file_not_found");
    assert_eq!(server.ask("DELETE", &file("deep")).code(), "file_not_found");
    assert_eq!(server.ask("PUT", &file("made?as=directory")).status, 204);
    assert_eq!(server.shell(&sandbox, "ls -d made; wc -c < 'ü b.bin'")["stdout"], "made\n300000\n");
}

fn archive(entries: &[(&str, tar::EntryType, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, kind, content) in entries {
        let mut header = tar::Header::new_gnu();
        let is_link = *kind == tar::EntryType::Symlink;
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        header.set_size(if is_link { 0 } else { content.len() as u64 });
        // The `tar` crate refuses names that leave the archive, so they are written directly.
        let name = &mut header.as_old_mut().name;
        name[..path.len()].copy_from_slice(path.as_bytes());
        if is_link {
            header.as_old_mut().linkname[..content.len()].copy_from_slice(content.as_bytes());
        }
        header.set_cksum();
        builder.append(&header, if is_link { &b""[..] } else { content.as_bytes() }).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn archives_round_trip_and_cannot_escape() {
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({}));
    let put =
        |bytes: &[u8]| server.ask_with("PUT", &format!("{sandbox}/files/workspace/in?as=tar"), &[], bytes);
    let file = tar::EntryType::Regular;
    assert_eq!(put(&archive(&[("a/b.txt", file, "inside")])).status, 204);
    assert_eq!(server.shell(&sandbox, "cat in/a/b.txt")["stdout"], "inside");
    for bad in [("../out.txt", file, "x"), ("/workspace/out.txt", file, "x"), ("a/../../out.txt", file, "x")]
    {
        let refused = put(&archive(&[bad]));
        assert_eq!(refused.status, 422, "{bad:?}: {}", refused.text());
    }
    let link = tar::EntryType::Symlink;
    put(&archive(&[("way", link, "/workspace"), ("way/out.txt", file, "x")]));
    assert_eq!(server.shell(&sandbox, "ls out.txt 2>/dev/null | wc -l")["stdout"], "0\n");
    let got = server.ask("GET", &format!("{sandbox}/files/workspace/in/a?as=tar"));
    let mut unpacked = tar::Archive::new(&got.body[..]);
    let names: Vec<String> = unpacked
        .entries()
        .unwrap()
        .map(|entry| entry.unwrap().path().unwrap().display().to_string())
        .collect();
    assert!(names.contains(&"a/b.txt".to_owned()), "{names:?}");
}

#[test]
fn paths_cannot_escape_and_disk_limits_hold() {
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({ "disk_limit": "2m" }));
    for path in ["workspace/..%2F..%2Fetc%2Fx", "workspace/../../etc/x", "%2e%2e/x"] {
        let answer = server.ask_with("PUT", &format!("{sandbox}/files/{path}"), &[], b"x");
        assert!((400..500).contains(&answer.status), "{path}: {}", answer.text());
    }
    let huge = [("Content-Length", "10737418240")];
    let refused = server.ask_with("PUT", &format!("{sandbox}/files/workspace/big"), &huge, b"");
    assert_eq!(refused.code(), "too_large");
    let full = server.ask_with("PUT", &format!("{sandbox}/files/workspace/a?as=tar"), &[], &{
        let zeros = "0".repeat(3 << 20);
        archive(&[("big", tar::EntryType::Regular, &zeros)])
    });
    assert_eq!(full.code(), "disk_full", "{}", full.text());
    assert_eq!(server.ask_with("PUT", &format!("{sandbox}/files/etc/x"), &[], b"x").status, 403);
    assert_eq!(server.ask("GET", &format!("{sandbox}/files/etc/shadow")).code(), "file_not_found");
}

/// Resident memory of a process, in KiB.
fn resident(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn an_oversized_stream_is_refused_early() {
    const CHUNK: usize = 64 << 10;
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({ "disk_limit": "2m" }));
    let daemon = server.sandbox_daemons().into_iter().min().unwrap();
    let before = resident(daemon);
    let mut stream = std::net::TcpStream::connect(&server.address).unwrap();
    let head = format!(
        "PUT {sandbox}/files/workspace/a?as=tar HTTP/1.1\r\nHost: {}\r\nTransfer-Encoding: chunked\r\n\r\n",
        server.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut header = tar::Header::new_gnu();
    header.set_path("big").unwrap();
    header.set_size(10 << 30);
    header.set_mode(0o644);
    header.set_cksum();
    let mut first = header.as_bytes().to_vec();
    first.resize(CHUNK, 0);
    let mut sent = 0_usize;
    let mut chunk = first;
    // Writing fails once the server has closed the connection.
    while stream.write_all(format!("{CHUNK:x}\r\n").as_bytes()).is_ok()
        && stream.write_all(&chunk).and_then(|()| stream.write_all(b"\r\n")).is_ok()
    {
        sent += CHUNK;
        chunk.fill(0);
        assert!(sent < 256 << 20, "{sent} bytes were accepted for a disk of 2 MiB");
    }
    assert!(resident(daemon) < before + (64 << 10), "the sandbox daemon buffers the upload in memory");
    assert_eq!(server.shell(&sandbox, "echo fine")["exit_code"], 0);
}

#[test]
fn an_unreadable_file_is_an_error_before_the_body_starts() {
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({}));
    let file = format!("{sandbox}/files/workspace/closed");
    assert_eq!(server.ask_with("PUT", &format!("{file}?mode=000"), &[], b"content").status, 204);
    for form in ["content", "tar"] {
        let refused = server.ask("GET", &format!("{file}?as={form}"));
        assert_eq!(
            (refused.status, refused.code()),
            (403, "file_forbidden".to_owned()),
            "{}",
            refused.text()
        );
    }
    for mode in ["0", "7777", "+77", "999"] {
        assert_eq!(
            server.ask_with("PUT", &format!("{file}?mode={mode}"), &[], b"").code(),
            "invalid_request"
        );
    }
    assert_eq!(server.ask("DELETE", &sandbox).status, 204);
    assert_eq!(server.ask("DELETE", &sandbox).code(), "sandbox_not_found", "the sandbox is gone");
}

#[test]
fn file_events_are_reported() {
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({}));
    let mut events = server.events(&format!("{sandbox}/watch?path=/workspace"), &[]);
    server.shell(&sandbox, "mkdir d; echo x > d/f; rm d/f");
    let mut next = |name: &str, path: &str| {
        let found = events.find(|event| event.name == name && event.data["path"] == path);
        assert!(found.is_some(), "{name} {path}");
    };
    next("created", "/workspace/d");
    next("created", "/workspace/d/f");
    next("removed", "/workspace/d/f");
}

#[test]
fn changes_are_listed() {
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({}));
    server.shell(&sandbox, "echo x > new.txt");
    let changes = server.ask("GET", &format!("{sandbox}/changes")).json();
    assert_eq!(changes["written"], json!(["/workspace/new.txt"]));
    let stats = server.ask("GET", &format!("{sandbox}/stats")).json();
    assert!(stats["now"]["disk_bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{stats}");
}

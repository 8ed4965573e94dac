//! Traces, as an OpenTelemetry collector receives them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use menace_tests::{RepositoryTree, TestServer};
use serde_json::{Value, json};

/// Collector that accepts traces as JSON or protobuf.
struct TraceCollector {
    address: String,
    sent: Receiver<(String, Vec<u8>)>,
    spans: Vec<Value>,
}

impl TraceCollector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (sender, sent) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let sender = sender.clone();
                std::thread::spawn(move || take(stream.unwrap(), &sender));
            }
        });
        Self { address, sent, spans: Vec::new() }
    }

    /// Waits for a span that `is_it` accepts.
    #[track_caller]
    fn span(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            if let Some(found) = self.spans.iter().find(|span| is_it(span)) {
                return found.clone();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok((_, body)) = self.sent.recv_timeout(left) else {
                let names: Vec<&Value> = self.spans.iter().map(|span| &span["name"]).collect();
                panic!("the span was not sent; received: {names:?}");
            };
            let body: Value = serde_json::from_slice(&body).unwrap();
            for resource in body["resourceSpans"].as_array().unwrap() {
                let attributes = resource["resource"]["attributes"].as_array().unwrap();
                let name = json!({"key": "service.name", "value": {"stringValue": "menace"}});
                assert!(attributes.contains(&name), "{attributes:?}");
                let scopes = resource["scopeSpans"].as_array().unwrap().iter();
                self.spans.extend(scopes.flat_map(|scope| scope["spans"].as_array().unwrap().clone()));
            }
        }
    }

    #[track_caller]
    fn named(&mut self, name: &str) -> Value {
        self.span(|span| span["name"] == name)
    }
}

fn take(stream: TcpStream, sender: &Sender<(String, Vec<u8>)>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if line.trim().is_empty() {
                break;
            }
            head.push(line.trim().to_lowercase());
        }
        assert_eq!(head[0], "post /v1/traces http/1.1");
        let field = |name: &str| head.iter().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
        let mut body = vec![0; field("content-length: ").parse().unwrap()];
        reader.read_exact(&mut body).ok()?;
        let kind = field("content-type: ");
        reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").ok()?;
        sender.send((kind, body)).ok()?;
    }
}

fn attribute(span: &Value, name: &str) -> Value {
    let found = span["attributes"].as_array().unwrap().iter().find(|one| one["key"] == name);
    found.unwrap_or_else(|| panic!("{span} has no {name}"))["value"].clone()
}

/// A 64-bit number, which OTLP may encode as text.
fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .or_else(|| value.as_str()?.parse().ok())
        .unwrap_or_else(|| panic!("{value} is not a number"))
}

const JSON: (&str, &str) = ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");

#[test]
fn request_spans_have_the_parent_of_the_caller_and_children_of_their_own() {
    let mut collector = TraceCollector::start();
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address.as_str()),
        JSON,
        ("OTEL_BSP_SCHEDULE_DELAY", "50"),
    ];
    let server = TestServer::with_variables(&[], &variables);
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let headers = [("traceparent", parent), ("content-type", "application/json")];
    let made = server.ask_with("POST", "/api/sandboxes", &headers, b"{}");
    assert_eq!(made.status, 201, "{}", made.text());
    let front = collector.span(|span| span["parentSpanId"] == "b7ad6b7169203331");
    assert_eq!(
        (&front["name"], &front["traceId"]),
        (&"POST /api/sandboxes".into(), &"0af7651916cd43dd8448eb211c80319c".into())
    );
    assert_eq!(number(&attribute(&front, "http.response.status_code")["intValue"]), 201);
    let id = front["spanId"].clone();
    let daemon = collector.span(|span| span["parentSpanId"] == id);
    assert_eq!((&daemon["name"], &daemon["traceId"]), (&"POST /api/sandboxes".into(), &front["traceId"]));
    // Span names contain the route, not the id of the sandbox.
    let path = format!("/api/sandboxes/{}", made.json()["sandbox_id"].as_str().unwrap());
    assert_eq!(server.ask("GET", &path).status, 200);
    let read = collector.named("GET /api/sandboxes/{id}");
    assert_eq!(attribute(&read, "url.path")["stringValue"], path.as_str());
}

const SHOP: &str = "def mean(prices: list[float]) -> float:\n    return sum(prices) / len(prices)\n";

fn repository() -> RepositoryTree {
    RepositoryTree::with(&[("shop.py", SHOP)])
}

const SHORT: [&str; 6] = ["--python", "/usr/bin/python3", "--preset-count", "1", "--max-iterations", "1"];

#[test]
fn a_run_emits_a_span_per_stage() {
    let mut collector = TraceCollector::start();
    let ended = repository()
        .on_repository("auto", SHORT)
        .variable("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.address)
        .variable(JSON.0, JSON.1)
        .wall_limit(Duration::from_mins(3))
        .run();
    ended.success();
    let below = |collector: &mut TraceCollector, above: &Value, name: &str| {
        let above = above["spanId"].clone();
        collector.span(|span| span["name"] == name && span["parentSpanId"] == above)
    };
    let auto = collector.named("auto");
    assert!(auto["parentSpanId"].as_str().is_none_or(str::is_empty), "{auto}");
    let cycle = below(&mut collector, &auto, "cycle");
    let run = below(&mut collector, &cycle, "run");
    let calls = below(&mut collector, &run, "calls");
    assert!(number(&attribute(&calls, "planned")["intValue"]) > 10, "{calls}");
    let improve = below(&mut collector, &cycle, "improve");
    let judge = below(&mut collector, &improve, "judge");
    assert_eq!(attribute(&judge, "section")["stringValue"], "shop:mean");
    let nanoseconds = |span: &Value, name: &str| number(&span[name]);
    for (above, span) in [(&auto, &cycle), (&cycle, &run), (&run, &calls), (&improve, &judge)] {
        let is_within = nanoseconds(above, "startTimeUnixNano") <= nanoseconds(span, "startTimeUnixNano")
            && nanoseconds(span, "endTimeUnixNano") <= nanoseconds(above, "endTimeUnixNano");
        assert!(is_within, "{span} is not within {above}");
    }
}

#[test]
fn protobuf_is_the_default_and_a_missing_collector_is_reported() {
    let collector = TraceCollector::start();
    let tree = repository();
    let run = |endpoint: &str| {
        let short = ["--python", "/usr/bin/python3", "--preset-count", "0"];
        tree.on_repository("run", short).variable("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint).run()
    };
    // The run finds a failure.
    run(&collector.address).exits_with(1);
    let (kind, body) = collector.sent.recv_timeout(Duration::from_secs(10)).unwrap();
    assert!(kind == "application/x-protobuf" && !body.is_empty(), "{kind}");
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    run(&format!("http://{closed}"))
        .exits_with(1)
        .stderr_contains(&["OTEL_EXPORTER_OTLP_ENDPOINT: spans are lost"]);
    run("localhost:4317").exits_with(2).stderr_contains(&["is not an HTTP address", "hint: "]);
}

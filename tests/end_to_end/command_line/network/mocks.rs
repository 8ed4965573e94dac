//! Mocks, as real clients see them.

use menace_tests::RepositoryTree;
use serde_json::{Value, json};

use super::{RecordedFlows, has, interpreter, python, run};

/// Response body with the bytes that a faulty mock would change.
const BODY: &str = "naïve\r\n\t\"quoted\" \\ \u{1f40d}\n";

/// A tree with a rules file, and the network option for it.
pub(super) fn mocked(rules: &Value) -> (RepositoryTree, String) {
    let tree = RepositoryTree::new();
    let path = tree.write_in_work("rules.json", rules.to_string());
    let network = format!("mock={}", path.display());
    (tree, network)
}

fn text() -> (RepositoryTree, String) {
    mocked(&json!([
        {"host": "api.test.example", "path": "/v1/*", "respond": {
            "status": 201, "headers": {"X-Served-By": "a mock"}, "body": BODY
        }},
    ]))
}

/// Runs a client that prints the status, the header and the body as JSON, for HTTP and for HTTPS.
fn client_gets_it(command: impl Fn(&str) -> Vec<String>) -> Vec<RecordedFlows> {
    let (tree, network) = text();
    ["http", "https"]
        .map(|scheme| {
            let command = command(&format!("{scheme}://api.test.example/v1/text?page=2"));
            let command: Vec<&str> = command.iter().map(String::as_str).collect();
            let (printed, flows) = run(&tree, &network, &[], &command);
            let got: Value = serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{command:?}: {printed}"));
            assert_eq!(got, json!([201, "a mock", BODY]), "{command:?}");
            let [request] = flows.requests()[..] else { panic!("not one request: {flows:?}") };
            let expected = json!({
                "method": "GET", "host": "api.test.example", "path": "/v1/text?page=2", "status": 201, "rule": 0
            });
            assert_eq!(*request, expected);
            assert_eq!(flows.one("tcp")["verdict"], "mocked");
            flows
        })
        .into()
}

fn python_gets_it(interpreter: &str, program: &str) {
    let program = |url: &str| {
        format!("import json\nurl = '{url}'\n{program}\nprint(json.dumps([status, header, body]))")
    };
    client_gets_it(|url| vec![interpreter.into(), "-c".into(), program(url)]);
}

#[test]
fn urllib_gets_the_answer_unchanged() {
    python_gets_it(
        interpreter(),
        "
import urllib.request
answer = urllib.request.urlopen(url, timeout=10)
status, header, body = answer.status, answer.headers['X-Served-By'], answer.read().decode()
",
    );
}

#[test]
fn sockets_get_the_answer_unchanged() {
    python_gets_it(
        interpreter(),
        r"
import socket, ssl
scheme, _, host, path = url.split('/', 3)
opened = socket.create_connection((host, 443 if scheme == 'https:' else 80), timeout=10)
if scheme == 'https:':
    opened = ssl.create_default_context().wrap_socket(opened, server_hostname=host)
opened.sendall(f'GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n'.encode())
head, body = b''.join(iter(lambda: opened.recv(7), b'')).decode().split('\r\n\r\n', 1)
first, *lines = head.split('\r\n')
headers = dict(line.split(': ', 1) for line in lines)
assert headers['content-length'] == str(len(body.encode())), headers
status, header = int(first.split()[1]), headers['x-served-by']
",
    );
}

/// Libraries that are not in the standard library, where this host has them.
#[test]
fn libraries_for_python_get_the_answer_unchanged() {
    let read =
        "status, header, body = answer.status_code, answer.headers['X-Served-By'], answer.content.decode()";
    let aiohttp = "
import aiohttp, asyncio
async def get():
    async with aiohttp.ClientSession(trust_env=True) as session, session.get(url) as answer:
        return answer.status, answer.headers['X-Served-By'], (await answer.read()).decode()
status, header, body = asyncio.run(get())
";
    for (library, program) in [
        ("requests", &*format!("import requests\nanswer = requests.get(url, timeout=10)\n{read}")),
        ("httpx", &*format!("import httpx\nanswer = httpx.get(url, timeout=10)\n{read}")),
        ("aiohttp", aiohttp),
    ] {
        if has(&["python3", "-c", &format!("import {library}")]) {
            python_gets_it("python3", program);
        }
    }
}

const CURL: &str = r#"{ curl --silent --show-error --max-time 10 --dump-header headers --output body "$@" &&
    python3 -c '
import json
head = open("headers").read().splitlines()
headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
print(json.dumps([int(head[0].split()[1]), headers["x-served-by"], open("body", newline="").read()]))
'; }"#;

fn curl_gets_it(options: &str) -> Vec<RecordedFlows> {
    let script = CURL.replace("python3", interpreter());
    client_gets_it(|url| vec!["sh".into(), "-c".into(), format!("set -- {options} '{url}'\n{script}")])
}

#[test]
fn curl_gets_the_answer_unchanged() {
    if has(&["curl", "--version"]) {
        curl_gets_it("--http1.1");
    }
}

#[test]
fn curl_gets_the_answer_over_http2() {
    // Without TLS there is no ALPN, so the client has to know the version in advance.
    if has(&["sh", "-c", "curl --version | grep -q HTTP2"]) {
        curl_gets_it("--http2-prior-knowledge");
        let (tree, network) = text();
        let versions =
            ["sh", "-c", "curl -sS -o /dev/null -w '%{http_version}' https://api.test.example/v1/"];
        assert_eq!(run(&tree, &network, &[], &versions).0, "2", "the mock prefers HTTP/2");
    }
}

#[test]
fn fetch_of_node_gets_the_answer_unchanged() {
    if has(&["node", "-e", "fetch"]) {
        client_gets_it(|url| {
            let program = format!(
                "fetch('{url}').then(async answer => console.log(JSON.stringify(
                    [answer.status, answer.headers.get('x-served-by'), await answer.text()])))"
            );
            vec!["node".into(), "-e".into(), program]
        });
    }
}

#[test]
fn node_gets_concurrent_answers_over_http2() {
    if !has(&["node", "-e", "require('node:http2')"]) {
        return;
    }
    let (tree, network) = text();
    let program = "
const session = require('node:http2').connect('https://api.test.example');
const get = path => new Promise((resolve, reject) => {
    const request = session.request({':path': path});
    let status, body = '';
    request.setEncoding('utf8');
    request.on('response', headers => { status = headers[':status']; });
    request.on('data', part => { body += part; });
    request.on('end', () => resolve([status, body]));
    request.on('error', reject);
});
Promise.all(['/v1/a', '/v1/b', '/v2/c'].map(get)).then(answers => {
    console.log(JSON.stringify(answers));
    session.close();
});
";
    let (printed, flows) = run(&tree, &network, &[], &["node", "-e", program]);
    let got: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((&got[0], &got[1], &got[2][0]), (&json!([201, BODY]), &json!([201, BODY]), &json!(404)));
    assert_eq!(flows.one("tcp")["requests"].as_array().unwrap().len(), 3);
}

#[test]
fn a_connection_is_used_again_and_each_request_is_recorded() {
    let (tree, network) = mocked(&json!([
        {"method": "POST", "path": "/items", "body": "\"name\"", "respond": {"status": 201, "json": {"id": 7}}},
        {"path": "/items/*", "headers": {"Authorization": "Bearer *"}, "respond": {"json": [1, 2.5, null, "ü"]}},
    ]));
    let program = "
import http.client
connection = http.client.HTTPConnection('api.test.example', timeout=10)
def ask(method, path, body=None, headers={}):
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    print(answer.status, answer.headers['Content-Type'], answer.read().decode())
ask('POST', '/items', '{\"name\": 1}')
ask('POST', '/items', '{}')
ask('GET', '/items/7', headers={'Authorization': 'Bearer token'})
ask('GET', '/items/7')
";
    let (printed, flows) = run(&tree, &network, &[], &[interpreter(), "-I", "-c", program]);
    let not_found = r#"404 application/json {"error":"Not Found","status":404}"#;
    let expected = [
        r#"201 application/json {"id":7}"#,
        not_found,
        r#"200 application/json [1,2.5,null,"ü"]"#,
        not_found,
    ];
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
    let rules: Vec<&Value> =
        flows.one("tcp")["requests"].as_array().unwrap().iter().map(|asked| &asked["rule"]).collect();
    assert_eq!(rules, [&json!(0), &Value::Null, &json!(1), &Value::Null]);
}

#[test]
fn a_file_of_the_host_is_an_answer_and_is_not_in_the_sandbox() {
    let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(3_000_000).collect();
    let (tree, network) = mocked(&json!([{"path": "/data", "respond": {"file": "data.bin"}}]));
    tree.write_in_work("data.bin", &bytes);
    let program = "
import os, urllib.request
answer = urllib.request.urlopen('https://files.test.example/data', timeout=10)
assert answer.read() == bytes(i % 256 for i in range(3_000_000))
print(answer.headers['Content-Type'], os.listdir('.'))
";
    let (printed, _) = run(&tree, &network, &[], &[interpreter(), "-I", "-c", program]);
    assert_eq!(printed, "application/octet-stream []\n");
}

#[test]
fn hosts_that_no_rule_names_are_refused() {
    let (tree, network) = mocked(&json!([{"host": "*.test.example", "port": 8080}]));
    let program = "
import socket
for host, port in (('api.test.example', 8080), ('api.test.example', 80), ('test.example', 8080), ('10.0.0.1', 8080)):
    try:
        socket.create_connection((host, port), timeout=5)
        print('reached')
    except OSError as error:
        print(type(error).__name__)
";
    let (printed, _) = run(&tree, &network, &[], &[interpreter(), "-I", "-c", program]);
    let expected = ["reached", "ConnectionRefusedError", "gaierror", "ConnectionRefusedError"];
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_client_with_its_own_trust_store_rejects_a_mock() {
    let (tree, network) = text();
    let program = "
import ssl, socket
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
opened = socket.create_connection(('api.test.example', 443), timeout=10)
try:
    context.wrap_socket(opened, server_hostname='api.test.example')
except ssl.SSLCertVerificationError as error:
    print('refused')
";
    assert_eq!(run(&tree, &network, &[], &[interpreter(), "-I", "-c", program]).0, "refused\n");
    // The certificate authority exists for one sandbox, and a network without mocks has none.
    let trusted = "import os\nprint('SSL_CERT_FILE' in os.environ)";
    assert_eq!(python("deny", &[], trusted).0, "False\n");
}

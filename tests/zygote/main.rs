//! Isolated Python calls, on real interpreters.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod contract;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use menace_model::calls::{CallSpec, RawOutcome, Recipe};
use menace_model::harness::{CallReply, CallRequest, CallResult, HarnessReply, HarnessRequest};
use menace_sandbox::native::{NativeBackend, NativeOptions, Zygote, ZygoteOptions};
use menace_tests::menace_binary;
use serde_json::{Value, json};

use self::contract::{a_forged_reply_is_malformed, every_request_has_its_reply};

/// Module whose functions are called.
const MODULE: &str = r#"
import os, pathlib, signal, socket, subprocess, sys, time

STATE = []

def add(left, right=1):
    return left + right

def remember(value):
    STATE.append(value)
    return len(STATE)

def write(name, text):
    pathlib.Path(name).write_text(text)
    return sorted(str(path) for path in pathlib.Path("/workspace").iterdir())

def write_temporary():
    there = os.listdir("/tmp")
    pathlib.Path("/tmp/seen").write_text("x")
    return there

def speak():
    print("to stdout")
    print("to stderr", file=sys.stderr)

def serve(port):
    with socket.socket() as server:
        server.bind(("127.0.0.1", port))
        server.listen()
        with socket.create_connection(("127.0.0.1", port)) as client:
            accepted = server.accept()[0]
            client.sendall(b"x")
            received = accepted.recv(1)
            # The side that closes first keeps the address in TIME_WAIT for a minute.
            accepted.close()
            return client.recv(1) == b"" and received == b"x"

def numbers():
    child = subprocess.Popen(["true"])
    child.wait()
    return [os.getpid(), child.pid]

def flood():
    sys.stdout.write("x" * (4 << 20))

def fail(text):
    raise KeyError(text)

def kill_itself():
    os.kill(os.getpid(), signal.SIGKILL)

def leave(code):
    os._exit(code)

def exit_politely():
    sys.exit(3)

def loop():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen(["sleep", "100"], start_new_session=True)
    while True:
        pass

def eat():
    return len(bytearray(1 << 30))

def fork_bomb():
    count = 0
    try:
        while True:
            if os.fork() == 0:
                time.sleep(100)
            count += 1
    except OSError:
        return count

def read_stdin():
    return sys.stdin.read()

def look():
    status = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines())
    return {
        "capabilities": [status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")],
        "no_new_privs": status["NoNewPrivs"],
        "seccomp": status["Seccomp"],
        "pids": sorted(int(name) for name in os.listdir("/proc") if name.isdigit()),
        "descriptors": sorted(int(name) for name in os.listdir("/proc/self/fd")),
        "environment": sorted(os.environ),
        "directory": os.getcwd(),
        "namespaces": {name: os.readlink("/proc/self/ns/" + name) for name in os.listdir("/proc/self/ns")},
    }

class Cart:
    @staticmethod
    def total(prices):
        return sum(prices)
"#;

/// Request for a call of a function.
fn request_of(module: &str, function: &str, arguments: &[Value]) -> CallRequest {
    CallRequest {
        module: module.into(),
        function: function.into(),
        seed: 1,
        arguments: arguments.iter().map(Recipe::of_plain_json).collect(),
        ..CallRequest::default()
    }
}

fn call_of(module: &str, function: &str, arguments: &[Value]) -> CallSpec {
    CallSpec::new(HarnessRequest::Call(request_of(module, function, arguments)))
}

/// Reply of the harness to a call.
fn reply_of(outcome: RawOutcome) -> CallReply {
    match outcome.reply {
        Some(HarnessReply::Call(reply)) => reply,
        _ => panic!("{outcome:?}"),
    }
}

struct ZygoteFixture {
    repository: tempfile::TempDir,
    zygote: Zygote,
    // Dropped after the zygote.
    _backend: NativeBackend,
}

impl ZygoteFixture {
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut ZygoteOptions)) -> Self {
        let repository = tempfile::tempdir().unwrap();
        fs::write(repository.path().join("shop.py"), MODULE).unwrap();
        fs::write(repository.path().join("broken.py"), "import nothing_of_that_name\n").unwrap();
        let options = NativeOptions { executable: menace_binary().to_owned(), ..NativeOptions::default() };
        let backend = NativeBackend::start(&options).await.unwrap();
        let mut options = ZygoteOptions::new(repository.path());
        change(&mut options);
        let zygote = Zygote::start(&backend, options).await.unwrap();
        Self { repository, zygote, _backend: backend }
    }

    async fn call(&self, function: &str, arguments: &[Value]) -> RawOutcome {
        self.zygote.call(&call_of("shop", function, arguments)).await.unwrap()
    }

    async fn value(&self, function: &str, arguments: &[Value]) -> Value {
        let reply = reply_of(self.call(function, arguments).await);
        match reply.returned() {
            Some(value) => value.json.clone().unwrap_or_default(),
            None => panic!("{reply:?}"),
        }
    }
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

async fn a_call_returns_its_value() {
    let fixture = ZygoteFixture::new().await;
    assert_eq!(fixture.value("add", &[json!(2), json!(3)]).await, json!(5));
    let keywords = vec![("right".to_owned(), Recipe::text("ß"))];
    let request = CallRequest { keywords, ..request_of("shop", "add", &[json!("a")]) };
    let outcome = fixture.zygote.call(&CallSpec::new(HarnessRequest::Call(request))).await.unwrap();
    assert_eq!((outcome.exit_code, outcome.signal), (Some(0), None));
    let reply = reply_of(outcome);
    let value = reply.returned().unwrap();
    assert_eq!((value.text.as_deref(), value.type_name.as_deref()), (Some("'aß'"), Some("str")));
    assert_eq!(value.json, Some(json!("aß")));
    assert!(reply.took_ms.unwrap() > 0.0, "{reply:?}");
    assert_eq!(fixture.value("Cart.total", &[json!([1, 2, 3])]).await, json!(6));
}

async fn exceptions_are_classified_by_stage() {
    let fixture = ZygoteFixture::new().await;
    let failed = reply_of(fixture.call("fail", &[json!("gone")]).await);
    let CallResult::Raised { error, .. } = failed.result else { panic!("{failed:?}") };
    assert_eq!((error.exception.as_str(), error.message.as_str()), ("KeyError", "'gone'"));
    assert_eq!(error.frames[0].0, "shop.py");
    assert!(error.raised);
    let missing = reply_of(fixture.call("no_such_function", &[]).await);
    let why = "there is no no_such_function after the import";
    assert_eq!(missing, CallReply::of(CallResult::NotFound(why.into())));
    let broken = reply_of(fixture.zygote.call(&call_of("broken", "x", &[])).await.unwrap());
    let CallResult::ImportFailed(error) = broken.result else { panic!("{broken:?}") };
    assert_eq!(error.exception, "ModuleNotFoundError");
    let exited = reply_of(fixture.call("exit_politely", &[]).await);
    let CallResult::Raised { error, .. } = exited.result else { panic!("{exited:?}") };
    assert_eq!(error.exception, "SystemExit");
}

async fn calls_are_isolated_from_each_other() {
    let fixture = ZygoteFixture::new().await;
    for _ in 0..2 {
        assert_eq!(fixture.value("remember", &[json!(1)]).await, json!(1));
        assert_eq!(fixture.value("write_temporary", &[]).await, json!([]));
        let there = fixture.value("write", &[json!("new.txt"), json!("x")]).await;
        assert!(there.as_array().unwrap().contains(&json!("/workspace/new.txt")), "{there}");
    }
    assert_eq!(names(fixture.repository.path()), ["broken.py", "shop.py"], "the repository was written to");
}

async fn a_call_is_isolated() {
    let fixture = ZygoteFixture::new().await;
    let seen = fixture.value("look", &[]).await;
    assert_eq!(seen["capabilities"], json!(vec!["0000000000000000"; 5]));
    assert_eq!((&seen["no_new_privs"], &seen["seccomp"]), (&json!("1"), &json!("2")));
    // The init process is hidden; process 2 makes the call.
    assert_eq!(seen["pids"], json!([2]));
    assert_eq!(seen["directory"], "/workspace");
    assert_eq!(seen["environment"].as_array().unwrap().iter().filter(|name| *name == "HOME").count(), 1);
    // The standard streams, the channel to menace, and the directory that is being listed.
    assert_eq!(seen["descriptors"].as_array().unwrap().len(), 5, "{}", seen["descriptors"]);
    for (kind, link) in seen["namespaces"].as_object().unwrap() {
        let ours = fs::read_link(format!("/proc/self/ns/{kind}")).unwrap();
        let is_own = ours.to_str() != link.as_str();
        // The time namespace is that of the base sandbox, which is not the host's either.
        assert!(is_own, "{kind} is shared with the host");
    }
}

async fn ports_and_process_ids_are_reset_between_calls() {
    let fixture = ZygoteFixture::with(|options| options.parallel = 1).await;
    let first = fixture.value("numbers", &[]).await;
    for _ in 0..3 {
        assert_eq!(fixture.value("serve", &[json!(8000)]).await, json!(true));
        assert_eq!(fixture.value("numbers", &[]).await, first);
    }
}

async fn an_abandoned_call_ends_and_frees_its_slot() {
    let fixture = ZygoteFixture::with(|options| options.parallel = 1).await;
    let call = call_of("shop", "loop", &[]);
    for _ in 0..2 {
        tokio::time::timeout(Duration::from_millis(200), fixture.zygote.call(&call)).await.unwrap_err();
        assert_eq!(fixture.value("add", &[json!(1)]).await, json!(2));
    }
    assert_eq!(fixture.zygote.restarts(), 0, "the interpreter must not be restarted");
}

async fn output_is_kept_up_to_the_limit() {
    let fixture = ZygoteFixture::new().await;
    let spoken = fixture.call("speak", &[]).await;
    assert_eq!((spoken.stdout.as_str(), spoken.stderr.as_str()), ("to stdout\n", "to stderr\n"));
    let flooded = fixture.call("flood", &[]).await;
    assert!(flooded.truncated && flooded.stdout.len() == 512 << 10, "{}", flooded.stdout.len());
    assert_eq!(flooded.exit_code, Some(0));
    assert_eq!(fixture.value("read_stdin", &[]).await, json!(""));
}

async fn every_process_exit_is_an_outcome() {
    let fixture = ZygoteFixture::new().await;
    let killed = fixture.call("kill_itself", &[]).await;
    assert_eq!((killed.reply, killed.exit_code, killed.signal), (None, None, Some(9)));
    let left = fixture.call("leave", &[json!(7)]).await;
    assert_eq!((left.reply, left.exit_code, left.signal), (None, Some(7), None));
    assert_eq!(fixture.value("add", &[json!(1)]).await, json!(2));
    assert_eq!(fixture.zygote.restarts(), 0);
}

async fn a_timeout_includes_child_processes() {
    let fixture = ZygoteFixture::new().await;
    let began = Instant::now();
    let limit = Duration::from_millis(300);
    let outcome = fixture.zygote.call(&call_of("shop", "loop", &[]).timeout(limit)).await.unwrap();
    assert!(outcome.timed_out, "{outcome:?}");
    assert_eq!((outcome.reply, outcome.exit_code, outcome.signal), (None, None, None));
    let late = began.elapsed().saturating_sub(limit);
    assert!(late < Duration::from_millis(100), "{late:?} late");
}

async fn memory_and_processes_are_limited() {
    let fixture = ZygoteFixture::with(|options| {
        options.limits.pids = Some(32);
        if rustix::process::geteuid().is_root() {
            options.limits.memory = Some(128 << 20);
        }
    })
    .await;
    let count = fixture.value("fork_bomb", &[]).await;
    assert!((1..=32).contains(&count.as_u64().unwrap()), "{count}");
    let eaten = fixture.call("eat", &[]).await;
    if rustix::process::geteuid().is_root() {
        assert!(eaten.oom && eaten.signal == Some(9), "{eaten:?}");
    } else {
        let reply = eaten.reply.as_ref().and_then(HarnessReply::as_call);
        let error = reply.and_then(CallReply::exception).unwrap();
        assert_eq!(error.exception, "MemoryError", "{eaten:?}");
    }
    assert!(eaten.usage.peak_rss_bytes.unwrap() > 1 << 20);
    assert_eq!(fixture.value("add", &[json!(1)]).await, json!(2));
}

async fn concurrent_calls_get_their_own_results() {
    let fixture = Arc::new(ZygoteFixture::new().await);
    let calls = (0..64).map(|number| {
        let fixture = Arc::clone(&fixture);
        tokio::spawn(async move { (number, fixture.value("add", &[json!(number), json!(1)]).await) })
    });
    for call in calls.collect::<Vec<_>>() {
        let (number, value) = call.await.unwrap();
        assert_eq!(value, json!(number + 1));
    }
}

async fn a_missing_interpreter_is_named_in_the_error() {
    let repository = tempfile::tempdir().unwrap();
    let options = NativeOptions { executable: menace_binary().to_owned(), ..NativeOptions::default() };
    let backend = NativeBackend::start(&options).await.unwrap();
    let mut options = ZygoteOptions::new(repository.path());
    options.python = "no-such-python".into();
    let error =
        Zygote::start(&backend, options).await.err().expect("there is no such interpreter").to_string();
    assert!(error.contains("no-such-python"), "{error}");
}

/// Runs a case in its own runtime.
fn run(case: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(case);
}

/// Generates a test for every case, as one user.
macro_rules! zygote_as {
    ($user:ident, $run_as:path, $($case:ident)*) => {
        mod $user {
            $(
                #[test]
                fn $case() {
                    $run_as(concat!(module_path!(), "::", stringify!($case)), || crate::run(crate::$case()));
                }
            )*
        }
    };
}

macro_rules! zygote {
    ($($case:ident)*) => {
        zygote_as!(native, menace_tests::as_caller, $($case)*);
        zygote_as!(native_rootless, menace_tests::as_unprivileged_user, $($case)*);
    };
}

zygote! {
    a_call_returns_its_value
    exceptions_are_classified_by_stage
    calls_are_isolated_from_each_other
    a_call_is_isolated
    ports_and_process_ids_are_reset_between_calls
    an_abandoned_call_ends_and_frees_its_slot
    output_is_kept_up_to_the_limit
    every_process_exit_is_an_outcome
    a_timeout_includes_child_processes
    memory_and_processes_are_limited
    concurrent_calls_get_their_own_results
    a_missing_interpreter_is_named_in_the_error
    every_request_has_its_reply
    a_forged_reply_is_malformed
}

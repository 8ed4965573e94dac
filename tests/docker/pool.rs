//! The container pool: containers are used once, with the requested limits, and removed when idle.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use menace_model::sandbox::{SandboxLimits, SandboxSpec, SandboxUser, WorkspaceContent};
use menace_sandbox::docker::{
    DockerBackend, DockerOptions, PoolEvent, PoolObserver, PoolOptions, PoolRemovalReason,
};
use menace_sandbox::{Backend, SandboxError};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::engine_queries::{containers, docker, inspect};
use crate::proxy::EngineProxy;
use crate::{PROMPT, connect, read, with_engine};

/// Records pool events.
struct PoolEventRecorder {
    heard: UnboundedSender<PoolEvent>,
    keep: Mutex<BTreeSet<String>>,
}

impl PoolObserver for PoolEventRecorder {
    fn on_event(&self, event: PoolEvent) {
        drop(self.heard.send(event));
    }

    fn sandboxes_to_keep(&self) -> io::Result<BTreeSet<String>> {
        Ok(self.keep.lock().unwrap().clone())
    }
}

/// A backend with its own owner, and its recorded events.
struct PooledBackend {
    backend: DockerBackend,
    options: DockerOptions,
    recorder: Arc<PoolEventRecorder>,
    heard: UnboundedReceiver<PoolEvent>,
}

impl PooledBackend {
    async fn new(options: &DockerOptions, name: &str, pool: PoolOptions) -> Self {
        let options = DockerOptions { owner: format!("{name}-{}", std::process::id()), ..options.clone() };
        let (sender, heard) = unbounded_channel();
        let recorder = Arc::new(PoolEventRecorder { heard: sender, keep: Mutex::default() });
        let backend =
            DockerBackend::connect_with_pool(&options, pool, Arc::clone(&recorder) as _).await.unwrap();
        Self { backend, options, recorder, heard }
    }

    /// Waits for an event that `is_it` accepts.
    async fn until<T>(&mut self, what: &str, is_it: impl Fn(&PoolEvent) -> Option<T>) -> T {
        let mut before = Vec::new();
        let found = async {
            loop {
                let event = self.heard.recv().await.expect("the recorder is alive");
                if let Some(found) = is_it(&event) {
                    return found;
                }
                before.push(event);
            }
        };
        let found = tokio::time::timeout(PROMPT, found).await;
        found.unwrap_or_else(|_| panic!("{what} did not occur after {before:?}"))
    }

    async fn until_waiting(&mut self, count: usize) {
        let is_it = |event: &PoolEvent| {
            matches!(event, PoolEvent::Waiting { count: found, .. } if *found == count).then_some(())
        };
        self.until("that so many wait", is_it).await;
    }

    async fn until_removed(&mut self, why: PoolRemovalReason) -> String {
        let is_it = |event: &PoolEvent| match event {
            PoolEvent::Removed { why: found, name } if *found == why => Some(name.clone()),
            _ => None,
        };
        self.until(&format!("a removal, {why:?}"), is_it).await
    }

    /// Sandbox ids of the containers that wait in the pool.
    fn waiting(&self) -> Vec<String> {
        let all = containers(&self.options);
        let waiting = all.iter().filter(|one| one["Labels"]["menace_sandbox_pool"] == "1");
        waiting.map(|one| one["Labels"]["menace.sandbox"].as_str().unwrap().to_owned()).collect()
    }
}

fn one() -> PoolOptions {
    PoolOptions { size: 1, ..PoolOptions::default() }
}

fn limits(memory: u64, cpus: f64, pids: u64) -> SandboxLimits {
    SandboxLimits { memory: Some(memory), cpus: Some(cpus), pids: Some(pids), ..SandboxLimits::default() }
}

#[test]
fn a_pooled_container_is_used_with_the_requested_spec() {
    with_engine(|options| async move {
        let mut pooled = PooledBackend::new(&options, "warm", one()).await;
        let usual = SandboxSpec { limits: limits(256 << 20, 1.0, 100), ..SandboxSpec::default() };
        let first = pooled.backend.create(usual.clone()).await.unwrap();
        pooled.until_waiting(1).await;
        let waiting = pooled.waiting();
        assert_eq!(waiting.len(), 1, "{waiting:?}");
        assert_ne!(waiting[0], first.id());
        let other = SandboxSpec {
            limits: limits(64 << 20, 0.5, 20),
            environment: BTreeMap::from([("WHO".to_owned(), "me".to_owned())]),
            ..SandboxSpec::default()
        };
        let second = pooled.backend.create(other).await.unwrap();
        assert_eq!(second.id(), waiting[0]);
        assert_eq!(read(&*second, "echo $WHO; pwd; ls -A; id -u").await, "me\n/workspace\n1000\n");
        let made: Value = inspect(&options, second.id());
        let host = &made["HostConfig"];
        assert_eq!(
            (&host["Memory"], &host["MemorySwap"], &host["NanoCpus"], &host["PidsLimit"]),
            (&(64 << 20).into(), &(64 << 20).into(), &500_000_000.into(), &22.into())
        );
        assert_eq!(second.changes().await.unwrap().written, Vec::<String>::new());
        read(&*second, "echo secret > file").await;
        let taken = second.id().to_owned();
        second.destroy().await.unwrap();
        assert!(containers(&pooled.options).iter().all(|one| one["Labels"]["menace.sandbox"] != *taken));
        pooled.until_waiting(1).await;
        let third = pooled.backend.create(usual).await.unwrap();
        assert_ne!(third.id(), taken, "a used container must not be given out again");
        assert_eq!(read(&*third, "ls -A").await, "");
    });
}

#[test]
fn host_files_are_copied_into_a_pooled_container() {
    with_engine(|options| async move {
        let mut pooled = PooledBackend::new(
            &options,
            "files",
            PoolOptions { usual: Some(SandboxSpec::default()), ..one() },
        )
        .await;
        pooled.until_waiting(1).await;
        let waiting = pooled.waiting();
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("of_the_host"), "text").unwrap();
        let workspace = WorkspaceContent::CopyOnWrite(directory.path().to_owned());
        let sandbox =
            pooled.backend.create(SandboxSpec { workspace, ..SandboxSpec::default() }).await.unwrap();
        assert_eq!(vec![sandbox.id().to_owned()], waiting);
        assert_eq!(read(&*sandbox, "cat of_the_host; echo new > new").await, "text");
        assert_eq!(sandbox.changes().await.unwrap().written, ["/workspace/new"]);
    });
}

#[test]
fn idle_and_unhealthy_containers_are_removed() {
    with_engine(|options| async move {
        let usual = Some(SandboxSpec::default());
        let pool = PoolOptions { usual: usual.clone(), idle: Duration::ZERO, ..one() };
        let mut idle = PooledBackend::new(&options, "idle", pool).await;
        idle.until_waiting(1).await;
        let waiting = idle.waiting();
        idle.backend.remove_expired().await.unwrap();
        assert_eq!(vec![idle.until_removed(PoolRemovalReason::Idle).await], waiting);
        assert_eq!(containers(&idle.options), Vec::<Value>::new(), "it is replaced only on the next request");

        let pool = PoolOptions { usual: usual.clone(), lifetime: Duration::ZERO, ..one() };
        let mut old = PooledBackend::new(&options, "lifetime", pool).await;
        old.until_waiting(1).await;
        old.backend.remove_expired().await.unwrap();
        let gone = old.until_removed(PoolRemovalReason::Lifetime).await;
        old.until_waiting(1).await;
        assert!(!old.waiting().contains(&gone), "another container waits in its place");

        let mut ill =
            PooledBackend::new(&options, "unhealthy", PoolOptions { usual: usual.clone(), ..one() }).await;
        ill.until_waiting(1).await;
        let waiting = ill.waiting();
        ill.backend.remove_expired().await.unwrap();
        assert_eq!(ill.waiting(), waiting, "healthy containers stay");
        docker(&options, &["kill", &format!("menace-{}", waiting[0])]);
        ill.backend.remove_expired().await.unwrap();
        assert_eq!(vec![ill.until_removed(PoolRemovalReason::Unhealthy).await], waiting);

        let mut large =
            PooledBackend::new(&options, "disk", PoolOptions { usual, disk: 64 << 10, ..one() }).await;
        large.until_waiting(1).await;
        let name = format!("menace-{}", large.waiting()[0]);
        large.backend.remove_expired().await.unwrap();
        assert_eq!(large.waiting().len(), 1, "an empty container is small enough");
        docker(&options, &["exec", &name, "sh", "-c", "head -c 300000 /dev/zero > /workspace/file"]);
        large.backend.remove_expired().await.unwrap();
        large.until_removed(PoolRemovalReason::Disk).await;
    });
}

#[test]
fn failed_removals_are_retried_and_reported() {
    with_engine(|options| async move {
        let directory = tempfile::tempdir().unwrap();
        let (socket, refusals) = (directory.path().join("engine.sock"), Arc::new(AtomicU32::new(1)));
        EngineProxy::refusing(&socket, &options.host, &refusals);
        let through = DockerOptions { host: format!("unix://{}", socket.display()), ..options.clone() };
        let usual = Some(SandboxSpec::default());
        let pool = PoolOptions { usual, idle: Duration::ZERO, alert_threshold: 2, ..one() };
        let mut stuck = PooledBackend::new(&through, "stuck", pool.clone()).await;
        stuck.until_waiting(1).await;
        let waiting = stuck.waiting();
        stuck.backend.remove_expired().await.unwrap();
        let killed = stuck.until("a kill", |event| match event {
            PoolEvent::ForceKilled { name } => Some(name.clone()),
            _ => None,
        });
        assert_eq!(vec![killed.await], waiting);
        assert_eq!(vec![stuck.until_removed(PoolRemovalReason::Idle).await], waiting);
        drop(stuck);

        let mut held = PooledBackend::new(&through, "held", pool).await;
        held.until_waiting(1).await;
        let waiting = held.waiting();
        // Each attempt asks twice: once to remove it, and again after it was killed.
        refusals.store(4, Ordering::SeqCst);
        for expected in [(1, false), (2, true)] {
            held.backend.remove_expired().await.unwrap();
            let failed = held.until("a failure", |event| match event {
                PoolEvent::RemovalFailed { attempts, is_alert, problem, .. } => {
                    assert!(problem.contains("it is held fast"), "{problem}");
                    Some((*attempts, *is_alert))
                }
                _ => None,
            });
            assert_eq!(failed.await, expected);
        }
        held.backend.remove_expired().await.unwrap();
        assert_eq!(
            vec![held.until_removed(PoolRemovalReason::Idle).await],
            waiting,
            "the removal is retried later"
        );
    });
}

#[test]
fn only_stale_networks_of_menace_are_removed() {
    with_engine(|options| async move {
        let mut pooled =
            PooledBackend::new(&options, "networks", PoolOptions { lifetime: Duration::ZERO, ..one() }).await;
        let known = pooled.backend.create(SandboxSpec::default()).await.unwrap();
        let name = |what: &str| format!("{what}-{}", pooled.options.owner);
        let (ours, kept, others) = (name("lost"), name("kept"), name("other"));
        // Labelled like the network of a sandbox of this owner; no sandbox `lost` is known.
        let labels = inspect(&pooled.options, known.id())["Config"]["Labels"].clone();
        let make = |network: &str, change: (&str, &str)| {
            let mut labels: BTreeMap<String, String> = serde_json::from_value(labels.clone()).unwrap();
            labels.insert(change.0.to_owned(), change.1.to_owned());
            let labels: Vec<String> =
                labels.iter().map(|(name, value)| format!("--label={name}={value}")).collect();
            let labels = labels.iter().map(String::as_str);
            let all: Vec<&str> = ["network", "create"].into_iter().chain(labels).chain([network]).collect();
            docker(&options, &all);
        };
        make(&ours, ("menace.sandbox", "lost"));
        make(&kept, ("menace.sandbox", known.id()));
        make(&others, ("menace.owner", "somebody"));
        pooled.backend.remove_stale().await.unwrap();
        pooled.until_removed(PoolRemovalReason::StaleNetwork).await;
        docker(&options, &["network", "inspect", &others, &kept]);
        docker(&options, &["network", "rm", &kept]);
        docker(&options, &["network", "rm", &others]);
        let left =
            Command::new("docker").args(["--host", &options.host, "network", "inspect", &ours]).output();
        assert!(!left.unwrap().status.success(), "the network must be removed");
    });
}

#[test]
fn a_pooled_container_that_died_is_not_used() {
    with_engine(|options| async move {
        let mut pooled = PooledBackend::new(
            &options,
            "died",
            PoolOptions { usual: Some(SandboxSpec::default()), ..one() },
        )
        .await;
        pooled.until_waiting(1).await;
        let dead = pooled.waiting();
        docker(&options, &["rm", "--force", &format!("menace-{}", dead[0])]);
        let sandbox = pooled.backend.create(SandboxSpec::default()).await.unwrap();
        assert_ne!(sandbox.id(), dead[0]);
        assert_eq!(read(&*sandbox, "echo alive").await, "alive\n");
        assert_eq!(vec![pooled.until_removed(PoolRemovalReason::Unhealthy).await], dead);
    });
}

#[test]
fn a_missing_image_is_retried_with_backoff_and_counted() {
    with_engine(|options| async move {
        let directory = tempfile::tempdir().unwrap();
        let missing = SandboxSpec { image: Some("no-such-image:1".into()), ..SandboxSpec::default() };
        let pool =
            PoolOptions { usual: Some(missing), size: 1, ..PoolOptions::in_directory(directory.path()) };
        let mut pooled = PooledBackend::new(&options, "failing", pool).await;
        for (count, wait) in [(1, 500), (2, 1000)] {
            let failed = |event: &PoolEvent| match event {
                PoolEvent::CreationFailed { image, failures, consecutive, backoff, problem, .. } => {
                    assert!(problem.contains("no-such-image:1"), "{problem}");
                    assert_eq!((image.as_str(), *failures, *consecutive), ("no-such-image:1", count, count));
                    Some(*backoff)
                }
                _ => None,
            };
            assert_eq!(pooled.until("a failure", failed).await, Duration::from_millis(wait));
        }
        let text = std::fs::read_to_string(directory.path().join("pool_failures.json")).unwrap();
        let written: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(written["version"], 1);
        assert_eq!(
            written["images"]["no-such-image:1"],
            serde_json::json!({ "failures": 2, "consecutive": 2 })
        );
    });
}

#[test]
fn pooled_containers_make_room_and_too_many_are_refused() {
    with_engine(|options| async move {
        let pool = PoolOptions { most: 2, usual: Some(SandboxSpec::default()), ..one() };
        let mut pooled = PooledBackend::new(&options, "most", pool).await;
        pooled.until_waiting(1).await;
        let waiting = pooled.waiting();
        let other = SandboxSpec { user: SandboxUser { uid: 7, gid: 7 }, ..SandboxSpec::default() };
        let first = pooled.backend.create(other.clone()).await.unwrap();
        assert_eq!(
            vec![pooled.until_removed(PoolRemovalReason::GaveWay).await],
            waiting,
            "another spec is requested now"
        );
        let second = pooled.backend.create(other.clone()).await.unwrap();
        let refused =
            pooled.backend.create(other.clone()).await.err().expect("the container limit is reached");
        assert!(matches!(refused, SandboxError::Full { there: 2, most: 2 }), "{refused}");
        pooled.until("the limit", |event| (*event == PoolEvent::LimitReached).then_some(())).await;
        first.destroy().await.unwrap();
        let third = pooled.backend.create(other).await.unwrap();
        assert_eq!(read(&*third, "id -u").await, "7\n");
        drop(second);
    });
}

#[test]
fn only_unknown_containers_are_removed() {
    with_engine(|options| async move {
        let mut pooled =
            PooledBackend::new(&options, "reaped", PoolOptions { lifetime: Duration::ZERO, ..one() }).await;
        let known = pooled.backend.create(SandboxSpec::default()).await.unwrap();
        pooled.until_waiting(1).await;
        let waiting = pooled.waiting();
        let unknown = connect(&pooled.options).await;
        let (lost, kept) = (
            unknown.create(SandboxSpec::default()).await.unwrap(),
            unknown.create(SandboxSpec::default()).await.unwrap(),
        );
        pooled.recorder.keep.lock().unwrap().insert(kept.id().to_owned());
        let foreign = connect(&DockerOptions { owner: "foreign".into(), ..options.clone() }).await;
        let foreign = foreign.create(SandboxSpec::default()).await.unwrap();
        pooled.backend.remove_stale().await.unwrap();
        pooled.until_removed(PoolRemovalReason::StaleContainer).await;
        assert_eq!(
            pooled.until_removed(PoolRemovalReason::StaleVolume).await,
            format!("{}-workspace", lost.id())
        );
        assert!(matches!(lost.stats().await, Err(SandboxError::Gone { .. })));
        for sandbox in [&known, &kept, &foreign] {
            assert_eq!(read(&**sandbox, "echo alive").await, "alive\n");
        }
        assert_eq!(pooled.waiting(), waiting);
    });
}

#[test]
fn the_next_process_removes_recorded_containers() {
    with_engine(|options| async move {
        let directory = tempfile::tempdir().unwrap();
        let active = |path: &Path| std::fs::read_to_string(path.join("active_containers.json")).unwrap();
        let pool = PoolOptions { size: 1, ..PoolOptions::in_directory(directory.path()) };
        let mut first = PooledBackend::new(&options, "active", pool.clone()).await;
        let sandbox = first.backend.create(SandboxSpec::default()).await.unwrap();
        let kept = first
            .backend
            .create(SandboxSpec { user: SandboxUser { uid: 7, gid: 7 }, ..SandboxSpec::default() });
        let kept = kept.await.unwrap();
        first.until_waiting(1).await;
        let text = active(directory.path());
        assert!(
            text.contains(sandbox.id()) && text.contains(kept.id()) && text.contains(&first.waiting()[0]),
            "{text}"
        );
        // A killed process runs no destructors, and does not record that its containers are gone.
        let (options, keep) = (first.options.clone(), BTreeSet::from([kept.id().to_owned()]));
        let PooledBackend { backend, .. } = first;
        let copy = tempfile::tempdir().unwrap();
        std::fs::copy(
            directory.path().join("active_containers.json"),
            copy.path().join("active_containers.json"),
        )
        .unwrap();
        let (sender, mut heard) = unbounded_channel();
        let recorder = Arc::new(PoolEventRecorder { heard: sender, keep: Mutex::new(keep) });
        let pool = PoolOptions { size: 0, ..PoolOptions::in_directory(copy.path()) };
        let second = DockerBackend::connect_with_pool(&options, pool, recorder).await.unwrap();
        let mut removed = 0;
        while let Ok(event) = heard.try_recv() {
            removed += usize::from(matches!(
                event,
                PoolEvent::Removed { why: PoolRemovalReason::StaleContainer, .. }
            ));
        }
        assert!(removed >= 2, "the sandbox and the pooled container: {removed}");
        assert!(matches!(sandbox.stats().await, Err(SandboxError::Gone { .. })));
        assert_eq!(read(&*kept, "echo alive").await, "alive\n");
        drop((backend, second));
    });
}

#[test]
fn no_pooled_container_remains_after_shutdown() {
    with_engine(|options| async move {
        let mut pooled =
            PooledBackend::new(&options, "end", PoolOptions { usual: Some(SandboxSpec::default()), ..one() })
                .await;
        pooled.until_waiting(1).await;
        pooled.backend.shut_down().await;
        assert_eq!(containers(&pooled.options), Vec::<Value>::new());
    });
}

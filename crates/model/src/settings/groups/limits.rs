//! Preset keys: name, limits and faults.

use std::time::Duration;

use crate::settings::{ByteCount, Cores};

choice! {
    /// Operating system of the code under test.
    pub enum OperatingSystem {
        /// The host's own, in a native sandbox or a container.
        Linux = "linux",
        /// A Windows container or virtual machine.
        Windows = "windows",
        /// A macOS virtual machine.
        MacOs = "macos",
    }
}

choice! {
    /// A fault requested by a preset.
    pub enum FailureModeSetting {
        /// Network latency, jitter and packet loss.
        HighLatency = "high_latency" | "high_latency_api" | "latency_spike",
        /// Hostile values of the declared types.
        HostileInput = "hostile_input",
        /// Wrong calls, wrong types, denied paths.
        UserMisuse = "user_misuse",
        /// Bursts of concurrent threads and tasks.
        ConcurrencySpike = "concurrency_spike",
        /// Fields are renamed, dropped, added or retyped.
        SchemaDrift = "schema_drift",
        /// An upstream service refuses, stalls or fails.
        FlakyUpstream = "flaky_upstream",
        /// Tight CPU and disk bandwidth limits.
        ResourceStrain = "resource_strain" | "io_cpu_strain",
        /// A tight CPU limit.
        Cpu = "cpu" | "cpu_spike",
        /// A tight memory limit.
        Memory = "memory",
        /// A small or failing disk.
        Disk = "disk",
        /// Written bytes are corrupted.
        DiskCorruption = "disk_corruption",
        /// Bandwidth throttling and packet loss.
        Network = "network",
        /// Unreachable hosts.
        NetworkPartition = "network_partition",
        /// A tight wall-clock limit.
        Timeout = "timeout",
        /// Broken authentication and corrupt payloads.
        ChaoticFailure = "chaotic_failure",
    }
}

settings! {
    /// Preset keys: limits and faults.
    pub struct LimitSettings;

    /// Name of the preset in results
    scenario_name: Option<String> = "" {
        env: "SCENARIO_NAME",
        status: Planned,
    }

    /// Operating system of the code under test; if unset, that of the host
    os_type: Option<OperatingSystem> = "" {
        env: "OS_TYPE",
        status: Planned,
    }

    /// CPU limit of a call, in cores, fractions allowed; if unset, no limit
    cpu_limit: Option<Cores> = "" {
        env: "CPU_LIMIT",
        status: Planned,
    }

    /// Memory limit of a call; if unset, no limit
    memory_limit: Option<ByteCount> = "" {
        env: "MEMORY_LIMIT",
        status: Planned,
    }

    /// Disk limit of the workspace of a call; if unset, no limit
    disk_limit: Option<ByteCount> = "" {
        env: "DISK_LIMIT",
        status: Planned,
    }

    /// Timeout of a call, in seconds; if unset, that of the preset
    timeout: Option<Duration> = "" {
        env: "TIMEOUT",
        status: Planned,
    }

    /// Faults to inject, separated by commas
    failure_modes: Vec<FailureModeSetting> = "" {
        env: "FAILURE_MODES",
        status: Planned,
    }

    /// Concurrent threads that call a section in a concurrency spike
    thread_burst: Option<u32> = "" {
        env: "THREAD_BURST",
        status: Planned,
    }

    /// Concurrent async tasks that call a section in a concurrency spike
    async_task_burst: Option<u32> = "" {
        env: "ASYNC_TASK_BURST",
        status: Planned,
    }

    /// Strictness of the simulated defences; higher is stricter
    security_level: Option<u32> = "" {
        env: "SECURITY_LEVEL",
        status: Planned,
    }

    /// Strength of the simulated attacker, usually 0 to 100
    threat_intensity: Option<u32> = "" {
        env: "THREAT_INTENSITY",
        status: Planned,
    }

    /// Number of fields considered for schema drift
    schema_checks: Option<u32> = "" {
        env: "SCHEMA_CHECKS",
        status: Planned,
    }

    /// Number of the considered fields that schema drift changes
    schema_mismatches: Option<u32> = "" {
        env: "SCHEMA_MISMATCHES",
        status: Planned,
    }

    /// Requests per round of a flaky upstream
    upstream_requests: Option<u32> = "" {
        env: "UPSTREAM_REQUESTS",
        status: Planned,
    }

    /// Requests per round that a flaky upstream fails
    upstream_failures: Option<u32> = "" {
        env: "UPSTREAM_FAILURES",
        status: Planned,
    }
}

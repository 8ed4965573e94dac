//! The keys of a preset that name it, limit a call and break things on purpose.

use std::time::Duration;

use crate::settings::{Bytes, Cores};

choice! {
    /// The operating system that code under test sees.
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
    /// A fault that a preset asks for.
    pub enum FailureMode {
        /// The network delays, jitters and drops.
        HighLatency = "high_latency" | "high_latency_api" | "latency_spike",
        /// Hostile values of the declared types.
        HostileInput = "hostile_input",
        /// Wrong calls, wrong types, forbidden paths.
        UserMisuse = "user_misuse",
        /// Bursts of threads and tasks.
        ConcurrencySpike = "concurrency_spike",
        /// Fields renamed, dropped, added, retyped.
        SchemaDrift = "schema_drift",
        /// An upstream service that refuses, stalls or errs.
        FlakyUpstream = "flaky_upstream",
        /// Starved of CPU and disk bandwidth.
        ResourceStrain = "resource_strain" | "io_cpu_strain",
        /// Starved of CPU.
        Cpu = "cpu" | "cpu_spike",
        /// A tighter memory limit.
        Memory = "memory",
        /// A small or failing disk.
        Disk = "disk",
        /// Writes that arrive changed.
        DiskCorruption = "disk_corruption",
        /// Throttling and loss.
        Network = "network",
        /// Hosts that cannot be reached.
        NetworkPartition = "network_partition",
        /// A tighter wall-clock limit.
        Timeout = "timeout",
        /// Broken authentication and corrupt payloads.
        ChaoticFailure = "chaotic_failure",
    }
}

settings! {
    /// Preset keys: limits and faults.
    pub struct LimitSettings;

    /// Name under which results of the preset are recorded
    scenario_name: Option<String> = "" {
        env: "SCENARIO_NAME",
        status: Planned,
    }

    /// Operating system that the code runs on; nothing means the host's
    os_type: Option<OperatingSystem> = "" {
        env: "OS_TYPE",
        status: Planned,
    }

    /// CPU cores a call may use, fractions allowed; nothing means no limit
    cpu_limit: Option<Cores> = "" {
        env: "CPU_LIMIT",
        status: Planned,
    }

    /// Memory a call may use; nothing means no limit
    memory_limit: Option<Bytes> = "" {
        env: "MEMORY_LIMIT",
        status: Planned,
    }

    /// Space the workspace of a call may take on disk; nothing means no limit
    disk_limit: Option<Bytes> = "" {
        env: "DISK_LIMIT",
        status: Planned,
    }

    /// How long a call may run before it is aborted, in seconds; nothing means the preset decides
    timeout: Option<Duration> = "" {
        env: "TIMEOUT",
        status: Planned,
    }

    /// Faults to inject, separated by commas
    failure_modes: Vec<FailureMode> = "" {
        env: "FAILURE_MODES",
        status: Planned,
    }

    /// Threads that call a section at once in a concurrency spike
    thread_burst: Option<u32> = "" {
        env: "THREAD_BURST",
        status: Planned,
    }

    /// Async tasks that call a section at once in a concurrency spike
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

    /// Fields that schema drift considers
    schema_checks: Option<u32> = "" {
        env: "SCHEMA_CHECKS",
        status: Planned,
    }

    /// How many of the considered fields schema drift changes
    schema_mismatches: Option<u32> = "" {
        env: "SCHEMA_MISMATCHES",
        status: Planned,
    }

    /// Upstream requests in one round of a flaky upstream
    upstream_requests: Option<u32> = "" {
        env: "UPSTREAM_REQUESTS",
        status: Planned,
    }

    /// How many requests of a round a flaky upstream fails
    upstream_failures: Option<u32> = "" {
        env: "UPSTREAM_FAILURES",
        status: Planned,
    }
}

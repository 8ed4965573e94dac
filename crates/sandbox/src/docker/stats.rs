//! Resource usage of a container as the engine reports it.

use bollard::models::{ContainerCpuStats, ContainerStatsResponse};
use bollard::query_parameters::StatsOptions;
use futures_util::StreamExt;
use menace_model::sandbox::{ResourceUsage, SandboxStats};

use super::handle::ContainerHandle;
use crate::SandboxError;

/// Current resource usage. `has_quota` tells whether a CPU limit can have throttled processes.
pub(super) async fn stats(handle: &ContainerHandle, has_quota: bool) -> Result<SandboxStats, SandboxError> {
    let counted = query_stats(handle).await?;
    let (user, system) = counted.cpu_stats.as_ref().and_then(processor_time).unzip();
    let throttled = counted.cpu_stats.as_ref().and_then(|cpu| cpu.throttling_data.as_ref()?.throttled_time);
    let memory = counted.memory_stats.as_ref();
    Ok(SandboxStats {
        usage: ResourceUsage {
            cpu_user_ms: user,
            cpu_system_ms: system,
            // With cgroup v2 the engine does not report it.
            peak_rss_bytes: memory.and_then(|memory| memory.max_usage).filter(|bytes| *bytes > 0),
            io_read_bytes: device_bytes(&counted, "read"),
            io_write_bytes: device_bytes(&counted, "write"),
            cpu_throttled_ms: throttled.filter(|_| has_quota).map(|time| time as f64 / 1e6),
        },
        memory_bytes: memory.and_then(|memory| memory.usage),
        pids: commands(&counted),
        disk_bytes: None,
    })
}

/// Number of processes and threads in a container besides the init process, if the engine counts them.
pub(super) async fn processes(handle: &ContainerHandle) -> Result<Option<u64>, SandboxError> {
    Ok(commands(&query_stats(handle).await?))
}

async fn query_stats(handle: &ContainerHandle) -> Result<ContainerStatsResponse, SandboxError> {
    const ACTION: &str = "query the resource usage of a container";
    handle.check_alive()?;
    let options = StatsOptions { stream: false, one_shot: true };
    let mut answers = Box::pin(handle.engine.docker.stats(&handle.container, Some(options)));
    match answers.next().await {
        // The engine answers with zeros for a container that has ended.
        Some(Ok(counted)) if commands(&counted).is_some() => Ok(counted),
        Some(Ok(counted)) => handle.running_state().await.map(|_| counted),
        Some(Err(error)) => Err(handle.failed(ACTION, error).await),
        None => Err(handle.gone()),
    }
}

/// Number of processes without the init process, which belongs to no command.
fn commands(counted: &ContainerStatsResponse) -> Option<u64> {
    let current = counted.pids_stats.as_ref()?.current?;
    Some(current.saturating_sub(1))
}

/// User and system time in milliseconds. Their sum is exact; the split is sampled by the kernel's clock ticks.
fn processor_time(cpu: &ContainerCpuStats) -> Option<(f64, f64)> {
    let usage = cpu.cpu_usage.as_ref()?;
    let total = usage.total_usage? as f64 / 1e6;
    let (user, system) = (usage.usage_in_usermode? as f64, usage.usage_in_kernelmode? as f64);
    let share = if user + system > 0.0 { user / (user + system) } else { 1.0 };
    Some((total * share, total * (1.0 - share)))
}

/// Bytes of one kind of operation on devices; `None` where the engine has no counter.
fn device_bytes(counted: &ContainerStatsResponse, operation: &str) -> Option<u64> {
    let entries = counted.blkio_stats.as_ref()?.io_service_bytes_recursive.as_ref()?;
    let matches_operation =
        |name: &Option<String>| name.as_deref().is_some_and(|name| name.eq_ignore_ascii_case(operation));
    Some(entries.iter().filter(|entry| matches_operation(&entry.op)).filter_map(|entry| entry.value).sum())
}

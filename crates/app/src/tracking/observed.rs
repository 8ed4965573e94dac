//! Conversion of reports and inventories for the tracker.

use menace_model::inventory::PythonModule;
use menace_runner::{InputStrategy, SectionCell};
use menace_tracker::measure::{CellKind, ObservedCell, ObservedRecovery, StaticCodeMetrics};

pub(super) fn code_of(module: &PythonModule) -> StaticCodeMetrics {
    StaticCodeMetrics {
        maintainability: module.maintainability.map(|index| index / 100.0),
        code_quality: module.code_quality,
        security_score: module.security_score,
        entropy: module.entropy,
        churn: module.churn.as_ref().map(|churn| churn.ratio),
    }
}

/// Static metrics of a repository: the mean of its modules.
pub(super) fn mean_code(modules: &[PythonModule]) -> StaticCodeMetrics {
    let mean = |value: fn(&StaticCodeMetrics) -> Option<f64>| {
        let values: Vec<f64> = modules.iter().filter_map(|module| value(&code_of(module))).collect();
        menace_tracker::statistics::mean(&values)
    };
    StaticCodeMetrics {
        maintainability: mean(|code| code.maintainability),
        code_quality: mean(|code| code.code_quality),
        security_score: mean(|code| code.security_score),
        entropy: mean(|code| code.entropy),
        churn: mean(|code| code.churn),
    }
}

pub(super) fn observed(cell: &SectionCell) -> ObservedCell {
    let count = |kind: &str| cell.kinds.get(kind).copied().unwrap_or(0);
    let usage = &cell.usage;
    let kind = match usage.strategy {
        _ if usage.is_ordinary => CellKind::Ordinary,
        Some(InputStrategy::Hostile) => CellKind::Hostile,
        Some(InputStrategy::Misuse) => CellKind::Misuse,
        _ => CellKind::Fault,
    };
    let scenario = match &cell.severity {
        Some(severity) => format!("{} ({severity})", cell.scenario),
        None => cell.scenario.clone(),
    };
    ObservedCell {
        section: cell.section.clone(),
        scenario,
        kind,
        n: cell.n,
        ended_well: count("ok") + count("rejected"),
        flaky: count("flaky"),
        denied: count("denied"),
        cpu_seconds: usage.cpu_seconds,
        gb_seconds: usage.gb_seconds,
        cpu_ms_of_ok: usage.cpu_ms_of_ok,
        throughput: usage.throughput,
        network_latency_ms: cell.network_latency_ms,
        recovery: cell.recovery.map(|recovery| ObservedRecovery {
            before: recovery.before,
            after: recovery.after,
            seconds: recovery.recovery_ms.map(|milliseconds| milliseconds / 1e3),
        }),
        shapes: (usage.shapes_offered, usage.shapes_handled),
    }
}

//! Result of a scan of a repository: modules, sections, findings, import cycles, orphans, diagnostics.

mod finding;
mod module;
mod orphan;
mod report;
mod section;

pub use finding::{Diagnostic, FindingSeverity, LintFinding, LintRule, SecurityFinding};
pub use module::{
    ChurnCounts, HalsteadCounts, ImportKind, LineCounts, ModuleImport, PythonModule, RiskIndex,
};
pub use orphan::{Orphan, OrphanClass};
pub use report::{Inventory, ScanStatistics};
pub use section::{
    MethodBinding, ParameterKind, ParameterUse, Section, SectionKind, SectionParameter, SideEffect,
};

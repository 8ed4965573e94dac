//! Result of a scan of a repository: modules, sections, findings, import cycles, orphans, diagnostics.

mod finding;
mod module;
mod orphan;
mod report;
mod section;

pub use finding::{Diagnostic, Finding, LintFinding, LintRule, Severity};
pub use module::{Churn, Halstead, Import, ImportKind, LineCounts, Module, Risk};
pub use orphan::{Orphan, OrphanClass};
pub use report::{Inventory, ScanStatistics};
pub use section::{Binding, Effect, Parameter, ParameterKind, ParameterUse, Section, SectionKind};

//! A Python file and its static metrics.

use serde::{Deserialize, Serialize};

use super::{LintFinding, Section, SecurityFinding};

/// When an import is executed; the most certain first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportKind {
    /// Whenever the module is imported.
    Always,
    /// Under an `if` or in a `try`: depends on the host.
    Conditional,
    /// Inside a function: when it is called.
    Deferred,
    /// `importlib.import_module("literal")` or `__import__("literal")`.
    Dynamic,
    /// Under `if TYPE_CHECKING`: never at run time.
    TypeChecking,
}

/// An edge of the import graph, to a module of this repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleImport {
    /// The imported module's name, as Python would import it.
    pub module: String,
    /// When it is executed.
    pub kind: ImportKind,
    /// The first line that imports it.
    pub line: u32,
}

/// Line counts by kind; they add up as in radon's `raw`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineCounts {
    /// All lines.
    pub total: u32,
    /// Lines of code.
    pub source: u32,
    /// Logical lines.
    pub logical: u32,
    /// Comments.
    pub comments: u32,
    /// Lines with nothing but a comment or a standing string of one line.
    pub single_comments: u32,
    /// Lines of standing strings that span several lines, such as docstrings.
    pub docstrings: u32,
    /// Empty lines.
    pub blank: u32,
}

/// Halstead counts as in radon.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct HalsteadCounts {
    /// Distinct operators.
    pub distinct_operators: u32,
    /// Distinct operands.
    pub distinct_operands: u32,
    /// Operators in all.
    pub operators: u32,
    /// Operands in all.
    pub operands: u32,
    /// (operators + operands) · log₂(distinct operators + distinct operands).
    pub volume: f64,
}

/// Lines changed in the last thirty days, from git.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ChurnCounts {
    /// Commits that touched the file.
    pub commits: u32,
    /// Lines added.
    pub added: u32,
    /// Lines deleted.
    pub deleted: u32,
    /// min(1, (added + deleted) / lines of the file).
    pub ratio: f64,
}

/// The risk index over those of its terms that were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RiskIndex {
    /// The weighted mean of the measured terms, 0…1, higher is worse; absent if none was measured.
    pub value: Option<f64>,
    /// The terms that were measured.
    pub terms: Vec<String>,
    /// The terms that were not measured, with the reason.
    pub missing: Vec<String>,
}

/// One Python file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PythonModule {
    /// Relative to the root, with `/`.
    pub path: String,
    /// As Python would import it.
    pub name: String,
    /// Names of the repository's modules that it imports at run time, sorted.
    pub imports: Vec<String>,
    /// The same with kind and line, `TYPE_CHECKING` imports included.
    pub import_edges: Vec<ModuleImport>,
    /// Top-level packages outside the repository that it imports, sorted.
    pub external_imports: Vec<String>,
    /// External imports as written, sorted: modules, and members that may be modules. Not shown.
    #[serde(skip)]
    pub foreign_imports: Vec<String>,
    /// Sections in source order; the module body first.
    pub sections: Vec<Section>,
    /// Lines by kind.
    pub lines: LineCounts,
    /// Maintainability index, 0…100, as radon computes it; absent when the file does not parse.
    pub maintainability: Option<f64>,
    /// Halstead's counts; absent when the file does not parse.
    pub halstead: Option<HalsteadCounts>,
    /// Entropy of the token distribution, bits per token; absent when the file could not be read.
    pub entropy: Option<f64>,
    /// Changes in the last thirty days; absent without git.
    pub churn: Option<ChurnCounts>,
    /// Risk index from static analysis.
    pub risk: RiskIndex,
    /// 1 / (1 + lint findings per 100 lines); absent when the file does not parse.
    pub code_quality: Option<f64>,
    /// 1 / (1 + severity weights of security findings per 100 lines); absent when the file does not parse.
    pub security_score: Option<f64>,
    /// Security findings.
    pub findings: Vec<SecurityFinding>,
    /// Lint findings.
    pub lint: Vec<LintFinding>,
    /// Reasons why the module is an entry point (`script`, `main`, `entry point …`, `test`, `plugin`); empty for a library.
    pub entry_points: Vec<String>,
}

//! Import graph: module names, resolved imports and declared entry points.

mod entry_points;
mod graph;
mod module_names;
mod reexports;
mod resolve;
mod source_roots;

pub(crate) use entry_points::{EntryPointDeclaration, declared_entry_points};
pub(crate) use graph::{cycles, local_dependencies};
pub(crate) use module_names::{ModuleIndex, name_modules};
pub(crate) use reexports::ReexportResolver;
pub(crate) use resolve::{ResolvedImports, resolve_imports};
pub(crate) use source_roots::source_roots;

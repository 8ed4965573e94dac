//! Import graph: module names, resolved imports and declared entry points.

mod entry_points;
mod graph;
mod names;
mod reexports;
mod resolve;
mod roots;

pub(crate) use entry_points::{EntryPointDeclaration, declared_entry_points};
pub(crate) use graph::{cycles, local_dependencies};
pub(crate) use names::{ModuleIndex, name_modules};
pub(crate) use reexports::Definitions;
pub(crate) use resolve::{ResolvedImports, resolve_imports};
pub(crate) use roots::source_roots;

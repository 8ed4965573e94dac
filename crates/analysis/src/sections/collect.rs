//! Single walk over a module that collects its sections and the effects of their bodies.

use menace_model::inventory::{ImportKind, Section, SectionKind};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::measures::{ModuleComplexity, cognitive_complexities, own_complexity};
use crate::syntax::visitor::Visitor;
use crate::syntax::{Expr, ParsedPythonSource, Ranged, Stmt, TextSize, ast};

use super::docstring::{declared_exceptions, docstring_of, summary};
use super::frame::FunctionFrame;
use super::imports::{ImportedNames, RawImport};
use super::signature::{self, EnclosingDefinition, excerpt};

/// Result of the walk.
pub(crate) struct CollectedSections {
    /// The module body, then every function in source order.
    pub(crate) sections: Vec<Section>,
    pub(crate) imports: Vec<RawImport>,
    /// Radon's complexity of the whole module.
    pub(crate) total_complexity: u32,
    /// Strings that could name a module: `"shop.plugins.stripe"`, `"shop.cli:main"`.
    pub(crate) dotted_strings: Vec<String>,
    /// Whether the module has an `if __name__ == "__main__"`.
    pub(crate) has_main_guard: bool,
}

pub(crate) fn collect(source: &ParsedPythonSource) -> CollectedSections {
    let (cognitive, module_cognitive) = cognitive_complexities(source.body());
    let mut collector = SectionCollector::new(source, cognitive);
    collector.module(module_cognitive);
    collector.finish()
}

pub(super) struct SectionCollector<'a> {
    pub(super) source: &'a ParsedPythonSource,
    pub(super) names: ImportedNames<'a>,
    pub(super) frames: Vec<FunctionFrame<'a>>,
    pub(super) context: StatementContext,
    pub(super) module_variables: FxHashSet<&'a str>,
    pub(super) dotted_strings: FxHashSet<&'a str>,
    pub(super) has_main_guard: bool,
    sections: Vec<Section>,
    cognitive: FxHashMap<TextSize, u32>,
    totals: ModuleComplexity,
    /// `Outer.method.<locals>.`
    prefix: String,
    place: EnclosingDefinition,
    /// Classes and functions around the current statement.
    depth: DefinitionDepth,
}

/// Number of enclosing definitions.
#[derive(Default, Clone, Copy)]
struct DefinitionDepth {
    classes: u32,
    functions: u32,
}

/// Conditions under which the current statement runs.
#[derive(Default, Clone, Copy)]
pub(super) struct StatementContext {
    pub(super) type_checking: bool,
    pub(super) conditional: bool,
}

impl<'a> SectionCollector<'a> {
    fn new(source: &'a ParsedPythonSource, cognitive: FxHashMap<TextSize, u32>) -> Self {
        Self {
            source,
            names: ImportedNames::default(),
            frames: vec![FunctionFrame::default()],
            context: StatementContext::default(),
            module_variables: module_variables(source.body()),
            dotted_strings: FxHashSet::default(),
            has_main_guard: false,
            sections: Vec::new(),
            cognitive,
            totals: ModuleComplexity::default(),
            prefix: String::new(),
            place: EnclosingDefinition::Module,
            depth: DefinitionDepth::default(),
        }
    }

    fn module(&mut self, cognitive_complexity: u32) {
        let body = self.source.body();
        let own = own_complexity(body);
        self.totals.add_module_body(own);
        let docstring = docstring_of(body).unwrap_or_default();
        self.sections.push(Section {
            name: "<module>".to_owned(),
            kind: SectionKind::Module,
            binding: None,
            is_async: false,
            is_generator: false,
            is_overload: false,
            line: 1,
            end_line: self.source.lines().count(self.source.text()).max(1),
            complexity: own + 1,
            cognitive_complexity,
            decorators: Vec::new(),
            parameters: Vec::new(),
            returns: None,
            summary: summary(docstring),
            raises: declared_exceptions(docstring),
            effects: Vec::new(),
        });
        self.visit_body(body);
        self.end_frame();
    }

    pub(super) fn function(&mut self, node: &'a ast::StmtFunctionDef) {
        let own = own_complexity(&node.body);
        self.count_function(own);
        self.section(node, own + 1);
        let names = node.parameters.iter().map(|parameter| parameter.name().as_str());
        let mut frame = FunctionFrame::new(self.sections.len() - 1, names.collect());
        if self.place == EnclosingDefinition::Class {
            frame.ignore_first_unless_static(&self.sections[self.sections.len() - 1]);
        }
        self.frames.push(frame);
        self.in_definition(node.name.as_str(), EnclosingDefinition::Function, |collector| {
            collector.visit_body(&node.body);
        });
        self.end_frame();
    }

    pub(super) fn class(&mut self, node: &'a ast::StmtClassDef) {
        if self.depth.classes == 0 && self.depth.functions == 0 {
            self.totals.add_top_level_class(own_complexity(&node.body));
        }
        self.in_definition(node.name.as_str(), EnclosingDefinition::Class, |collector| {
            collector.visit_body(&node.body);
        });
    }

    /// Adds a function to radon's module total; see [`ModuleComplexity`].
    fn count_function(&mut self, own: u32) {
        match (self.depth.classes, self.depth.functions) {
            (0, 0) => self.totals.add_top_level_function(own),
            (1, 0) => self.totals.add_method(own),
            _ => {}
        }
    }

    fn section(&mut self, node: &'a ast::StmtFunctionDef, complexity: u32) {
        let source = self.source;
        let role = signature::role(node, self.place);
        let docstring = docstring_of(&node.body).unwrap_or_default();
        let decorators = node.decorator_list.iter();
        self.sections.push(Section {
            name: format!("{}{}", self.prefix, node.name),
            kind: role.kind,
            binding: role.binding,
            is_async: node.is_async,
            is_generator: false,
            is_overload: role.is_overload,
            line: source.first_line(&node.name),
            end_line: source.last_line(node),
            complexity,
            cognitive_complexity: self.cognitive.get(&node.start()).copied().unwrap_or_default(),
            decorators: decorators.map(|decorator| excerpt(source, &decorator.expression)).collect(),
            parameters: signature::parameters(source, &node.parameters),
            returns: node.returns.as_deref().map(|returns| excerpt(source, returns)),
            summary: summary(docstring),
            raises: declared_exceptions(docstring),
            effects: Vec::new(),
        });
    }

    fn in_definition(&mut self, name: &str, place: EnclosingDefinition, visit: impl FnOnce(&mut Self)) {
        let outer = (self.place, self.depth, self.context, self.prefix.len());
        self.place = place;
        self.prefix.push_str(name);
        if place == EnclosingDefinition::Function {
            self.depth.functions += 1;
            self.prefix.push_str(".<locals>");
        } else {
            self.depth.classes += 1;
        }
        self.prefix.push('.');
        visit(self);
        self.place = outer.0;
        self.depth = outer.1;
        self.context = outer.2;
        self.prefix.truncate(outer.3);
    }

    fn end_frame(&mut self) {
        let frame = self.frames.pop().expect("every frame that ends was pushed before");
        let section = &mut self.sections[frame.section];
        let (effects, is_generator) = frame.finish(&mut section.parameters);
        section.effects = effects;
        section.is_generator = is_generator;
    }

    pub(super) fn is_in_function(&self) -> bool {
        self.depth.functions > 0
    }

    /// Time at which an import in the current context is executed.
    pub(super) fn import_kind(&self) -> ImportKind {
        if self.context.type_checking {
            ImportKind::TypeChecking
        } else if self.depth.functions > 0 {
            ImportKind::Deferred
        } else if self.context.conditional {
            ImportKind::Conditional
        } else {
            ImportKind::Always
        }
    }

    fn finish(self) -> CollectedSections {
        let mut dotted_strings: Vec<String> = self.dotted_strings.into_iter().map(str::to_owned).collect();
        dotted_strings.sort_unstable();
        CollectedSections {
            sections: self.sections,
            imports: self.names.imports,
            total_complexity: self.totals.total(),
            dotted_strings,
            has_main_guard: self.has_main_guard,
        }
    }
}

/// Names that plain assignments bind at the top level of a module.
fn module_variables(body: &[Stmt]) -> FxHashSet<&str> {
    let mut names = FxHashSet::default();
    for statement in body {
        match statement {
            Stmt::Assign(node) => names.extend(node.targets.iter().filter_map(plain_name)),
            Stmt::AnnAssign(node) => names.extend(plain_name(&node.target)),
            _ => {}
        }
    }
    names
}

fn plain_name(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Name(node) => Some(node.id.as_str()),
        _ => None,
    }
}

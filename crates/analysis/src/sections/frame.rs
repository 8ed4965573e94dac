//! Evidence about the function whose body is being walked.
//!
//! `self` and `cls` are not recorded: their object is created by its constructor, not from evidence.

use menace_model::inventory::{MethodBinding, ParameterUse, Section, SectionParameter, SideEffect};
use rustc_hash::FxHashSet;

/// Largest number of uses kept per parameter: one of a data-heavy function can be compared with thousands of constants,
/// which add no information.
const MAX_USES: usize = 48;

/// One of the nested functions around the current statement.
#[derive(Default)]
pub(super) struct FunctionFrame<'a> {
    /// Index of the section; the module body is section 0.
    pub(super) section: usize,
    pub(super) is_generator: bool,
    /// Whether this is a lambda or a comprehension: its names hide those of outer functions and are not recorded.
    is_shadow: bool,
    ignores_first: bool,
    names: Vec<&'a str>,
    uses: Vec<Vec<ParameterUse>>,
    effects: Vec<SideEffect>,
    /// Names that the function has assigned so far: local variables, unless declared global.
    assigned: FxHashSet<&'a str>,
    globals: FxHashSet<&'a str>,
}

impl<'a> FunctionFrame<'a> {
    pub(super) fn new(section: usize, names: Vec<&'a str>) -> Self {
        let uses = names.iter().map(|_| Vec::new()).collect();
        Self { section, names, uses, ..Self::default() }
    }

    pub(super) fn shadow(names: Vec<&'a str>) -> Self {
        Self { is_shadow: true, ..Self::new(0, names) }
    }

    /// Ignores the first parameter of a bound method, which is its object or class.
    pub(super) fn ignore_first_unless_static(&mut self, section: &Section) {
        let is_bound = matches!(section.binding, Some(MethodBinding::Instance | MethodBinding::Class))
            || section.name.ends_with("__new__");
        self.ignores_first = is_bound;
    }

    pub(super) fn is_shadow(&self) -> bool {
        self.is_shadow
    }

    pub(super) fn parameter(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| *known == name)
    }

    /// Whether uses of a parameter are recorded.
    pub(super) fn wants(&self, parameter: usize) -> bool {
        !(self.is_shadow || (self.ignores_first && parameter == 0))
    }

    pub(super) fn add_use(&mut self, parameter: usize, used: ParameterUse) {
        let known = &mut self.uses[parameter];
        if known.len() < MAX_USES && !known.contains(&used) {
            known.push(used);
        }
    }

    pub(super) fn add_effect(&mut self, effect: SideEffect) {
        if !self.effects.contains(&effect) {
            self.effects.push(effect);
        }
    }

    pub(super) fn assign(&mut self, name: &'a str) {
        if !self.globals.contains(&name) {
            self.assigned.insert(name);
        }
    }

    pub(super) fn declare_global(&mut self, name: &'a str) {
        self.globals.insert(name);
    }

    pub(super) fn assigns(&self, name: &str) -> bool {
        self.assigned.contains(name)
    }

    /// Returns the evidence, sorted, so that equal files give equal facts.
    pub(super) fn finish(mut self, parameters: &mut [SectionParameter]) -> (Vec<SideEffect>, bool) {
        for (parameter, mut uses) in parameters.iter_mut().zip(self.uses) {
            uses.sort();
            parameter.uses = uses;
        }
        self.effects.sort_unstable();
        (self.effects, self.is_generator)
    }
}

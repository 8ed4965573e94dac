//! Evidence from the patterns of a `match` about its subject.

use menace_model::inventory::ParameterUse;

use crate::syntax::{Expr, ast};

use super::collect::SectionCollector;
use super::parameter_uses::{constant, record_use};
use super::signature::excerpt;

impl<'a> SectionCollector<'a> {
    pub(super) fn match_cases(&mut self, node: &'a ast::StmtMatch) {
        for case in &node.cases {
            self.pattern(&node.subject, &case.pattern);
        }
    }

    /// Records the uses of the subject that a pattern implies.
    fn pattern(&mut self, subject: &Expr, pattern: &ast::Pattern) {
        let source = self.source;
        match pattern {
            ast::Pattern::MatchValue(pattern) => {
                if let Some(value) = constant(source, &pattern.value) {
                    record_use(&mut self.frames, subject, || ParameterUse::Compared(value));
                }
            }
            ast::Pattern::MatchSingleton(_) => {
                record_use(&mut self.frames, subject, || ParameterUse::Compared(excerpt(source, pattern)));
            }
            ast::Pattern::MatchOr(pattern) => {
                pattern.patterns.iter().for_each(|it| self.pattern(subject, it));
            }
            ast::Pattern::MatchAs(pattern) => {
                pattern.pattern.iter().for_each(|inner| self.pattern(subject, inner));
            }
            ast::Pattern::MatchMapping(pattern) => {
                for key in pattern.keys.iter().filter_map(|key| constant(source, key)) {
                    record_use(&mut self.frames, subject, || ParameterUse::Key(key));
                }
            }
            ast::Pattern::MatchClass(pattern) => {
                record_use(&mut self.frames, subject, || {
                    ParameterUse::Instance(excerpt(source, &*pattern.cls))
                });
            }
            ast::Pattern::MatchSequence(_) => {
                record_use(&mut self.frames, subject, || ParameterUse::Iterated);
            }
            ast::Pattern::MatchStar(_) => {}
        }
    }
}

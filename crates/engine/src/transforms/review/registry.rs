//! Registry of the review transforms.

use super::Transform;
use super::defaults::{AssertValidation, MutableDefault};
use super::handlers::BareExcept;
use super::imports::UnusedImport;
use super::lookups::MembershipSet;
use super::network::HttpTimeout;
use super::none_guard::NoneGuard;
use super::paths::PathTraversal;
use super::patterns::CompiledPattern;
use super::recursion::CachedRecursion;
use super::resources::UnclosedFile;
use super::retry::RetryIdempotent;
use super::safety::{InsecureMktemp, LiteralEval, WeakHash, YamlSafeLoad};
use super::shell::ShellList;
use super::strings::JoinStrings;
use super::style::{EmptyFString, NoneComparison, SelfAssignment};
use super::time::AwareDatetime;

/// All review transforms: those that answer failures first, then those for findings, then those for speed.
#[must_use]
pub fn of_review() -> Vec<Box<dyn Transform>> {
    vec![
        Box::new(NoneGuard),
        Box::new(RetryIdempotent),
        Box::new(HttpTimeout),
        Box::new(PathTraversal),
        Box::new(MutableDefault),
        Box::new(BareExcept),
        Box::new(YamlSafeLoad),
        Box::new(ShellList),
        Box::new(LiteralEval),
        Box::new(WeakHash),
        Box::new(InsecureMktemp),
        Box::new(AssertValidation),
        Box::new(NoneComparison),
        Box::new(EmptyFString),
        Box::new(SelfAssignment),
        Box::new(UnusedImport),
        Box::new(UnclosedFile),
        Box::new(AwareDatetime),
        Box::new(CachedRecursion),
        Box::new(MembershipSet),
        Box::new(JoinStrings),
        Box::new(CompiledPattern),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::editable_source::EditableSource;
    use crate::transforms::{Cause, SectionFailure};

    const ODD: &str = "import re, os, requests, subprocess\n@d(lambda x=[]: x)\nasync def f(a, /, b=[], *c, d={}, **e): return re.match('é', a).group()\nclass A:\n    def f(self, x=[]): x = x; y = open(x).read(); assert x; return y == None\n    def g(self, x=set()):\n        \"\"\"Doc\"\"\"; return requests.get(x)\n    def h(self): pass\ndef g(x, y=[]):\n    if x: z = \"\"\n    else:\n        def k(q=[]):\n            try: int(q)\n            except: pass\n        return k\n    for i in x: z += f\"ü\"; subprocess.run(\"ls \" + x, shell=True)\n    try: return eval(x)\n    except: raise\n    finally: os.remove(x)\n";

    #[test]
    fn rewrites_of_unusual_code_parse() {
        for text in [ODD.to_owned(), ODD.replace("    ", "\t"), ODD.replace('\n', "\r\n")] {
            let source = EditableSource::parse(&text).unwrap();
            let mut causes: Vec<Cause> = ["<module>", "f", "A.f", "A.g", "A.h", "g", "k", "no"]
                .map(|name| Cause::Review(name.into()))
                .into();
            causes.extend((0..25).map(|line| {
                Cause::Failure(SectionFailure {
                    section: "g".into(),
                    line,
                    kind: "timeout".into(),
                    exception: Some("AttributeError".into()),
                    message: "'NoneType' object has no attribute 'group'".into(),
                    scenario: "flaky_upstream".into(),
                    ..SectionFailure::default()
                })
            }));
            for (transform, cause) in
                of_review().iter().flat_map(|each| causes.iter().map(move |cause| (each, cause)))
            {
                for rewrite in transform.rewrite(&source, cause) {
                    assert!(EditableSource::parse(&rewrite.text).is_some() && rewrite.why.ends_with('.'));
                }
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = of_review().iter().map(|transform| transform.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), of_review().len());
    }
}

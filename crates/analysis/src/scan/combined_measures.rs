//! Combined measures of several modules, as if they were one file.

use menace_model::inventory::PythonModule;

use super::module_scores::{code_quality, security_score};
use crate::facts::extract;

/// Combined measures of several modules; `None` if one of them does not parse.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CombinedMeasures {
    /// Maintainability index of the concatenated text, between 0 and 100.
    pub maintainability: Option<f64>,
    /// Code quality from the lint findings and lines of all modules.
    pub code_quality: Option<f64>,
    /// Security score from the findings and lines of all modules.
    pub security_score: Option<f64>,
    /// Bits per token, over the tokens of all modules.
    pub entropy: Option<f64>,
}

/// Measures modules as one. Findings are those of the single modules, since a name that one module defines is not used by
/// another that does not import it; tokens and structure are those of the concatenated text.
pub fn measure_combined(modules: &[(&PythonModule, Vec<u8>)]) -> CombinedMeasures {
    if modules.is_empty() || modules.iter().any(|(module, _)| module.maintainability.is_none()) {
        return CombinedMeasures::default();
    }
    let lines = modules.iter().map(|(module, _)| module.lines.total).sum();
    let lint: Vec<_> = modules.iter().flat_map(|(module, _)| module.lint.iter().cloned()).collect();
    let findings: Vec<_> = modules.iter().flat_map(|(module, _)| module.findings.iter().cloned()).collect();
    let texts: Vec<&[u8]> = modules.iter().map(|(_, text)| text.as_slice()).collect();
    let facts = extract(texts.join(&b'\n'));
    CombinedMeasures {
        maintainability: facts.maintainability,
        code_quality: Some(code_quality(&lint, lines)),
        security_score: Some(security_score(&findings, lines)),
        entropy: (!facts.sections.is_empty()).then_some(facts.entropy),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ScanOptions, SilentScanObserver, scan};
    use super::*;

    #[test]
    fn one_module_keeps_its_measures_and_two_modules_have_higher_entropy() {
        let directory = tempfile::tempdir().unwrap();
        let first = "def add(first, second):\n    return first + second\n";
        let second = "import pickle\n\n\ndef load(data):\n    return pickle.loads(data)\n";
        std::fs::write(directory.path().join("first.py"), first).unwrap();
        std::fs::write(directory.path().join("second.py"), second).unwrap();
        let found =
            scan(directory.path(), &ScanOptions::default(), &SilentScanObserver, || Err(String::new()))
                .unwrap();
        let modules = &found.inventory.modules;
        let alone = measure_combined(&[(&modules[0], first.into())]);
        assert_eq!(alone.entropy, modules[0].entropy);
        assert_eq!(alone.security_score, modules[0].security_score);
        assert_eq!(alone.maintainability, modules[0].maintainability);
        let both = measure_combined(&[(&modules[0], first.into()), (&modules[1], second.into())]);
        assert!(both.entropy > modules[0].entropy && both.entropy > modules[1].entropy);
        assert!(both.security_score > modules[1].security_score && both.security_score < Some(1.0));
    }

    #[test]
    fn no_modules_have_no_measures() {
        assert_eq!(measure_combined(&[]), CombinedMeasures::default());
    }
}

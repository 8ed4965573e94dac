//! The inventory as tables: risk, findings, import cycles, orphans, diagnostics.

use menace_model::inventory::{FindingSeverity, Inventory, PythonModule, Section, SecurityFinding};

use crate::terminal::{
    ColumnAlignment, TableCell, TextStyle, TextTable, count, grouped, milliseconds, styled,
};

/// Summary of a scan; tables have at most `top` rows.
pub(super) fn report(inventory: &Inventory, top: usize) -> String {
    let mut text = headline(inventory);
    text.push_str(&risk_table(inventory, top));
    text.push_str(&findings_table(inventory, top));
    text.push_str(&cycle_list(inventory, top));
    text.push_str(&orphan_table(inventory, top));
    text.push_str(&diagnostic_table(inventory, top));
    text
}

fn headline(inventory: &Inventory) -> String {
    let sections: usize = inventory.modules.iter().map(|module| module.sections.len()).sum();
    let lines: usize = inventory.modules.iter().map(|module| module.lines.total as usize).sum();
    let statistics = &inventory.statistics;
    format!(
        "{}\n{} · {} · {} · read in {} ({} analysed, {} from the cache)\n",
        styled(&inventory.root, TextStyle::Bold),
        count(inventory.modules.len(), "module"),
        count(sections, "section"),
        count(lines, "line"),
        milliseconds(statistics.elapsed_ms),
        grouped(statistics.analysed),
        grouped(statistics.cached),
    )
}

fn heading(title: &str, detail: &str) -> String {
    format!("\n{}  {detail}\n", styled(title, TextStyle::Bold))
}

fn number_or_none(number: usize) -> String {
    if number == 0 { "none".to_owned() } else { grouped(number) }
}

/// Note on the rows that a table leaves out.
pub(super) fn rest(total: usize, top: usize) -> String {
    if total <= top {
        return String::new();
    }
    styled(format!("  and {} more; --top 0 shows all\n", grouped(total - top)), TextStyle::Dim)
}

fn risk_table(inventory: &Inventory, top: usize) -> String {
    let mut modules: Vec<(&PythonModule, f64)> =
        inventory.modules.iter().filter_map(|module| Some((module, module.risk.value?))).collect();
    modules.sort_by(|left, right| right.1.total_cmp(&left.1).then_with(|| left.0.path.cmp(&right.0.path)));
    if modules.is_empty() {
        return String::new();
    }
    let mut table = TextTable::new(&[
        ("risk", ColumnAlignment::Right),
        ("module", ColumnAlignment::Left),
        ("lines", ColumnAlignment::Right),
        ("maintainability", ColumnAlignment::Right),
        ("churn", ColumnAlignment::Right),
        ("most complex section", ColumnAlignment::Left),
        ("security", ColumnAlignment::Right),
        ("lint", ColumnAlignment::Right),
    ]);
    for (module, risk) in modules.iter().take(top) {
        table.row([
            TableCell::styled(format!("{risk:.2}"), risk_style(*risk)),
            module.path.clone().into(),
            grouped(module.lines.total as usize).into(),
            module.maintainability.map_or_else(String::new, |index| format!("{index:.0} / 100")).into(),
            module
                .churn
                .map_or_else(|| "–".to_owned(), |churn| format!("{:.0} %", churn.ratio * 100.0))
                .into(),
            most_complex(module).into(),
            grouped(module.findings.len()).into(),
            grouped(module.lint.len()).into(),
        ]);
    }
    let basis = inventory.modules.first().map(risk_basis).unwrap_or_default();
    heading("Risk", &styled(basis, TextStyle::Dim)) + &table.text() + &rest(modules.len(), top)
}

/// Terms of the risk index that the scan measured, and those that it could not measure.
fn risk_basis(module: &PythonModule) -> String {
    format!("0 to 1, from {}; without {}", module.risk.terms.join(" and "), module.risk.missing.join(", "))
}

fn risk_style(risk: f64) -> TextStyle {
    match risk {
        risk if risk >= 0.6 => TextStyle::Bad,
        risk if risk >= 0.3 => TextStyle::Warning,
        _ => TextStyle::Good,
    }
}

fn most_complex(module: &PythonModule) -> String {
    let by_complexity = |section: &&Section| (section.complexity, std::cmp::Reverse(section.line));
    module
        .sections
        .iter()
        .max_by_key(by_complexity)
        .map_or_else(String::new, |section| format!("{} ({})", section.name, section.complexity))
}

fn findings_table(inventory: &Inventory, top: usize) -> String {
    let mut findings: Vec<(&PythonModule, &SecurityFinding)> = inventory
        .modules
        .iter()
        .flat_map(|module| module.findings.iter().map(move |finding| (module, finding)))
        .collect();
    findings.sort_by_key(|(module, finding)| {
        (std::cmp::Reverse((finding.severity, finding.confidence)), &module.path, finding.line)
    });
    let of = |severity| findings.iter().filter(|(_, finding)| finding.severity == severity).count();
    let lint: usize = inventory.modules.iter().map(|module| module.lint.len()).sum();
    let detail = format!(
        "{} high, {} medium, {} low; {} lint",
        grouped(of(FindingSeverity::High)),
        grouped(of(FindingSeverity::Medium)),
        grouped(of(FindingSeverity::Low)),
        grouped(lint)
    );
    let mut table = TextTable::new(&[
        ("severity", ColumnAlignment::Left),
        ("id", ColumnAlignment::Left),
        ("location", ColumnAlignment::Left),
        ("finding", ColumnAlignment::Left),
    ]);
    for (module, finding) in findings.iter().take(top) {
        let (severity, style) = match finding.severity {
            FindingSeverity::High => ("high", TextStyle::Bad),
            FindingSeverity::Medium => ("medium", TextStyle::Warning),
            FindingSeverity::Low => ("low", TextStyle::Dim),
        };
        table.row([
            TableCell::styled(severity, style),
            finding.id.clone().into(),
            format!("{}:{}", module.path, finding.line).into(),
            finding.message.clone().into(),
        ]);
    }
    let rows = if findings.is_empty() { String::new() } else { table.text() };
    heading("Findings", &detail) + &rows + &rest(findings.len(), top)
}

fn cycle_list(inventory: &Inventory, top: usize) -> String {
    const SHOWN: usize = 4;
    let at_import_time = match (inventory.cycles.len(), inventory.import_time_cycles.len()) {
        (0, _) => String::new(),
        (_, number) => format!(", {} of them at import time", grouped(number)),
    };
    let detail = format!("{}{at_import_time}", number_or_none(inventory.cycles.len()));
    let mut text = heading("Cycles", &detail);
    for cycle in inventory.cycles.iter().take(top) {
        let named = cycle.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(" ⇄ ");
        let more = cycle.len().saturating_sub(SHOWN);
        let suffix = if more == 0 { String::new() } else { format!(" and {} more", grouped(more)) };
        text.push_str(&format!("  {named}{suffix}\n"));
    }
    text + &rest(inventory.cycles.len(), top)
}

fn orphan_table(inventory: &Inventory, top: usize) -> String {
    let orphans = &inventory.orphans;
    let mut table = TextTable::new(&[
        ("class", ColumnAlignment::Left),
        ("module", ColumnAlignment::Left),
        ("reason", ColumnAlignment::Left),
    ]);
    for orphan in orphans.iter().take(top) {
        table.row([
            TableCell::styled(orphan.class.name(), TextStyle::Warning),
            orphan.path.clone().into(),
            orphan.reason.clone().into(),
        ]);
    }
    let rows = if orphans.is_empty() { String::new() } else { table.text() };
    heading("Orphans", &number_or_none(orphans.len())) + &rows + &rest(orphans.len(), top)
}

fn diagnostic_table(inventory: &Inventory, top: usize) -> String {
    let diagnostics = &inventory.diagnostics;
    if diagnostics.is_empty() {
        return String::new();
    }
    let mut table =
        TextTable::new(&[("location", ColumnAlignment::Left), ("problem", ColumnAlignment::Left)]);
    for diagnostic in diagnostics.iter().take(top) {
        let location = match diagnostic.line {
            Some(line) => format!("{}:{line}", diagnostic.path),
            None => diagnostic.path.clone(),
        };
        table.row([location.into(), diagnostic.message.clone().into()]);
    }
    heading("Not read in full", &grouped(diagnostics.len())) + &table.text() + &rest(diagnostics.len(), top)
}

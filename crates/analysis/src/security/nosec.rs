//! `# nosec` comments.

use std::ops::RangeInclusive;

use super::blacklist;
use crate::syntax::{ParsedPythonSource, TokenKind};

/// The `nosec` comments of a file, by line.
#[derive(Debug)]
pub(super) struct NosecSuppressions {
    comments: Vec<NosecComment>,
}

#[derive(Debug)]
struct NosecComment {
    line: u32,
    /// Tests that the comment names; empty means all.
    tests: Vec<&'static str>,
}

impl NosecSuppressions {
    /// Reads the `nosec` comments of a file; `None` if it does not contain the word.
    pub(super) fn of(source: &ParsedPythonSource) -> Option<Self> {
        if !source.text().contains("nosec") {
            return None;
        }
        let comments = source.tokens().iter().filter(|token| token.kind() == TokenKind::Comment);
        let comments = comments.filter_map(|token| {
            let tests = parse(source.slice(token))?;
            Some(NosecComment { line: source.first_line(token), tests })
        });
        Some(Self { comments: comments.collect() })
    }

    /// Whether comments suppress a test. Two can: the one on the line that the test chose, and the first one on the
    /// construct's lines. When either names tests, only the named ones are suppressed.
    pub(super) fn apply(&self, test: &str, chosen: Option<u32>, lines: RangeInclusive<u32>) -> bool {
        let chosen = chosen.and_then(|line| self.first_within(line..=line));
        let around = self.first_within(lines);
        if chosen.is_none() && around.is_none() {
            return false;
        }
        let mut named = chosen.into_iter().chain(around).flat_map(|comment| &comment.tests).peekable();
        named.peek().is_none() || named.any(|name| *name == test)
    }

    fn first_within(&self, lines: RangeInclusive<u32>) -> Option<&NosecComment> {
        let index = self.comments.partition_point(|comment| comment.line < *lines.start());
        self.comments.get(index).filter(|comment| lines.contains(&comment.line))
    }
}

/// Tests that a comment names, or `None` when it is not a `nosec` comment. Words that are not names of tests are
/// skipped.
fn parse(comment: &str) -> Option<Vec<&'static str>> {
    let rest = comment.split('#').skip(1).find_map(|part| part.trim_start().strip_prefix("nosec"))?;
    let mut tests: Vec<&'static str> =
        rest.split(|letter| !is_list_letter(letter)).flat_map(named_tests).collect();
    tests.sort_unstable();
    tests.dedup();
    Some(tests)
}

fn is_list_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | ',')
}

/// Bandit reads only the last name of a list whose commas have no space after them: of `B101,B102` it reads `B102`.
fn named_tests(list: &str) -> impl Iterator<Item = &'static str> {
    list.split(",,").filter_map(|names| {
        let name = names.trim_matches(',').rsplit(',').next()?;
        test_id(last_word(name))
    })
}

/// An id ends where its digits end, and the rest counts as another name.
fn last_word(name: &str) -> &str {
    let Some(digits) = name.strip_prefix(['B', 'b']) else { return name };
    let rest = digits.trim_start_matches(|letter: char| letter.is_ascii_digit());
    if rest.is_empty() || rest.len() == digits.len() { name } else { last_word(rest) }
}

fn test_id(name: &str) -> Option<&'static str> {
    tests().find(|(id, known)| *id == name || *known == name).map(|(id, _)| id)
}

/// The ids and names of all tests.
pub(super) fn tests() -> impl Iterator<Item = (&'static str, &'static str)> {
    TESTS.iter().copied().chain(blacklist::rules().map(|rule| (rule.id, rule.name)))
}

/// Ids and names of the tests other than the lists of names, which define their own. `B001` stands for those lists, but
/// no finding has that id.
const TESTS: &[(&str, &str)] = &[
    ("B001", "B001"),
    ("B101", "assert_used"),
    ("B102", "exec_used"),
    ("B103", "set_bad_file_permissions"),
    ("B104", "hardcoded_bind_all_interfaces"),
    ("B105", "hardcoded_password_string"),
    ("B106", "hardcoded_password_funcarg"),
    ("B107", "hardcoded_password_default"),
    ("B108", "hardcoded_tmp_directory"),
    ("B110", "try_except_pass"),
    ("B112", "try_except_continue"),
    ("B113", "request_without_timeout"),
    ("B201", "flask_debug_true"),
    ("B202", "tarfile_unsafe_members"),
    ("B324", "hashlib_insecure_functions"),
    ("B501", "request_with_no_cert_validation"),
    ("B502", "ssl_with_bad_version"),
    ("B503", "ssl_with_bad_defaults"),
    ("B504", "ssl_with_no_version"),
    ("B505", "weak_cryptographic_key"),
    ("B506", "yaml_load"),
    ("B507", "ssh_no_host_key_verification"),
    ("B508", "snmp_insecure_version"),
    ("B509", "snmp_weak_cryptography"),
    ("B601", "paramiko_calls"),
    ("B602", "subprocess_popen_with_shell_equals_true"),
    ("B603", "subprocess_without_shell_equals_true"),
    ("B604", "any_other_function_with_shell_equals_true"),
    ("B605", "start_process_with_a_shell"),
    ("B606", "start_process_with_no_shell"),
    ("B607", "start_process_with_partial_path"),
    ("B608", "hardcoded_sql_expressions"),
    ("B609", "linux_commands_wildcard_injection"),
    ("B610", "django_extra_used"),
    ("B611", "django_rawsql_used"),
    ("B612", "logging_config_insecure_listen"),
    ("B613", "trojansource"),
    ("B614", "pytorch_load"),
    ("B615", "huggingface_unsafe_download"),
    ("B701", "jinja2_autoescape_false"),
    ("B702", "use_of_mako_templates"),
    ("B703", "django_mark_safe"),
    ("B704", "markupsafe_markup_xss"),
];

#[cfg(test)]
mod comment_tests {
    use super::*;

    /// The expectations are the results of Bandit 1.9.4 for these comments.
    #[test]
    fn comments_are_parsed_as_in_bandit() {
        let check = |comment: &str, tests: Option<&[&str]>| {
            assert_eq!(parse(comment).as_deref(), tests, "{comment}");
        };
        check("# nosec", Some(&[]));
        check("#nosec B101,B102", Some(&["B102"]));
        check("# nosec: B101, B102", Some(&["B101", "B102"]));
        check("# nosec B101 B102", Some(&["B101", "B102"]));
        check("# nosec b101", Some(&[]));
        check("# nosecurity", Some(&[]));
        check("# nosec assert_used", Some(&["B101"]));
        check("# noqa # nosec B101 # foo", Some(&["B101"]));
        check("# nosec - B101 is fine", Some(&["B101"]));
        check("# nosec B101abc", Some(&[]));
        check("# nosec:B101,,B102", Some(&["B101", "B102"]));
        check("# nosec # B101", Some(&[]));
        check("# nosec B101,B102 B103", Some(&["B102", "B103"]));
        check("# nosec B101,foo", Some(&[]));
        check("#  nosec  :B101", Some(&["B101"]));
        check("# nosec B101:B102", Some(&["B101", "B102"]));
        check("# nosec B001", Some(&["B001"]));
        check("# nosec eval", Some(&["B307"]));
        check("# type: nosec", None);
        check("# x nosec", None);
        check("# NOSEC", None);
    }
}

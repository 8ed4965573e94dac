//! Filter in front of the call tests: most calls are ruled out by one hash of the last part of their name.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use super::{
    blacklist, code_execution, crypto, deserialization, django, file_permissions, mark_safe, passwords,
    remote_connections, shell, tls, web,
};
use crate::syntax::ast;

/// Whether any test can report a call; `name` is the last segment of its callee.
pub(super) fn can_be_reported(call: &ast::ExprCall, name: &str) -> bool {
    CALLEES.contains(name)
        || call.arguments.keywords.iter().any(can_report_keyword)
        || file_permissions::is_chmod(call, name)
        || file_permissions::is_extraction(name)
}

fn can_report_keyword(keyword: &ast::Keyword) -> bool {
    keyword.arg.as_deref().is_some_and(|name| shell::KEYWORD == name || tls::KEYWORDS.contains(&name))
        || passwords::is_hardcoded(keyword)
}

static CALLEES: LazyLock<FxHashSet<&'static str>> = LazyLock::new(|| {
    let listened_for = [
        code_execution::CALLEES,
        crypto::CALLEES,
        deserialization::CALLEES,
        django::CALLEES,
        mark_safe::CALLEES,
        remote_connections::CALLEES,
        tls::CALLEES,
        web::CALLEES,
    ];
    let qualified = shell::functions().chain(blacklist::qualified_names());
    let last_segments = qualified.filter_map(|name| name.rsplit('.').next());
    listened_for.into_iter().flatten().copied().chain(last_segments).collect()
});

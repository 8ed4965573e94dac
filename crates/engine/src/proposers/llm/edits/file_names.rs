//! Resolution of file names in an answer.

use std::collections::BTreeMap;

use super::error::EditError;

/// Maximum number of files in an error.
const SHOWN: usize = 8;

/// Resolves a file name, with a note if only the end of the path matched.
pub(super) fn resolve<'a>(
    path: &str,
    files: &'a BTreeMap<String, String>,
) -> Result<(&'a str, Option<String>), EditError> {
    refuse_outside(path)?;
    let plain = stripped(path);
    if let Some((name, _)) = files.get_key_value(path).or_else(|| files.get_key_value(plain)) {
        return Ok((name, None));
    }
    let end = format!("/{plain}");
    let found: Vec<&'a str> = files.keys().map(String::as_str).filter(|name| name.ends_with(&end)).collect();
    match found.as_slice() {
        [name] if !plain.is_empty() => Ok((name, Some(format!("{path} was taken as {name}")))),
        [] | [_] => Err(EditError::Unknown { path: path.into(), known: listed(files.keys()) }),
        _ => Err(EditError::AmbiguousPath { path: path.into(), known: listed(found.iter()) }),
    }
}

/// Path without the prefixes `./`, `a/` and `b/`.
pub(super) fn stripped(path: &str) -> &str {
    let path = path.strip_prefix("./").unwrap_or(path);
    path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path)
}

fn refuse_outside(path: &str) -> Result<(), EditError> {
    let mut letters = path.chars();
    let drive =
        letters.next().is_some_and(|letter| letter.is_ascii_alphabetic()) && letters.next() == Some(':');
    // `a//etc/passwd` is what a diff makes of `/etc/passwd`.
    if drive || path.starts_with(['/', '\\', '~']) || stripped(path).starts_with('/') || path.contains("://")
    {
        return Err(EditError::Absolute { path: path.into() });
    }
    if path.split(['/', '\\']).any(|part| part == "..") {
        return Err(EditError::Parent { path: path.into() });
    }
    Ok(())
}

fn listed<T: AsRef<str>>(names: impl ExactSizeIterator<Item = T>) -> String {
    let count = names.len();
    let shown: Vec<String> = names.take(SHOWN).map(|name| name.as_ref().to_owned()).collect();
    let rest = if count > SHOWN { format!(" and {} more", count - SHOWN) } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expect: &str) {
        let names = ["cart.py", "shop/money.py", "shop/tax.py", "old/tax.py", "b/deep.py"];
        let files = names.iter().map(|name| ((*name).to_owned(), String::new())).collect();
        let found = match resolve(path, &files) {
            Ok((name, None)) => name.to_owned(),
            Ok((name, Some(remark))) => format!("{name}: {remark}"),
            Err(error) => error.to_string().lines().next().unwrap_or_default().to_owned(),
        };
        assert_eq!(found, expect);
    }

    #[test]
    fn file_names_are_resolved() {
        check("cart.py", "cart.py");
        check("a/cart.py", "cart.py");
        check("./shop/money.py", "shop/money.py");
        check("b/deep.py", "b/deep.py");
        check("money.py", "shop/money.py: money.py was taken as shop/money.py");
        check("a/money.py", "shop/money.py: a/money.py was taken as shop/money.py");
    }

    #[test]
    fn unknown_and_outside_names_are_refused() {
        check("tax.py", "tax.py could be any of old/tax.py, shop/tax.py");
        check(
            "oney.py",
            "there is no file \"oney.py\"; the files are b/deep.py, cart.py, old/tax.py, shop/money.py, shop/tax.py",
        );
        check(
            "",
            "there is no file \"\"; the files are b/deep.py, cart.py, old/tax.py, shop/money.py, shop/tax.py",
        );
        check("/cart.py", "/cart.py is an absolute path");
        check("a//cart.py", "a//cart.py is an absolute path");
        check("C:\\cart.py", "C:\\cart.py is an absolute path");
        check("~/cart.py", "~/cart.py is an absolute path");
        check("file:///cart.py", "file:///cart.py is an absolute path");
        check("shop/../cart.py", "shop/../cart.py leaves the repository");
        check("a/../cart.py", "a/../cart.py leaves the repository");
    }
}

//! Arguments of a call as text.

use menace_runner::Stub;

use super::shortened;

/// Arguments of a call as in source code, at most `longest` characters.
pub(crate) fn input(stub: &Stub, longest: usize) -> String {
    let mut all: Vec<String> = stub.arguments.iter().map(ToString::to_string).collect();
    all.extend(stub.keywords.iter().map(|(name, value)| format!("{name}={value}")));
    let arguments = format!("({})", all.join(", "));
    shortened(
        &stub.owner.as_ref().map_or(arguments.clone(), |owner| format!("{owner} · {arguments}")),
        longest,
    )
}

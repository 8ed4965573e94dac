//! Hashes and keys that are too weak.

use menace_model::inventory::FindingSeverity::{self, High, Medium};

use super::argument_value::ArgumentValue;
use super::call::CheckedCall;
use super::report::SecurityIssue;

pub(super) const CALLEES: &[&str] =
    &["md4", "md5", "sha", "sha1", "new", "crypt", "mksalt", "generate_private_key", "generate"];

const WEAK_HASHES: &[&str] = &["md4", "md5", "sha", "sha1"];
const WEAK_SALTS: &[&str] = &["METHOD_CRYPT", "METHOD_MD5", "METHOD_BLOWFISH"];

/// B324: MD4, MD5 and SHA-1 from `hashlib`, unless declared to be of no security use, and weak methods of `crypt`.
pub(super) fn weak_hash(call: &CheckedCall) -> Option<SecurityIssue> {
    if call.has_segment("hashlib") {
        return weak_hashlib(call);
    }
    if call.has_segment("crypt") {
        return weak_crypt(call);
    }
    None
}

fn weak_hashlib(call: &CheckedCall) -> Option<SecurityIssue> {
    let algorithm = match call.name() {
        "new" => argument_or_keyword(call, 0, "name")?.to_ascii_lowercase(),
        name => name.to_owned(),
    };
    let for_security =
        call.keyword("usedforsecurity").is_none() || call.keyword_is("usedforsecurity", "True");
    (WEAK_HASHES.contains(&algorithm.as_str()) && for_security).then(|| {
        SecurityIssue::new("B324", High, High, format!("{algorithm} is broken for security purposes"))
    })
}

fn weak_crypt(call: &CheckedCall) -> Option<SecurityIssue> {
    let method = match call.name() {
        "crypt" => argument_or_keyword(call, 1, "salt")?,
        "mksalt" => argument_or_keyword(call, 0, "method")?,
        _ => return None,
    };
    WEAK_SALTS
        .contains(&method)
        .then(|| SecurityIssue::new("B324", Medium, High, format!("crypt.{method} is a weak password hash")))
}

fn argument_or_keyword<'a>(call: &CheckedCall<'_, 'a>, index: usize, name: &str) -> Option<&'a str> {
    let value = if call.arguments().len() > index { call.argument(index) } else { call.keyword_value(name) };
    value?.text()
}

/// Sizes below which a kind of key is broken, or soon will be.
struct KeySizeLimits {
    kind: &'static str,
    broken: f64,
    weak: f64,
}

const DSA: KeySizeLimits = KeySizeLimits { kind: "DSA", broken: 1024.0, weak: 2048.0 };
const RSA: KeySizeLimits = KeySizeLimits { kind: "RSA", broken: 1024.0, weak: 2048.0 };
const EC: KeySizeLimits = KeySizeLimits { kind: "EC", broken: 160.0, weak: 224.0 };

/// The curves below the limit; every other curve is long enough.
const SHORT_CURVES: &[(&str, f64)] = &[("SECP192R1", 192.0), ("SECT163K1", 163.0), ("SECT163R2", 163.0)];

/// B505: DSA, RSA and elliptic curve keys that are too short.
pub(super) fn weak_key(call: &CheckedCall) -> Option<SecurityIssue> {
    match call.qualified.as_ref() {
        "cryptography.hazmat.primitives.asymmetric.dsa.generate_private_key" => {
            sized_key(call, "key_size", 0, &DSA)
        }
        "cryptography.hazmat.primitives.asymmetric.rsa.generate_private_key" => {
            sized_key(call, "key_size", 1, &RSA)
        }
        "cryptography.hazmat.primitives.asymmetric.ec.generate_private_key" => curve_key(call),
        "Crypto.PublicKey.DSA.generate" | "Cryptodome.PublicKey.DSA.generate" => {
            sized_key(call, "bits", 0, &DSA)
        }
        "Crypto.PublicKey.RSA.generate" | "Cryptodome.PublicKey.RSA.generate" => {
            sized_key(call, "bits", 0, &RSA)
        }
        _ => None,
    }
}

fn sized_key(
    call: &CheckedCall,
    keyword: &str,
    index: usize,
    limits: &KeySizeLimits,
) -> Option<SecurityIssue> {
    let value =
        call.keyword_value(keyword).filter(is_truthy).or_else(|| call.argument(index).filter(is_truthy));
    limits.classify(match value? {
        ArgumentValue::Integer(size) => size.as_u64()? as f64,
        ArgumentValue::Float(size) => size,
        _ => return None,
    })
}

/// A falsy size falls through to the next argument that may hold a size.
fn is_truthy(value: &ArgumentValue) -> bool {
    match value {
        ArgumentValue::Integer(integer) => integer.as_u64() != Some(0),
        ArgumentValue::Float(float) => *float != 0.0,
        ArgumentValue::Text(text) => !text.is_empty(),
        ArgumentValue::List(elements) => !elements.is_empty(),
        ArgumentValue::Other => true,
    }
}

fn curve_key(call: &CheckedCall) -> Option<SecurityIssue> {
    let curve = call.keyword_value("curve").or_else(|| call.argument(0))?.text()?;
    let (_, size) = SHORT_CURVES.iter().find(|(name, _)| *name == curve)?;
    EC.classify(*size)
}

impl KeySizeLimits {
    fn classify(&self, size: f64) -> Option<SecurityIssue> {
        let severity: FindingSeverity = match size {
            size if size < self.broken => High,
            size if size < self.weak => Medium,
            _ => return None,
        };
        Some(SecurityIssue::new(
            "B505",
            severity,
            High,
            format!("{} key of {size} bits is too short", self.kind),
        ))
    }
}

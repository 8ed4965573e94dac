//! Encoder for Python's `marshal` format, which an interpreter reads without importing anything.
//!
//! A fork of the interpreter that reads JSON touches, and so copies, a hundred pages more before its call begins.

use serde_json::{Number, Value};

/// Bits per digit of a long integer.
const DIGIT_BITS: u32 = 15;

/// Encodes a value. Every version of Python 3 can decode it.
pub(super) fn to_bytes(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(value, &mut bytes);
    bytes
}

fn write(value: &Value, bytes: &mut Vec<u8>) {
    match value {
        Value::Null => bytes.push(b'N'),
        Value::Bool(true) => bytes.push(b'T'),
        Value::Bool(false) => bytes.push(b'F'),
        Value::Number(number) => write_number(number, bytes),
        Value::String(text) => write_text(text, bytes),
        Value::Array(values) => {
            bytes.push(b'[');
            write_length(values.len(), bytes);
            for value in values {
                write(value, bytes);
            }
        }
        Value::Object(map) => {
            bytes.push(b'{');
            for (key, value) in map {
                write_text(key, bytes);
                write(value, bytes);
            }
            bytes.push(b'0');
        }
    }
}

fn write_text(text: &str, bytes: &mut Vec<u8>) {
    bytes.push(b'u');
    write_length(text.len(), bytes);
    bytes.extend_from_slice(text.as_bytes());
}

/// Lengths fit into 32 bits: larger requests are rejected before.
fn write_length(length: usize, bytes: &mut Vec<u8>) {
    bytes.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
}

fn write_number(number: &Number, bytes: &mut Vec<u8>) {
    if let Some(short) = number.as_i64().and_then(|number| i32::try_from(number).ok()) {
        bytes.push(b'i');
        bytes.extend(short.to_le_bytes());
    } else if let Some(long) = number.as_i64() {
        write_long(long.unsigned_abs(), long < 0, bytes);
    } else if let Some(long) = number.as_u64() {
        write_long(long, false, bytes);
    } else {
        bytes.push(b'g');
        // Every other number is a float.
        bytes.extend(number.as_f64().unwrap_or(f64::NAN).to_le_bytes());
    }
}

fn write_long(mut size: u64, is_negative: bool, bytes: &mut Vec<u8>) {
    let mut count: i32 = 0;
    let mut digits = Vec::new();
    while size > 0 {
        digits.extend(((size & ((1 << DIGIT_BITS) - 1)) as u16).to_le_bytes());
        size >>= DIGIT_BITS;
        count += 1;
    }
    bytes.push(b'l');
    bytes.extend((if is_negative { -count } else { count }).to_le_bytes());
    bytes.extend(digits);
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use serde_json::json;

    use super::*;

    #[test]
    fn python_decodes_every_kind_of_value() {
        let value = json!({
            "text": "ß \u{1f40d} \0",
            "": [],
            "nested": {"list": [null, true, false, {}]},
            "short": [0, 1, -1, i32::MAX, i32::MIN],
            "long": [i64::from(i32::MAX) + 1, i64::MIN, i64::MAX, u64::MAX, 1_u64 << 45, -(1_i64 << 60)],
            "float": [0.5, -0.0, 1e308, 5e-324],
        });
        let program = "import json, marshal, sys; json.dump(marshal.load(sys.stdin.buffer), sys.stdout)";
        let mut python = Command::new("python3")
            .args(["-I", "-c", program])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        python.stdin.take().unwrap().write_all(&to_bytes(&value)).unwrap();
        let read: Value = serde_json::from_slice(&python.wait_with_output().unwrap().stdout).unwrap();
        assert_eq!(read, value);
    }
}

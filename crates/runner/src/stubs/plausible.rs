//! Plausible values by the name of a parameter or field.

use serde_json::{Value, json};

/// Words in names, with texts for them.
const TEXTS: &[(&[&str], &[&str])] = &[
    (&["email", "mail", "sender", "recipient"], &["ada@example.com", "a.b+c@example.org"]),
    (
        &["url", "uri", "link", "href", "endpoint"],
        &["https://example.com/path?q=1", "http://localhost:8000/"],
    ),
    (
        &["path", "filename", "filepath", "file", "directory", "dirname", "folder", "dir"],
        &["/tmp/menace.txt", "data.json", "/workspace"],
    ),
    (&["encoding", "charset"], &["utf-8", "latin-1"]),
    (&["json", "payload"], &["{\"a\": 1}", "[1, 2]", "null"]),
    (&["datetime", "timestamp"], &["2024-05-17T12:30:00", "2000-02-29T00:00:00+00:00"]),
    (&["date", "datestr", "datestring", "birthday"], &["2024-05-17", "2000-02-29"]),
    (&["timezone", "tz", "tzname"], &["UTC", "Europe/Berlin"]),
    (&["pattern", "regex", "regexp"], &["[a-z]+", "^x$"]),
    (&["currency"], &["EUR", "USD"]),
    (&["phone", "telephone", "mobile", "fax"], &["+49 30 123456", "030 123456"]),
    (&["uuid", "guid"], &["12345678-1234-4678-9234-567812345678"]),
    (&["host", "hostname", "domain", "server"], &["example.com", "localhost"]),
    (&["ip", "ipaddress", "addr"], &["192.0.2.10", "2001:db8::1"]),
    (&["mode"], &["r", "w"]),
    (&["firstname"], &["Ada", "Grace"]),
    (&["lastname", "surname"], &["Lovelace", "Hopper"]),
    (&["user", "username", "login", "author", "owner"], &["ada", "grace"]),
    (&["city", "town"], &["Berlin", "Reykjavík"]),
    (&["country", "region"], &["DE", "IS"]),
    (&["language", "lang", "locale"], &["en", "de_DE"]),
    (&["zip", "zipcode", "postcode", "postal"], &["10115", "SW1A 1AA"]),
    (&["street", "address"], &["Invalidenstraße 1", "10 Downing Street"]),
    (&["company", "organization", "organisation"], &["Example Ltd.", "Müller & Söhne"]),
    (&["color", "colour"], &["#336699", "red"]),
    (&["html", "markup"], &["<p>one <b>two</b></p>", "<a href='/x'>x</a>"]),
    (&["xml"], &["<a><b c=\"1\"/></a>"]),
    (&["csv"], &["a,b\n1,2\n"]),
    (&["sql"], &["SELECT 1"]),
    (&["version"], &["1.2.3", "2.0.0rc1"]),
    (&["mimetype", "mime"], &["text/html", "application/json"]),
    (&["extension", "ext"], &[".txt", ".tar.gz"]),
    (&["separator", "sep", "delimiter"], &[",", "; "]),
    (&["slug"], &["hello-world", "a-1"]),
    (&["digest", "checksum", "sha256", "md5"], &["d41d8cd98f00b204e9800998ecf8427e"]),
    (&["base64", "b64"], &["bWVuYWNl", "YQ=="]),
    (&["hex"], &["ff00", "0a"]),
];

/// Words in names, with the smallest and the largest number for them.
const NUMBERS: &[(&[&str], (i64, i64))] = &[
    (&["year"], (1990, 2030)),
    (&["month"], (1, 12)),
    (&["day"], (1, 28)),
    (&["hour"], (0, 23)),
    (&["minute", "second"], (0, 59)),
    (&["weekday", "dayofweek"], (0, 6)),
    (&["port"], (1024, 65535)),
    (&["age"], (0, 99)),
    (&["percent", "percentage"], (0, 100)),
    (&["status", "statuscode"], (200, 504)),
];

/// A plausible text for a parameter name.
pub(super) fn text(name: &str, draw: usize) -> Option<&'static str> {
    let texts = find(TEXTS, name)?;
    Some(texts[draw % texts.len()])
}

/// The range of plausible numbers for a parameter name.
pub(super) fn range(name: &str) -> Option<(i64, i64)> {
    find(NUMBERS, name).copied()
}

/// Words in the names of numeric fields.
const AMOUNTS: [&str; 22] = [
    "id",
    "count",
    "total",
    "amount",
    "price",
    "quantity",
    "size",
    "number",
    "num",
    "index",
    "length",
    "rate",
    "score",
    "balance",
    "weight",
    "height",
    "width",
    "duration",
    "latitude",
    "longitude",
    "temperature",
    "value",
];

/// A plausible value for a field name.
pub(crate) fn value(name: &str) -> Value {
    let words: Vec<String> = name.to_ascii_lowercase().split('_').map(str::to_owned).collect();
    let first = words.first().map_or("", String::as_str);
    let last = words.last().map_or("", String::as_str);
    if let Some((least, _)) = range(name) {
        json!(least)
    } else if matches!(first, "is" | "has" | "can") || matches!(last, "ok" | "success" | "enabled" | "active")
    {
        json!(true)
    } else if AMOUNTS.contains(&last) {
        json!(2)
    } else {
        json!(text(name, 0).unwrap_or("example"))
    }
}

/// Looks up the last known word of a name, because it is the noun: `host_file` is a file.
fn find<'a, T>(table: &'a [(&[&str], T)], name: &str) -> Option<&'a T> {
    let name = name.to_ascii_lowercase();
    let whole = name.replace('_', "");
    let words = name.split('_').rev().chain([whole.as_str()]);
    words
        .flat_map(|word| [word, word.strip_suffix('s').unwrap_or(word)])
        .find_map(|word| table.iter().find(|(words, _)| words.contains(&word)).map(|(_, found)| found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_values_follow_their_names() {
        assert_eq!(value("user_email"), "ada@example.com");
        assert_eq!((value("unit_price"), value("is_open")), (json!(2), json!(true)));
        assert_eq!((value("month"), value("anything")), (json!(1), json!("example")));
    }

    #[test]
    fn names_are_matched_by_words() {
        assert_eq!(text("customer_email", 0), Some("ada@example.com"));
        assert_eq!(text("EMAILS", 1), Some("a.b+c@example.org"));
        assert_eq!(text("first_name", 0), Some("Ada"));
        assert_eq!(text("host_file", 0), Some("/tmp/menace.txt"));
        assert_eq!(text("model", 0), None);
        assert_eq!(text("update", 0), None);
        assert_eq!(range("start_month"), Some((1, 12)));
        assert_eq!(range("monthly"), None);
    }
}

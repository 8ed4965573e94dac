//! Fenced blocks and links of a Markdown page, as far as our pages use them.

/// A fenced block.
pub(crate) struct Fence {
    /// Line of its opening fence, counted from 1.
    pub(crate) line: usize,
    /// Text after the opening fence, such as `sh` or `sh no-run`.
    pub(crate) language: String,
    /// Its lines.
    pub(crate) text: String,
    /// Line before it.
    before: String,
}

impl Fence {
    /// Whether its commands are executed.
    pub(crate) fn is_executed(&self) -> bool {
        self.language == "sh"
    }

    /// Reason in the comment before it for not executing it.
    pub(crate) fn exception(&self) -> Option<&str> {
        self.before.strip_prefix("<!-- no-run:")?.strip_suffix("-->").map(str::trim)
    }
}

/// Every fenced block of a page.
pub(crate) fn fences(page: &str) -> Vec<Fence> {
    let mut found: Vec<Fence> = Vec::new();
    let mut is_open = false;
    let mut before = "";
    for (index, line) in page.lines().enumerate() {
        match (is_open, line.strip_prefix("```")) {
            (false, Some(language)) => {
                is_open = true;
                found.push(Fence {
                    line: index + 1,
                    language: language.trim().to_owned(),
                    text: String::new(),
                    before: before.to_owned(),
                });
            }
            (true, Some(_)) => is_open = false,
            (true, None) => {
                let open = found.last_mut().expect("a fence is open");
                open.text += line;
                open.text.push('\n');
            }
            (false, None) => {}
        }
        before = line;
    }
    assert!(!is_open, "the last fence is not closed");
    found
}

/// Targets of links and pictures outside fenced blocks.
pub(crate) fn links(page: &str) -> Vec<String> {
    let mut is_open = false;
    let mut found = Vec::new();
    for line in page.lines() {
        if line.starts_with("```") {
            is_open = !is_open;
        }
        if is_open {
            continue;
        }
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        found.extend(targets.map(|(target, _)| target.to_owned()));
    }
    found
}

#[test]
fn fences_have_language_text_and_exception() {
    let page = "a [b](c.md#d)\n```sh\none\ntwo [x](y)\n```\n<!-- no-run: needs a key -->\n```sh no-run\nthree\n```\n";
    let found = fences(page);
    let [first, second] = &found[..] else { panic!("not two fences") };
    assert_eq!((first.line, first.text.as_str(), first.exception()), (2, "one\ntwo [x](y)\n", None));
    assert!(first.is_executed() && !second.is_executed());
    assert_eq!(second.exception(), Some("needs a key"));
    assert_eq!(links(page), ["c.md#d"]);
}

//! Parser of shell scripts.

/// A command of a script and the condition under which it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScriptCommand {
    pub(super) when: ScriptCondition,
    /// Variable assignment; such a step has no words.
    pub(super) assignment: Option<(String, ScriptWord)>,
    pub(super) words: Vec<ScriptWord>,
    pub(super) redirections: Vec<ScriptRedirection>,
}

/// Condition of a command on the status of the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptCondition {
    Always,
    AfterSuccess,
    AfterFailure,
}

/// A word as pieces that are expanded one by one.
pub(super) type ScriptWord = Vec<ScriptWordPiece>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ScriptWordPiece {
    /// Literal text.
    Text(String),
    /// A variable; its value is split into words unless it was quoted.
    Variable { name: String, quoted: bool },
}

/// Redirection of a command's stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ScriptRedirection {
    Input(ScriptWord),
    Output {
        stream: ScriptStream,
        append: bool,
        path: ScriptWord,
    },
    /// Duplicates the other stream (`2>&1`).
    Same {
        stream: ScriptStream,
        other: ScriptStream,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptStream {
    Stdout,
    Stderr,
}

/// Reserved words of unsupported syntax.
const RESERVED: [&str; 16] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "!",
    "{", "}",
];

/// Commands of a script, or a description of the unsupported syntax.
pub(super) fn parse(script: &str) -> Result<Vec<ScriptCommand>, String> {
    let characters: Vec<char> = script.chars().collect();
    ScriptParser { characters, position: 0, step: empty_step(ScriptCondition::Always), steps: Vec::new() }
        .script()
}

fn empty_step(when: ScriptCondition) -> ScriptCommand {
    ScriptCommand { when, assignment: None, words: Vec::new(), redirections: Vec::new() }
}

struct ScriptParser {
    characters: Vec<char>,
    position: usize,
    step: ScriptCommand,
    steps: Vec<ScriptCommand>,
}

impl ScriptParser {
    fn script(mut self) -> Result<Vec<ScriptCommand>, String> {
        while let Some(character) = self.peek() {
            match character {
                ' ' | '\t' => self.position += 1,
                '\n' | ';' => {
                    self.position += 1;
                    self.end_step(ScriptCondition::Always)?;
                }
                '&' | '|' => self.connector(character)?,
                '<' | '>' => {
                    let redirection = self.redirection(ScriptStream::Stdout)?;
                    self.step.redirections.push(redirection);
                }
                '2' if self.peek_after() == Some('>') && self.is_at_word_start() => {
                    self.position += 1;
                    let redirection = self.redirection(ScriptStream::Stderr)?;
                    self.step.redirections.push(redirection);
                }
                _ => self.word_or_assignment()?,
            }
        }
        if self.is_empty_step() && self.step.when != ScriptCondition::Always {
            return Err("end of file unexpected".to_owned());
        }
        self.end_step(ScriptCondition::Always)?;
        Ok(self.steps)
    }

    fn peek(&self) -> Option<char> {
        self.characters.get(self.position).copied()
    }

    fn peek_after(&self) -> Option<char> {
        self.characters.get(self.position + 1).copied()
    }

    fn is_at_word_start(&self) -> bool {
        self.position == 0
            || matches!(self.characters[self.position - 1], ' ' | '\t' | '\n' | ';' | '&' | '|')
    }

    fn is_empty_step(&self) -> bool {
        self.step.words.is_empty() && self.step.redirections.is_empty() && self.step.assignment.is_none()
    }

    fn word_or_assignment(&mut self) -> Result<(), String> {
        let start = self.position;
        let name = self.name();
        let is_assignment = self.step.words.is_empty() && !name.is_empty() && self.take('=');
        if is_assignment && self.step.assignment.is_none() {
            let value = self.word()?;
            self.step.assignment = Some((name, value));
            return Ok(());
        }
        if self.step.assignment.is_some() {
            return Err("the fake backend does not support a command after an assignment".to_owned());
        }
        self.position = start;
        let word = self.word()?;
        self.step.words.push(word);
        Ok(())
    }

    fn end_step(&mut self, next: ScriptCondition) -> Result<(), String> {
        if let Some([ScriptWordPiece::Text(first)]) = self.step.words.first().map(Vec::as_slice)
            && RESERVED.contains(&first.as_str())
        {
            return Err(format!("the fake backend does not support \"{first}\""));
        }
        let is_empty = self.is_empty_step();
        let step = std::mem::replace(&mut self.step, empty_step(next));
        if !is_empty {
            self.steps.push(step);
        } else if next != ScriptCondition::Always || step.when != ScriptCondition::Always {
            return Err("a command is missing".to_owned());
        }
        Ok(())
    }

    fn connector(&mut self, character: char) -> Result<(), String> {
        if self.peek_after() != Some(character) {
            return Err(format!("the fake backend does not support \"{character}\""));
        }
        self.position += 2;
        self.end_step(if character == '&' {
            ScriptCondition::AfterSuccess
        } else {
            ScriptCondition::AfterFailure
        })
    }

    fn redirection(&mut self, stream: ScriptStream) -> Result<ScriptRedirection, String> {
        let is_input = self.peek() == Some('<');
        self.position += 1;
        let append = self.take('>');
        if self.take('&') {
            let number = self.peek();
            self.position += 1;
            let other = match number {
                Some('1') => ScriptStream::Stdout,
                Some('2') => ScriptStream::Stderr,
                _ => return Err("the fake backend duplicates only descriptors 1 and 2".to_owned()),
            };
            return Ok(ScriptRedirection::Same { stream, other });
        }
        while self.take(' ') {}
        let path = self.word()?;
        if path.is_empty() {
            return Err("a redirection without a path".to_owned());
        }
        match (is_input, stream, append) {
            (true, ScriptStream::Stdout, false) => Ok(ScriptRedirection::Input(path)),
            (true, ..) => Err("the fake backend does not support this redirection".to_owned()),
            (false, stream, append) => Ok(ScriptRedirection::Output { stream, append, path }),
        }
    }

    fn take(&mut self, character: char) -> bool {
        let is_next = self.peek() == Some(character);
        self.position += usize::from(is_next);
        is_next
    }

    fn word(&mut self) -> Result<ScriptWord, String> {
        let mut pieces = Vec::new();
        while let Some(character) = self.peek() {
            match character {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' => break,
                '\'' => pieces.push(self.single_quoted()?),
                '"' => self.double_quoted(&mut pieces)?,
                '$' => pieces.push(self.variable(false)?),
                '\\' => {
                    let next = self.peek_after().ok_or("a backslash at the end")?;
                    self.position += 2;
                    push_character(&mut pieces, next);
                }
                '(' | ')' | '`' | '*' | '?' | '[' | ']' | '#' | '~' => {
                    return Err(format!("the fake backend does not support \"{character}\""));
                }
                character => {
                    self.position += 1;
                    push_character(&mut pieces, character);
                }
            }
        }
        Ok(pieces)
    }

    fn single_quoted(&mut self) -> Result<ScriptWordPiece, String> {
        self.position += 1;
        let rest = &self.characters[self.position..];
        let length =
            rest.iter().position(|character| *character == '\'').ok_or("unterminated quoted string")?;
        let text = rest[..length].iter().collect();
        self.position += length + 1;
        Ok(ScriptWordPiece::Text(text))
    }

    fn double_quoted(&mut self, pieces: &mut ScriptWord) -> Result<(), String> {
        self.position += 1;
        // An empty string is a word as well.
        pieces.push(ScriptWordPiece::Text(String::new()));
        loop {
            let character = self.peek().ok_or("unterminated quoted string")?;
            match character {
                '"' => {
                    self.position += 1;
                    return Ok(());
                }
                '$' => pieces.push(self.variable(true)?),
                '`' => return Err("the fake backend does not support \"`\"".to_owned()),
                '\\' if matches!(self.peek_after(), Some('"' | '\\' | '$' | '`')) => {
                    push_character(pieces, self.characters[self.position + 1]);
                    self.position += 2;
                }
                character => {
                    self.position += 1;
                    push_character(pieces, character);
                }
            }
        }
    }

    fn variable(&mut self, quoted: bool) -> Result<ScriptWordPiece, String> {
        self.position += 1;
        let name: String = match self.peek() {
            Some(character @ ('$' | '?')) => {
                self.position += 1;
                character.into()
            }
            Some('{') => {
                self.position += 1;
                let name = self.name();
                if name.is_empty() || !self.take('}') {
                    return Err("bad substitution".to_owned());
                }
                name
            }
            _ => self.name(),
        };
        if name.is_empty() {
            return Err("the fake backend supports only variables after $".to_owned());
        }
        Ok(ScriptWordPiece::Variable { name, quoted })
    }

    fn name(&mut self) -> String {
        let rest = self.characters[self.position..].iter();
        let name: String =
            rest.take_while(|character| character.is_ascii_alphanumeric() || **character == '_').collect();
        if name.starts_with(|first: char| first.is_ascii_digit()) {
            return String::new();
        }
        self.position += name.len();
        name
    }
}

fn push_character(pieces: &mut ScriptWord, character: char) {
    if let Some(ScriptWordPiece::Text(text)) = pieces.last_mut() {
        text.push(character);
    } else {
        pieces.push(ScriptWordPiece::Text(character.into()));
    }
}

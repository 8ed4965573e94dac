//! `menace memory`: stores, finds and deletes prompts and responses.

use std::io::Read;

use anyhow::Context;
use menace_engine::memory::{
    Memory, MemoryError, MemoryScope, MemorySearchMethod, MemoryTag, PromptInteraction,
};
use menace_store::{MemoryFilter, MemoryRecord};
use serde_json::{Map, Value, json};

use crate::arguments::{
    MemoryCommand, MemoryCompactArguments, MemoryListArguments, MemoryLogArguments, MemorySearchArguments,
};
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{ColumnAlignment, TableCell, TextStyle, TextTable, count, note, print, print_json};
use menace_app::calling::{memory, now_ms, open_store, runtime};

use super::UsageError;
use crate::terminal::shortened;

/// Maximum length of a prompt or response in a table, in characters.
const SHOWN: usize = 60;

pub(super) fn run(configuration: &Configuration, command: &MemoryCommand) -> anyhow::Result<MenaceExit> {
    runtime()?.block_on(async {
        let store = open_store(configuration.app()).await?;
        let memory = memory(configuration.app(), store.clone())?;
        match command {
            MemoryCommand::Log(arguments) => log(configuration, &memory, arguments).await?,
            MemoryCommand::Search(arguments) => search(&memory, arguments).await?,
            MemoryCommand::List(arguments) => list(&memory, arguments).await?,
            MemoryCommand::Compact(arguments) => compact(memory, arguments).await?,
        }
        store.close().await?;
        Ok(MenaceExit::Done)
    })
}

async fn log(
    configuration: &Configuration,
    memory: &Memory,
    arguments: &MemoryLogArguments,
) -> anyhow::Result<()> {
    let repository = std::path::absolute(configuration.repository(arguments.repo.as_deref()))?;
    let response = match arguments.response.as_str() {
        "-" => from_stdin()?,
        text => text.to_owned(),
    };
    let interaction = PromptInteraction {
        tag: arguments.tag,
        repository: repository.display().to_string(),
        section: arguments.section.clone(),
        prompt: arguments.prompt.clone(),
        response,
    };
    let logged = match memory.log(&interaction, now_ms(), None).await {
        Err(MemoryError::Empty) => return Err(UsageError::NothingToRemember.into()),
        logged => logged?,
    };
    if arguments.output.json {
        print_json(&memory.store.memory(logged.id).await?)?;
    } else {
        note(&format!("stored memory {}: {}", logged.id, interaction.tag));
    }
    if let Some(removed) = logged.compacted {
        note_removed(&removed);
    }
    Ok(())
}

/// All of stdin; invalid UTF-8 is replaced.
fn from_stdin() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).context("failed to read the response from stdin")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

async fn search(memory: &Memory, arguments: &MemorySearchArguments) -> anyhow::Result<()> {
    let scope = MemoryScope { tag: arguments.tag, repository: None };
    let found = memory.relevant(&arguments.query, &scope, at_most(arguments.limit)).await?;
    if arguments.output.json {
        return print_json(&json!({
            "version": 1, "query": arguments.query, "looked": found.looked, "problem": found.problem,
            "memories": found.memories,
        }));
    }
    if found.memories.is_empty() {
        note("no matching memories");
        return Ok(());
    }
    let method = match found.looked {
        MemorySearchMethod::Words => "words",
        MemorySearchMethod::WordsAndMeaning => "words and meaning",
    };
    note(&format!("{} by {method}", memories(found.memories.len())));
    print(&table(found.memories.iter().map(|found| &found.memory)))
}

async fn list(memory: &Memory, arguments: &MemoryListArguments) -> anyhow::Result<()> {
    let filter = MemoryFilter {
        tag: arguments.tag.map(|tag| tag.name().to_owned()),
        repository: None,
        limit: at_most(arguments.limit) as u64,
    };
    let all = memory.store.memories(&filter).await?;
    if arguments.output.json {
        return print_json(&json!({"version": 1, "memories": all}));
    }
    if all.is_empty() {
        note("no memories yet; store one with: menace memory log --tag INSIGHT --prompt TEXT");
        return Ok(());
    }
    print(&table(&all))
}

async fn compact(memory: Memory, arguments: &MemoryCompactArguments) -> anyhow::Result<()> {
    let retention = arguments.retention.clone().unwrap_or(memory.retention);
    if retention.is_everything() {
        return Err(UsageError::NoRetention.into());
    }
    let removed = Memory { retention, ..memory }.compact(now_ms()).await?;
    if arguments.output.json {
        let counts: Map<String, Value> =
            removed.iter().map(|(tag, count)| (tag.name().to_owned(), json!(count))).collect();
        return print_json(&json!({"version": 1, "removed": counts}));
    }
    note_removed(&removed);
    Ok(())
}

fn note_removed(removed: &[(MemoryTag, u64)]) {
    let each: Vec<String> = removed.iter().map(|(tag, count)| format!("{count} {tag}")).collect();
    let all = removed.iter().map(|(_, count)| count).sum::<u64>();
    let all = memories(usize::try_from(all).unwrap_or(usize::MAX));
    note(&format!("removed {all} ({})", each.join(", ")));
}

fn memories(number: usize) -> String {
    count(number, "memory").replace("memorys", "memories")
}

/// Row limit of a query; 0 stands for the largest number that a database accepts.
fn at_most(limit: usize) -> usize {
    if limit == 0 { usize::try_from(i64::MAX).unwrap_or(usize::MAX) } else { limit }
}

fn table<'a>(memories: impl IntoIterator<Item = &'a MemoryRecord>) -> String {
    let mut table = TextTable::new(&[
        ("id", ColumnAlignment::Right),
        ("tag", ColumnAlignment::Left),
        ("age", ColumnAlignment::Right),
        ("section", ColumnAlignment::Left),
        ("prompt", ColumnAlignment::Left),
        ("response", ColumnAlignment::Left),
    ]);
    let now_ms = now_ms();
    for memory in memories {
        table.row([
            memory.id.to_string().into(),
            TableCell::styled(&memory.tag, TextStyle::Bold),
            age(now_ms - memory.at_ms).into(),
            on_a_line(&memory.section).into(),
            on_a_line(&memory.prompt).into(),
            on_a_line(&memory.response).into(),
        ]);
    }
    table.text()
}

/// `12 s`, `5 min`, `3 h`, `40 d`.
fn age(milliseconds: i64) -> String {
    const UNITS: [(i64, &str); 3] = [(86_400, "d"), (3_600, "h"), (60, "min")];
    let seconds = milliseconds.max(0) / 1000;
    let fits = UNITS.into_iter().find(|(length, _)| seconds >= *length);
    let (length, unit) = fits.unwrap_or((1, "s"));
    format!("{} {unit}", seconds / length)
}

/// The text on one line, shortened, without control characters: a response must not move the cursor or change colours.
fn on_a_line(text: &str) -> String {
    let plain: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    shortened(&words.join(" "), SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_of_memories_have_one_unit() {
        for (seconds, expected) in
            [(-5, "0 s"), (59, "59 s"), (60, "1 min"), (7_199, "1 h"), (86_400 * 40, "40 d")]
        {
            assert_eq!(age(seconds * 1000), expected);
        }
    }

    #[test]
    fn memories_are_shown_on_one_line_without_control_characters() {
        assert_eq!(on_a_line("a\n\n b\u{1b}[31m\0c"), "a b [31m c");
        assert_eq!(on_a_line(&"é".repeat(61)).chars().count(), 60);
        assert_eq!(memories(1), "1 memory");
        assert_eq!(memories(1200), "1,200 memories");
    }
}

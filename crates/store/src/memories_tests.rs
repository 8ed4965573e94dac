//! Memories in real files.

use std::path::Path;

use sea_orm::ConnectionTrait;

use crate::{MemoryFilter, MemoryRecord, NewMemory, Store, StoreError};

const ALL: MemoryFilter = MemoryFilter { tag: None, repository: None, limit: 100 };

async fn open(directory: &Path) -> Store {
    Store::open("sqlite:///menace.db", directory).await.unwrap()
}

fn memory(at_ms: i64, tag: &str, prompt: &str, response: &str) -> NewMemory {
    NewMemory {
        at_ms,
        tag: tag.into(),
        repository: "/shop".into(),
        section: "shop.cart:add".into(),
        prompt: prompt.into(),
        response: response.into(),
    }
}

async fn remember(store: &Store, prompts: &[&str]) {
    for (at_ms, prompt) in (1..).zip(prompts) {
        store.add_memory(&memory(at_ms, "INSIGHT", prompt, "")).await.unwrap();
    }
}

fn prompts(memories: &[MemoryRecord]) -> Vec<&str> {
    memories.iter().map(|memory| memory.prompt.as_str()).collect()
}

/// Runs the integrity check of FTS5, which fails if the index differs from the text in `memories`.
async fn check_text_index(store: &Store) {
    let question = "INSERT INTO memories_text (memories_text, rank) VALUES ('integrity-check', 1)";
    store.connection().execute_unprepared(question).await.unwrap();
}

#[tokio::test]
async fn the_best_match_comes_first_and_words_match_in_all_forms() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    store
        .add_memory(&memory(1, "ERROR_FIX", "division by zero in the cart", "divide by max(n, 1)"))
        .await
        .unwrap();
    store.add_memory(&memory(2, "INSIGHT", "the cart is slow", "prices are read twice")).await.unwrap();
    store.add_memory(&memory(3, "INSIGHT", "the café closes", "nothing else")).await.unwrap();

    let found = async |question: &str, filter: &MemoryFilter| {
        let found = store.search_memories(question, filter).await.unwrap();
        found.iter().map(|memory| memory.id).collect::<Vec<_>>()
    };
    assert_eq!(found("cart: division by ZERO?", &ALL).await, [1, 2]);
    assert_eq!(found("shop.price", &ALL).await, [2], "the answer contains the plural");
    assert_eq!(found("CAFE", &ALL).await, [3]);
    assert_eq!(found("unheard", &ALL).await, [0; 0]);
    let insights = MemoryFilter { tag: Some("INSIGHT".into()), ..ALL };
    assert_eq!(found("division cart", &insights).await, [2]);
    let elsewhere = MemoryFilter { repository: Some("/bank".into()), ..ALL };
    assert_eq!(found("cart", &elsewhere).await, [0; 0]);
    assert_eq!(found("cart", &MemoryFilter { limit: 1, ..ALL }).await.len(), 1);
}

#[tokio::test]
async fn any_text_is_a_valid_memory_question() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    remember(&store, &["near the cart", "a \0 NUL and a 🛒", "prompt"]).await;
    let many: String = (0..10_000).map(|number| format!("w{number} ")).collect();
    let long = "x".repeat(1 << 20);
    let finds_nothing = [
        "",
        " ",
        "\"",
        "\"\"\"",
        "'",
        "*",
        "(",
        ")",
        "((",
        "AND",
        "OR OR",
        "car\0t \"",
        "\0",
        "🛒🛒",
        "\u{feff}",
        "\u{301}",
        "?",
        "?1",
        "$1",
        ":name",
        "%",
        "_",
        "\\",
        "+",
        "a+b",
        "\r\n\t",
        "'; DROP TABLE memories; --",
        "١٢٣ 東京",
        &many,
        &long,
    ];
    let finds_it = [
        "cart*",
        "NEAR(cart, 5)",
        "NOT cart",
        "cart AND",
        "^cart",
        "-cart",
        "{response}:cart",
        "nothing:cart",
        "cart\0",
        "\"cart",
        "cart\\\"",
        "🛒🛒 cart 👩‍👩‍👧",
        "\u{202e}cart",
        "NEAR",
        "(((((((cart",
    ];
    let cases = finds_nothing
        .into_iter()
        .map(|text| (text, false))
        .chain(finds_it.into_iter().map(|text| (text, true)));
    for (hostile, is_found) in cases {
        let shown: String = hostile.chars().take(40).collect();
        let found = store.search_memories(hostile, &ALL).await;
        let found = found.unwrap_or_else(|error| panic!("{shown:?}: {error}"));
        assert_eq!(prompts(&found).contains(&"near the cart"), is_found, "{shown:?}");
    }
    assert_eq!(store.memories(&ALL).await.unwrap().len(), 3);
    let with_nul = store.search_memories("nul", &ALL).await.unwrap();
    assert_eq!(prompts(&with_nul), ["a \0 NUL and a 🛒"], "it is stored as it was");
}

#[tokio::test]
async fn compacted_memories_are_gone_from_the_index_and_the_newest_stay() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    for at_ms in 1..=10 {
        store.add_memory(&memory(at_ms, "INSIGHT", &format!("insight \0 {at_ms}"), "cart")).await.unwrap();
        store.add_memory(&memory(at_ms, "ERROR_FIX", &format!("fix {at_ms}"), "cart")).await.unwrap();
    }
    // The clock was set back; the memory is still the newest.
    store.add_memory(&memory(0, "INSIGHT", "insight of yesterday", "")).await.unwrap();
    assert_eq!(store.last_compaction().await.unwrap(), None);
    let keep = [("INSIGHT".to_owned(), 3), ("FEEDBACK".to_owned(), 5)];
    let removed = store.compact_memories(&keep, 77).await.unwrap();
    assert_eq!(removed, [("INSIGHT".to_owned(), 8), ("FEEDBACK".to_owned(), 0)]);
    assert_eq!(store.last_compaction().await.unwrap(), Some(77));

    let insights = MemoryFilter { tag: Some("INSIGHT".into()), ..ALL };
    let left = store.memories(&insights).await.unwrap();
    assert_eq!(prompts(&left), ["insight of yesterday", "insight \0 10", "insight \0 9"]);
    assert_eq!(store.search_memories("cart", &ALL).await.unwrap().len(), 12);
    assert!(store.search_memories("8", &insights).await.unwrap().is_empty());
    check_text_index(&store).await;
    // Numbers are not reused, so that a late embedding cannot be attached to another memory.
    let next = store.add_memory(&memory(20, "INSIGHT", "new", "")).await.unwrap();
    assert_eq!(next, 22);
    let none = [("INSIGHT".to_owned(), 0), ("ERROR_FIX".to_owned(), 0)];
    store.compact_memories(&none, 78).await.unwrap();
    assert!(store.memories(&ALL).await.unwrap().is_empty());
}

#[tokio::test]
async fn embeddings_of_memories_are_read_in_pages_and_by_embedder() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    remember(&store, &["one", "two", "three", "four"]).await;
    let meaning = [0.25_f32, -1.5e-7, f32::MAX];
    for id in 1..=3 {
        store.set_embedding(id, "small", &meaning).await.unwrap();
    }
    store.set_embedding(3, "large", &[1.0]).await.unwrap();
    let missing = store.set_embedding(9, "small", &meaning).await.unwrap_err();
    assert!(matches!(missing, StoreError::NoMemory(9)), "{missing}");

    let page = MemoryFilter { limit: 1, ..ALL };
    assert_eq!(store.memory_embeddings("small", 0, &page).await.unwrap(), [(1, meaning.to_vec())]);
    assert_eq!(store.memory_embeddings("small", 1, &ALL).await.unwrap(), [(2, meaning.to_vec())]);
    assert_eq!(store.memory_embeddings("large", 0, &ALL).await.unwrap(), [(3, vec![1.0])]);
    assert_eq!(store.memory(2).await.unwrap().embedder.as_deref(), Some("small"));
    check_text_index(&store).await;
    assert!(matches!(store.memory(9).await, Err(StoreError::NoMemory(9))));
}

#[tokio::test]
async fn memories_are_found_after_a_broken_file_was_recovered() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    let prompts: Vec<String> =
        (0..2000).map(|number| format!("memory {number} of the cart {}", "x".repeat(200))).collect();
    remember(&store, &prompts.iter().map(String::as_str).collect::<Vec<_>>()).await;
    store.close().await.unwrap();
    let file = directory.path().join("menace.db");
    let mut bytes = std::fs::read(&file).unwrap();
    for page in bytes.chunks_mut(4096).skip(50).step_by(40) {
        page.fill(0xff);
    }
    std::fs::write(&file, bytes).unwrap();
    std::fs::write(directory.path().join("menace.db-wal"), "").unwrap();

    let store = open(directory.path()).await;
    let every = MemoryFilter { limit: 5000, ..ALL };
    let saved = store.memories(&every).await.unwrap().len();
    assert!((1..2000).contains(&saved), "{saved} of 2000");
    assert_eq!(store.search_memories("cart", &every).await.unwrap().len(), saved);
    check_text_index(&store).await;
}

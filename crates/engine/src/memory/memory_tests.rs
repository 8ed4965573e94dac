//! Memory on a real database, with an embedder that knows three concepts.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use menace_model::ids::RunId;
use menace_store::{MemoryFilter, Store};

use super::{
    EmbeddingError, Memory, MemoryError, MemoryRetention, MemoryScope, MemorySearchMethod, MemoryTag,
    PromptInteraction, TextEmbedder,
};
use crate::events::{RunEvent, RunEventBus};

/// Embedder that knows money, speed and colour; other words do not count.
struct ConceptEmbedder;

const CONCEPTS: [&[&str]; 3] =
    [&["price", "cost", "invoice"], &["slow", "latency", "fast"], &["red", "blue", "colour"]];

#[async_trait]
impl TextEmbedder for ConceptEmbedder {
    fn name(&self) -> &'static str {
        "concepts"
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbeddingError> {
        let count = |text: &String, words: &[&str]| {
            text.split_whitespace().filter(|word| words.contains(word)).count() as f32
        };
        Ok(texts.iter().map(|text| CONCEPTS.iter().map(|words| count(text, words)).collect()).collect())
    }
}

/// Embedder that fails with a secret in its message.
struct FailingEmbedder;

#[async_trait]
impl TextEmbedder for FailingEmbedder {
    fn name(&self) -> &'static str {
        "broken"
    }

    async fn embed(&self, _: &[String]) -> Result<Vec<Vec<f32>>, EmbeddingError> {
        Err(EmbeddingError::Asked { embedder: "broken".into(), problem: "hunter2 is no key".into() })
    }
}

fn scrub(text: &str) -> String {
    text.replace("hunter2", "[secret]")
}

async fn memory(directory: &Path) -> Memory {
    Memory {
        store: Store::open("sqlite:///menace.db", directory).await.unwrap(),
        embedder: None,
        retention: MemoryRetention::default(),
        compact_interval: None,
        scrub,
    }
}

fn retention(tag: &str, most: usize) -> MemoryRetention {
    MemoryRetention::of_counts(&BTreeMap::from([(tag.to_owned(), most)])).unwrap()
}

fn interaction(tag: MemoryTag, prompt: &str, response: &str) -> PromptInteraction {
    PromptInteraction {
        tag,
        repository: "/shop".into(),
        section: "shop.cart:add".into(),
        prompt: prompt.into(),
        response: response.into(),
    }
}

async fn log(memory: &Memory, prompts: &[&str]) {
    for (now_ms, prompt) in (1..).zip(prompts) {
        memory.log(&interaction(MemoryTag::Insight, prompt, ""), now_ms, None).await.unwrap();
    }
}

async fn relevant(memory: &Memory, question: &str) -> (Vec<u64>, MemorySearchMethod) {
    let found = memory.relevant(question, &MemoryScope::default(), 10).await.unwrap();
    (found.memories.iter().map(|found| found.memory.id).collect(), found.looked)
}

#[tokio::test]
async fn secrets_are_masked_in_memories_and_events() {
    let directory = tempfile::tempdir().unwrap();
    let memory = memory(directory.path()).await;
    let run = RunId::new(1, 1);
    let bus = RunEventBus::new(memory.store.clone(), run.clone());
    let mut listener = bus.subscribe();
    let told = interaction(MemoryTag::ErrorFix, "\n log in with hunter2\u{1b}[31m\nmore", "hunter2 works");
    let logged = memory.log(&told, 5, Some(&bus)).await.unwrap();
    assert_eq!((logged.problem, logged.compacted), (None, None));

    let kept = memory.store.memory(logged.id).await.unwrap();
    assert_eq!((kept.tag.as_str(), kept.response.as_str()), ("ERROR_FIX", "[secret] works"));
    assert!(!kept.prompt.contains("hunter2"), "{}", kept.prompt);
    let (_, event) = listener.recv().await.unwrap();
    assert_eq!(event.kind(), "memory:new");
    let summary = "log in with [secret][31m".to_owned();
    assert_eq!(event, RunEvent::MemoryNew { id: logged.id, tag: MemoryTag::ErrorFix, summary });
    let stored = &memory.store.events(&run, 0, 10).await.unwrap()[0];
    assert_eq!((stored.kind.as_str(), &stored.detail["tag"]), ("memory:new", &"ERROR_FIX".into()));
    let file = std::fs::read(directory.path().join("menace.db-wal")).unwrap();
    assert!(!file.windows(7).any(|bytes| bytes == b"hunter2"), "a secret is in the database");
}

#[tokio::test]
async fn a_long_first_line_of_a_memory_is_shortened_in_its_event() {
    let directory = tempfile::tempdir().unwrap();
    let memory = memory(directory.path()).await;
    let bus = RunEventBus::new(memory.store.clone(), RunId::new(1, 1));
    let mut listener = bus.subscribe();
    for (prompt, expected) in [
        ("é".repeat(80), "é".repeat(80)),
        ("é".repeat(81), "é".repeat(79) + "…"),
        (" ".into(), "answer".into()),
    ] {
        memory.log(&interaction(MemoryTag::Feedback, &prompt, "answer"), 1, Some(&bus)).await.unwrap();
        let RunEvent::MemoryNew { summary, .. } = listener.recv().await.unwrap().1 else { panic!() };
        assert_eq!(summary, expected);
    }
}

#[tokio::test]
async fn an_empty_memory_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let memory = memory(directory.path()).await;
    let nothing = memory.log(&interaction(MemoryTag::Insight, " \n", ""), 1, None).await.unwrap_err();
    assert!(matches!(nothing, MemoryError::Empty), "{nothing}");
}

#[tokio::test]
async fn memories_are_found_by_words_without_an_embedder_and_by_meaning_with_one() {
    let directory = tempfile::tempdir().unwrap();
    let mut memory = memory(directory.path()).await;
    let prompts =
        ["the invoice is wrong", "latency grows", "the sky is blue", "price and cost of a slow cart"];
    log(&memory, &prompts).await;
    assert_eq!(relevant(&memory, "cost").await, (vec![4], MemorySearchMethod::Words));

    // The stored memories have no embeddings yet, so the search is by words only.
    memory.embedder = Some(Arc::new(ConceptEmbedder));
    assert_eq!(relevant(&memory, "cost").await, (vec![4], MemorySearchMethod::Words));
    log(&memory, &prompts).await;
    // 8 matches by word and meaning, 5 by meaning alone, 4 by word alone, and colours do not match.
    assert_eq!(relevant(&memory, "cost").await, (vec![8, 5, 4], MemorySearchMethod::WordsAndMeaning));
    let none =
        memory.relevant("cost", &MemoryScope { repository: Some("/bank".into()), tag: None }, 10).await;
    assert!(none.unwrap().memories.is_empty());
    let fixes =
        memory.relevant("cost", &MemoryScope { repository: None, tag: Some(MemoryTag::ErrorFix) }, 10).await;
    assert!(fixes.unwrap().memories.is_empty());
    assert_eq!(memory.relevant("cost", &MemoryScope::default(), 1).await.unwrap().memories.len(), 1);
}

#[tokio::test]
async fn a_question_without_an_embedding_is_searched_by_words() {
    let directory = tempfile::tempdir().unwrap();
    let memory = Memory { embedder: Some(Arc::new(ConceptEmbedder)), ..memory(directory.path()).await };
    log(&memory, &["price of the cart"]).await;
    let found = memory.relevant("cart", &MemoryScope::default(), 10).await.unwrap();
    assert_eq!((found.memories.len(), found.looked), (1, MemorySearchMethod::Words));
    assert!(found.problem.unwrap().contains("a zero or non-finite vector"));
    assert_eq!(relevant(&memory, "  ").await, (vec![], MemorySearchMethod::Words));
}

#[tokio::test]
async fn a_failing_embedder_loses_no_memory_and_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let memory = Memory { embedder: Some(Arc::new(FailingEmbedder)), ..memory(directory.path()).await };
    let logged = memory.log(&interaction(MemoryTag::Insight, "the cart", ""), 1, None).await.unwrap();
    assert!(logged.problem.unwrap().contains("[secret] is no key"));
    assert_eq!(memory.store.memory(logged.id).await.unwrap().embedder, None);
    let found = memory.relevant("cart", &MemoryScope::default(), 10).await.unwrap();
    assert_eq!((found.memories.len(), found.looked), (1, MemorySearchMethod::Words));
    assert!(found.problem.unwrap().contains("[secret] is no key"));
}

#[tokio::test]
async fn memories_are_compacted_when_the_interval_has_passed() {
    let directory = tempfile::tempdir().unwrap();
    let memory = Memory {
        retention: retention("insight", 2),
        compact_interval: Some(Duration::from_secs(1)),
        ..memory(directory.path()).await
    };
    let at = async |now_ms: i64| {
        let logged =
            memory.log(&interaction(MemoryTag::Insight, "something", ""), now_ms, None).await.unwrap();
        logged.compacted.map(|compacted| compacted[0])
    };
    assert_eq!(at(10_000).await, Some((MemoryTag::Insight, 0)), "never compacted before");
    for now_ms in [10_001, 10_500, 10_999] {
        assert_eq!(at(now_ms).await, None);
    }
    assert_eq!(at(11_000).await, Some((MemoryTag::Insight, 3)));
    assert_eq!(at(11_500).await, None);
    // The clock was set back: the last stored memory is kept, and compaction is not postponed until the clock has
    // caught up.
    assert_eq!(at(5_000).await, Some((MemoryTag::Insight, 2)));
    let left = memory.store.memories(&MemoryFilter { limit: 10, ..MemoryFilter::default() }).await.unwrap();
    assert_eq!(left.iter().map(|memory| memory.at_ms).collect::<Vec<_>>(), [5_000, 11_500]);
}

#[tokio::test]
async fn memories_stay_without_a_retention_or_an_interval() {
    let directory = tempfile::tempdir().unwrap();
    let mut memory = memory(directory.path()).await;
    memory.compact_interval = Some(Duration::ZERO);
    log(&memory, &["one", "two"]).await;
    assert_eq!(memory.store.last_compaction().await.unwrap(), None);
    memory.compact_interval = None;
    memory.retention = retention("insight", 1);
    log(&memory, &["three"]).await;
    assert_eq!(memory.store.last_compaction().await.unwrap(), None);
    assert_eq!(memory.compact(9).await.unwrap(), [(MemoryTag::Insight, 2)]);
}

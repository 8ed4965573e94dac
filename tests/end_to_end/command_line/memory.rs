//! Memories: stored with a tag, searched by any query, and compacted.

use menace_tests::RepositoryTree;
use serde_json::{Value, json};

const FOUR: &str = "FEEDBACK, IMPROVEMENT_PATH, ERROR_FIX, INSIGHT";

fn log(tree: &RepositoryTree, tag: &str, prompt: &str, response: &str) -> Value {
    let all = ["memory", "log", "--tag", tag, "--prompt", prompt, "--response", response, "--json"];
    tree.menace(all).run().success().json()
}

fn ids(found: &Value) -> Vec<u64> {
    found["memories"].as_array().unwrap().iter().map(|memory| memory["id"].as_u64().unwrap()).collect()
}

fn list(tree: &RepositoryTree, more: &[&str]) -> Vec<u64> {
    let arguments = ["memory", "list", "--json"].into_iter().chain(more.iter().copied());
    ids(&tree.menace(arguments).run().success().json())
}

#[test]
fn memories_are_kept_with_their_tag_and_found_by_their_words() {
    let tree = RepositoryTree::new();
    let first = log(&tree, "error-fix", "ZeroDivisionError in shop.cart:average", "divide by max(n, 1)");
    assert_eq!(
        (&first["id"], &first["tag"], &first["embedder"]),
        (&json!(1), &json!("ERROR_FIX"), &Value::Null)
    );
    let about = ["--section", "shop.cart:add", "--repo", "/srv/shop", "--response", "-", "--json"];
    let second = tree
        .menace(["memory", "log", "--tag", "Insight", "--prompt", "-v is slow"].into_iter().chain(about))
        .input("prices are read twice\nevery time\n")
        .run()
        .success()
        .json();
    assert_eq!(second["response"], "prices are read twice\nevery time\n");
    assert_eq!((&second["repository"], &second["section"]), (&json!("/srv/shop"), &json!("shop.cart:add")));

    let found = tree.menace(["memory", "search", "average price?", "--json"]).run().success().json();
    assert_eq!((&found["looked"], ids(&found).len()), (&json!("words"), 2));
    assert!(found["memories"][0]["score"].as_f64().unwrap() > 0.0);
    let fixes = ["memory", "search", "average price?", "--tag", "ERROR_FIX", "--json"];
    assert_eq!(ids(&tree.menace(fixes).run().success().json()), [1]);
    assert_eq!(list(&tree, &[]), [2, 1]);
    assert_eq!(list(&tree, &["--tag", "insight"]), [2]);
    assert_eq!(list(&tree, &["--limit", "1"]), [2]);
    let shown = tree.menace(["memory", "search", "price"]).run().success();
    shown.stdout_contains(&["INSIGHT", "shop.cart:add", "prices are read twice every time"]);
    shown.stderr_contains(&["1 memory by words"]);
    tree.menace(["memory", "list"]).run().success().stdout_contains(&["ERROR_FIX", "divide by max(n, 1)"]);
}

#[test]
fn any_query_of_memories_is_answered() {
    let tree = RepositoryTree::new();
    log(&tree, "INSIGHT", "near the cart", "\u{1b}[31mred");
    for (query, count) in [
        ("", 0),
        ("\"", 0),
        ("cart\"", 1),
        ("NEAR(cart, 5)", 1),
        ("* OR *", 0),
        ("-cart", 1),
        ("--json", 0),
        ("prompt:", 0),
        ("{prompt}:cart AND", 1),
        ("'; DROP TABLE memories; --", 0),
        ("🛒", 0),
        ("CART 🛒 (((", 1),
    ] {
        let found = tree.menace(["memory", "search", "--json", "--", query]).run().success().json();
        assert_eq!((ids(&found).len(), &found["query"]), (count, &json!(query)), "{query:?}");
    }
    let nothing = tree.menace(["memory", "search", "unheard"]).run().success();
    assert_eq!(nothing.stdout, "");
    nothing.stderr_contains(&["no matching memories"]);
    let shown = tree.menace(["memory", "list"]).run().success();
    assert!(!shown.stdout.contains('\u{1b}'), "a memory changes colours: {:?}", shown.stdout);
}

#[test]
fn memories_are_compacted_by_tag() {
    let tree = RepositoryTree::new();
    for number in 0..4 {
        log(&tree, "INSIGHT", &format!("insight {number}"), "cart");
        log(&tree, "ERROR_FIX", &format!("fix {number}"), "cart");
    }
    let compact = ["memory", "compact", "--retention", "insight=1,FEEDBACK=3", "--json"];
    let removed = tree.menace(compact).run().success().json();
    assert_eq!(removed, json!({"version": 1, "removed": {"FEEDBACK": 0, "INSIGHT": 3}}));
    assert_eq!(list(&tree, &[]), [8, 7, 6, 4, 2]);
    let found = tree.menace(["memory", "search", "cart", "--json"]).run().success().json();
    assert_eq!(ids(&found).len(), 5);
    let again = tree.menace(["memory", "compact"]).variable("GPT_MEMORY_RETENTION", "error_fix=2").run();
    again.success().stderr_contains(&["removed 2 memories (2 ERROR_FIX)"]);
    assert_eq!(list(&tree, &[]), [8, 7, 6]);

    // First the last compaction is recent, then the interval has passed.
    let log_with = |interval: &str| {
        tree.menace(["memory", "log", "--tag", "insight", "--prompt", "more"])
            .variable("GPT_MEMORY_RETENTION", "insight=1")
            .variable("GPT_MEMORY_COMPACT_INTERVAL", interval)
            .run()
            .success()
            .stderr
    };
    let early = log_with("1800");
    assert!(early.contains("stored memory 9") && !early.contains("removed"), "{early}");
    assert!(log_with("0").contains("removed 2 memories (2 INSIGHT)"));
    assert_eq!(list(&tree, &[]), [10, 8, 6]);
}

#[test]
fn wrong_usage_of_memory_is_an_error_with_a_hint() {
    let tree = RepositoryTree::new();
    let unknown = tree.menace(["memory", "log", "--tag", "note", "--prompt", "x"]).run().exits_with(2);
    unknown.stderr_contains(&["--tag", "note", FOUR]);
    tree.menace(["memory", "search", "x", "--tag", "note"]).run().exits_with(2).stderr_contains(&[FOUR]);
    tree.menace(["memory", "list", "--tag", ""]).run().exits_with(2).stderr_contains(&["--tag"]);
    let empty = tree.menace(["memory", "log", "--tag", "insight", "--prompt", " "]).run().exits_with(2);
    empty.stderr_contains(&["nothing to store", "hint: pass --prompt"]);
    let silent = tree.menace(["memory", "log", "--tag", "insight", "--prompt", "", "--response", "-"]);
    silent.run().exits_with(2).stderr_contains(&["nothing to store"]);
    tree.menace(["memory", "compact"]).run().exits_with(2).stderr_contains(&["GPT_MEMORY_RETENTION"]);
    for wrong in ["insight", "insight=-1", "insigt=4", ""] {
        tree.menace(["memory", "compact", "--retention", wrong])
            .run()
            .exits_with(2)
            .stderr_contains(&["error_fix=20"]);
    }
    let setting = tree.menace(["memory", "list"]).variable("GPT_MEMORY_RETENTION", "insigt=4").run();
    setting.exits_with(2).stderr_contains(&["GPT_MEMORY_RETENTION", "\"insigt\"", FOUR]);
    assert!(list(&tree, &[]).is_empty());
}

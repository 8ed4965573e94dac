//! Fuzz tests: no file, however broken, makes the analysis panic, hang or run out of stack.
//!
//! `MENACE_FUZZ_FILES` sets the number of generated files; `script/bench fuzz` uses 100,000 in a release build.

use std::time::{Duration, Instant};

use super::extract;
use crate::syntax::STACK_BYTES;

/// Python with every construct that a rule examines, as input for mutation.
const SEEDS: &[&str] = &[
    include_str!("../../../../examples/shop/shop/cart.py"),
    include_str!("../../../../examples/shop/shop/search.py"),
    include_str!("../../../../examples/shop/shop/shipping.py"),
    include_str!("../../../../examples/shop/shop/storage/records.py"),
    include_str!("../../../../examples/shop/shop/payments.py"),
    "match a:\n    case {'k': [x, *y]} | C(z=1) if x > 1: pass\n    case _: pass\n",
    "type A[T: int, *U, **P] = list[T]\nclass B[T](C, metaclass=M): x: T = f'{a!r:>{w}} {b=}'\n",
    "async def f(a, /, b=1, *c, d: 'int' = 2, **e) -> None:\n    async with x as (y, z): await y\n    yield (yield)\n",
    "try: import a.b as c\nexcept* (E, F) as g: raise X from g\nelse: del c[0]\nfinally: nonlocal h\n",
    "x = lambda *a, k=1: {**a, 'b': 2} if not a else [*b, (c := 3)]\nwith (open(x) as f, g): global q\n",
    "# coding: latin-1\n@d.e(1)\ndef f(x): # noqa: F401\n    '''Doc.\n\n    Raises:\n        E: y\n    '''\n    return x[1:2]\n",
];

/// Fragments that are likely to break a parser where they do not belong.
const PIECES: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    ";",
    ",",
    ".",
    "..",
    "...",
    "=",
    ":=",
    "->",
    "@",
    "*",
    "**",
    "//",
    "~",
    "!",
    "\\",
    "\n",
    "\r",
    "\r\n",
    "\t",
    "    ",
    "\u{c}",
    "\0",
    "\u{feff}",
    "'",
    "\"",
    "'''",
    "\"\"\"",
    "f'",
    "rb'",
    "t'{",
    "f'{x!",
    "#",
    "# nosec",
    "# noqa",
    "def ",
    "class ",
    "lambda ",
    "if ",
    "else:",
    "elif ",
    "for ",
    "in ",
    "while ",
    "try:",
    "except ",
    "finally:",
    "with ",
    "as ",
    "import ",
    "from ",
    "return ",
    "yield ",
    "await ",
    "async ",
    "match ",
    "case ",
    "type ",
    "global ",
    "nonlocal ",
    "del ",
    "assert ",
    "raise ",
    "not ",
    "and ",
    "or ",
    "is ",
    "None",
    "True",
    "0x",
    "1e",
    "1_",
    "0777",
    "1j",
    "é",
    "变量",
    "\u{202e}",
    "__all__ = [",
    "TYPE_CHECKING",
    "print",
];

/// Seeded generator without dependencies, so that a failure can be reproduced.
struct FuzzGenerator(u64);

impl FuzzGenerator {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound.max(1)).unwrap()).unwrap()
    }
}

fn generate_file(random: &mut FuzzGenerator) -> Vec<u8> {
    match random.below(10) {
        0 => (0..random.below(400)).map(|_| random.next().to_le_bytes()[0]).collect(),
        1 => (0..random.below(200)).flat_map(|_| PIECES[random.below(PIECES.len())].bytes()).collect(),
        _ => mutate(SEEDS[random.below(SEEDS.len())].as_bytes(), random),
    }
}

fn mutate(seed: &[u8], random: &mut FuzzGenerator) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(8) {
        let start = random.below(bytes.len());
        let end = (start + random.below(60)).min(bytes.len());
        match random.below(5) {
            0 => drop(bytes.drain(start..end)),
            1 => bytes.truncate(start),
            2 => drop(bytes.splice(start..start, PIECES[random.below(PIECES.len())].bytes())),
            3 => {
                let copy = bytes[start..end].to_vec();
                let target = random.below(bytes.len());
                drop(bytes.splice(target..target, copy));
            }
            _ => {
                if let Some(byte) = bytes.get_mut(start) {
                    *byte = random.next().to_le_bytes()[0];
                }
            }
        }
    }
    bytes
}

fn on_a_large_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work).unwrap().join().unwrap()
}

#[test]
fn random_and_mutated_files_are_analysed_without_panic_or_hang() {
    let files: u64 = std::env::var("MENACE_FUZZ_FILES").map_or(1_500, |text| text.parse().unwrap());
    on_a_large_stack(move || {
        for number in 0..files {
            let bytes = generate_file(&mut FuzzGenerator(number));
            let started = Instant::now();
            let outcome = std::panic::catch_unwind(|| extract(bytes.clone()));
            let text = String::from_utf8_lossy(&bytes);
            assert!(outcome.is_ok(), "file {number} panics:\n{text}");
            assert!(started.elapsed() < Duration::from_secs(5), "file {number} takes too long:\n{text}");
        }
    });
}

#[test]
fn deepest_parsed_trees_fit_on_the_stack() {
    const BYTES: usize = 140_000;
    let pairs =
        [("-", ""), ("not ", ""), ("(", ")"), ("[", "]"), ("f(", ")"), ("{1: ", "}"), ("lambda: ", "")];
    for (open, close) in pairs {
        let levels = BYTES / (open.len() + close.len());
        let text = format!("x = {}a{}\n", open.repeat(levels), close.repeat(levels));
        on_a_large_stack(move || extract(text.into_bytes()));
    }
    for link in [".a", "(x)", "[0]", " + 1", " and 1 or 2", " if b else c"] {
        let text = format!("x = a{}\n", link.repeat(BYTES / link.len()));
        on_a_large_stack(move || extract(text.into_bytes()));
    }
}

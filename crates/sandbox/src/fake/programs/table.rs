//! Table of programs by name.

use std::sync::Arc;

use super::program_error::finish;
use super::{files, process_context, streams};
use crate::fake::invocation::{FakeExit, FakeInvocation, ProgramFuture};
use crate::fake::machine::FakePrograms;
use crate::fake::shell;

type FakeProgramStart = fn(FakeInvocation) -> ProgramFuture;

const PROGRAMS: [(&str, FakeProgramStart); 19] = [
    ("cat", |it| Box::pin(finish(it.clone(), streams::cat(it)))),
    ("chmod", |it| Box::pin(finish(it.clone(), async move { files::chmod(&it) }))),
    ("echo", |it| Box::pin(finish(it.clone(), streams::echo(it)))),
    ("env", |it| Box::pin(process_context::env(it))),
    ("false", |_| Box::pin(async { FakeExit::Code(1) })),
    ("head", |it| Box::pin(finish(it.clone(), streams::head(it)))),
    ("id", |it| Box::pin(finish(it.clone(), process_context::id(it)))),
    ("ln", |it| Box::pin(finish(it.clone(), async move { files::ln(&it) }))),
    ("ls", |it| Box::pin(finish(it.clone(), files::ls(it)))),
    ("mkdir", |it| Box::pin(finish(it.clone(), async move { files::mkdir(&it) }))),
    ("pwd", |it| Box::pin(finish(it.clone(), process_context::pwd(it)))),
    ("rm", |it| Box::pin(finish(it.clone(), async move { files::rm(&it) }))),
    ("seq", |it| Box::pin(finish(it.clone(), streams::seq(it)))),
    ("sh", |it| Box::pin(shell::run(it))),
    ("sleep", |it| Box::pin(finish(it.clone(), process_context::sleep(it)))),
    ("tee", |it| Box::pin(finish(it.clone(), streams::tee(it)))),
    ("test", |it| Box::pin(files::test(it))),
    ("true", |_| Box::pin(async { FakeExit::Code(0) })),
    ("yes", |it| Box::pin(finish(it.clone(), streams::yes(it)))),
];

/// Programs of every fake backend.
pub(in crate::fake) fn all() -> FakePrograms {
    PROGRAMS.into_iter().map(|(name, start)| (name.to_owned(), Arc::new(start) as _)).collect()
}

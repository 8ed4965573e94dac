//! Table of programs by name.

use super::program_error::finish;
use super::{files, process_context, streams};
use crate::invocation::{FakeExit, FakeProgram};
use crate::shell;

const PROGRAMS: [(&str, FakeProgram); 17] = [
    ("cat", |it| Box::pin(finish(it.clone(), streams::cat(it)))),
    ("chmod", |it| Box::pin(finish(it.clone(), async move { files::chmod(&it) }))),
    ("echo", |it| Box::pin(finish(it.clone(), streams::echo(it)))),
    ("env", |it| Box::pin(finish(it.clone(), process_context::env(it)))),
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
    ("test", |it| Box::pin(files::test(it))),
    ("true", |_| Box::pin(async { FakeExit::Code(0) })),
];

/// Program with this name.
pub(crate) fn find(name: &str) -> Option<FakeProgram> {
    PROGRAMS.into_iter().find(|(known, _)| *known == name).map(|(_, program)| program)
}

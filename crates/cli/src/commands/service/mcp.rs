//! `menace mcp`: sandboxes as tools of a model.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context;
use menace_server::mcp::{McpServer, router};

use super::client;
use crate::arguments::McpArguments;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::note;
use menace_app::calling::runtime;

pub(in crate::commands) fn run(
    configuration: &Configuration,
    arguments: &McpArguments,
) -> anyhow::Result<MenaceExit> {
    let program = std::env::current_exe().context("failed to find the menace executable")?;
    let mcp = McpServer::new(client(configuration)?, program.into());
    let runtime = runtime()?;
    let served = runtime.block_on(async {
        match arguments.port {
            None => {
                let stdin = tokio::io::BufReader::new(tokio::io::stdin());
                mcp.serve(stdin, tokio::io::stdout()).await.context("failed to serve MCP requests")
            }
            Some(port) => {
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
                let listener = tokio::net::TcpListener::bind(address)
                    .await
                    .with_context(|| format!("failed to listen on {address}"))?;
                note(&format!("MCP server at http://{}/mcp", listener.local_addr()?));
                menace_server::serve_until_signal(listener, router(mcp))
                    .await
                    .context("failed to serve MCP requests")
            }
        }
    });
    // A thread may still be blocked reading stdin.
    runtime.shutdown_background();
    served.map(|()| MenaceExit::Done)
}

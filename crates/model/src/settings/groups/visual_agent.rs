//! Settings of the visual agent: its service, its queue and its prompts.

use std::path::PathBuf;

use crate::settings::Secret;

settings! {
    /// The visual agent.
    pub struct VisualAgentSettings;

    /// Port of the visual agent service
    agent_port: u16 = "8001" {
        env: "MENACE_AGENT_PORT",
        status: Planned,
    }

    /// Token that clients of the visual agent send
    visual_agent_token: Option<Secret> = "" {
        env: "VISUAL_AGENT_TOKEN",
        secret: true,
        status: Planned,
    }

    /// New token of the visual agent, set when it restarts between runs
    visual_agent_token_rotate: Option<Secret> = "" {
        env: "VISUAL_AGENT_TOKEN_ROTATE",
        secret: true,
        status: Planned,
    }

    /// Start the visual agent when it is not running
    visual_agent_autostart: bool = "1" {
        env: "VISUAL_AGENT_AUTOSTART",
        status: Planned,
    }

    /// Requeue tasks that a crash interrupted and repair the queue automatically
    visual_agent_auto_recover: bool = "1" {
        env: "VISUAL_AGENT_AUTO_RECOVER",
        flag: "--auto-recover",
        status: Planned,
    }

    /// HTTPS certificate of the visual agent
    visual_agent_ssl_cert: Option<PathBuf> = "" {
        env: "VISUAL_AGENT_SSL_CERT",
        status: Planned,
    }

    /// Private key of the HTTPS certificate
    visual_agent_ssl_key: Option<PathBuf> = "" {
        env: "VISUAL_AGENT_SSL_KEY",
        status: Planned,
    }

    /// Prompt template of the visual agent: a file or the text itself
    va_prompt_template: Option<String> = "" {
        env: "VA_PROMPT_TEMPLATE",
        status: Active,
    }

    /// Prefix of each prompt of the visual agent
    va_prompt_prefix: String = "" {
        env: "VA_PROMPT_PREFIX",
        status: Active,
    }

    /// Lines of repository layout in each prompt of the visual agent
    va_repo_layout_lines: usize = "200" {
        env: "VA_REPO_LAYOUT_LINES",
        status: Active,
    }
}

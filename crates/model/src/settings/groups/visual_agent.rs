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

    /// Token that clients of the visual agent show
    visual_agent_token: Option<Secret> = "" {
        env: "VISUAL_AGENT_TOKEN",
        secret: true,
        status: Planned,
    }

    /// Token that the visual agent is restarted with between two runs
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

    /// Queue tasks again that a crash interrupted, and repair the queue by itself
    visual_agent_auto_recover: bool = "1" {
        env: "VISUAL_AGENT_AUTO_RECOVER",
        flag: "--auto-recover",
        status: Planned,
    }

    /// Certificate that the visual agent serves HTTPS with
    visual_agent_ssl_cert: Option<PathBuf> = "" {
        env: "VISUAL_AGENT_SSL_CERT",
        status: Planned,
    }

    /// File with the private key of the certificate
    visual_agent_ssl_key: Option<PathBuf> = "" {
        env: "VISUAL_AGENT_SSL_KEY",
        status: Planned,
    }

    /// Template of the visual agent's prompt: a file, or the text itself
    va_prompt_template: Option<String> = "" {
        env: "VA_PROMPT_TEMPLATE",
        status: Active,
    }

    /// Text in front of each prompt for the visual agent
    va_prompt_prefix: String = "" {
        env: "VA_PROMPT_PREFIX",
        status: Active,
    }

    /// Lines of the repository's layout in each prompt for the visual agent
    va_repo_layout_lines: usize = "200" {
        env: "VA_REPO_LAYOUT_LINES",
        status: Active,
    }
}

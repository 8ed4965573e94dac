//! `menace install-autopurge`: runs `menace --purge-stale` every hour, with systemd or cron.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::arguments::InstallAutopurgeArguments;
use crate::commands::usage::UsageError;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{note, print};

const SERVICE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../systemd/sandbox_autopurge.service"));
const TIMER: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../systemd/sandbox_autopurge.timer"));

/// First line of every unit and crontab entry that menace writes.
const OURS: &str = "# written by menace install-autopurge";
const UNIT: &str = "sandbox_autopurge.timer";

/// Paths of the program, its data directory and its working directory.
struct AutopurgeInstallation {
    menace: PathBuf,
    data: PathBuf,
    directory: PathBuf,
}

pub(crate) fn run(
    configuration: &Configuration,
    arguments: &InstallAutopurgeArguments,
) -> anyhow::Result<MenaceExit> {
    let purge = AutopurgeInstallation {
        menace: std::env::current_exe().context("failed to find the menace executable")?,
        data: std::path::absolute(configuration.data_directory())?,
        // Contains `.env` and `sandbox_settings.yaml`, if they exist.
        directory: std::env::current_dir().context("failed to find the working directory")?,
    };
    if arguments.print {
        let [service, timer] = purge.units();
        print(&format!(
            "# {}\n{}\n# {}\n{}\n# or, with cron:\n{}\n",
            service.0,
            service.1,
            timer.0,
            timer.1,
            purge.cron_line()
        ))?;
        return Ok(MenaceExit::Done);
    }
    if let Some(directory) = &arguments.unit_dir {
        purge.write_units(directory, arguments.force)?;
        note(&format!(
            "wrote the units to {}; start them with: systemctl enable --now {UNIT}",
            directory.display()
        ));
        return Ok(MenaceExit::Done);
    }
    if Path::new("/run/systemd/system").is_dir() {
        return purge.install_units(arguments.force);
    }
    purge.install_cron(arguments.force)
}

impl AutopurgeInstallation {
    fn units(&self) -> [(&'static str, String); 2] {
        let service = SERVICE
            .replace("@menace@", &quoted(&self.menace))
            .replace("@data@", &quoted(&self.data))
            // WorkingDirectory= takes the rest of the line without quotes.
            .replace("@directory@", &self.directory.display().to_string().replace('%', "%%"));
        [("sandbox_autopurge.service", service), (UNIT, TIMER.to_owned())]
    }

    fn write_units(&self, directory: &Path, force: bool) -> anyhow::Result<()> {
        fs::create_dir_all(directory).with_context(|| format!("failed to create {}", directory.display()))?;
        let units = self.units().map(|(name, text)| (directory.join(name), text));
        for (path, _) in &units {
            check_ours(path, force)?;
        }
        for (path, text) in units {
            menace_analysis::write_atomically(&path, text.as_bytes())
                .with_context(|| format!("failed to write {}", path.display()))?;
        }
        Ok(())
    }

    fn install_units(&self, force: bool) -> anyhow::Result<MenaceExit> {
        let is_root = rustix::process::geteuid().is_root();
        self.write_units(&unit_directory(is_root)?, force)?;
        let user_flag: &[&str] = if is_root { &[] } else { &["--user"] };
        for arguments in [&["daemon-reload"][..], &["enable", "--now", UNIT][..]] {
            let status =
                Command::new("systemctl").args(user_flag).args(arguments).stdin(Stdio::null()).status();
            let status = status.context("failed to start systemctl")?;
            if !status.success() {
                let command = format!("systemctl {} {}", user_flag.join(" "), arguments.join(" "));
                return Err(io::Error::other(format!("{command} failed\nhint: run it manually")).into());
            }
        }
        note(&format!(
            "menace --purge-stale runs every hour; check it with: systemctl {} status {UNIT}",
            user_flag.join(" ")
        ));
        Ok(MenaceExit::Done)
    }

    /// The crontab line with the same effect.
    fn cron_line(&self) -> String {
        let shell = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
        let [directory, menace, data] = [&self.directory, &self.menace, &self.data].map(|path| shell(path));
        // In a crontab an unescaped percent sign ends the command.
        format!("0 * * * * cd {directory} && {menace} --purge-stale --data-dir {data}").replace('%', r"\%")
    }

    fn install_cron(&self, force: bool) -> anyhow::Result<MenaceExit> {
        let listed = Command::new("crontab").arg("-l").stdin(Stdio::null()).stderr(Stdio::null()).output();
        let Ok(listed) = listed else {
            note(&format!(
                "neither systemd nor crontab is available; run this every hour:\n{}",
                self.cron_line()
            ));
            return Ok(MenaceExit::Environment);
        };
        // Without a crontab, crontab -l fails and prints no line.
        let before = if listed.status.success() {
            String::from_utf8_lossy(&listed.stdout).into_owned()
        } else {
            String::new()
        };
        let crontab = with_line(&before, &self.cron_line(), force)?;
        let mut child = Command::new("crontab").arg("-").stdin(Stdio::piped()).spawn()?;
        child.stdin.take().context("failed to open the stdin of crontab")?.write_all(crontab.as_bytes())?;
        if !child.wait()?.success() {
            return Err(io::Error::other(
                "crontab rejected the line\nhint: print it with 'menace install-autopurge --print'",
            )
            .into());
        }
        note("menace --purge-stale runs every hour; check it with: crontab -l");
        Ok(MenaceExit::Done)
    }
}

/// The crontab with our line in it once. Another line that runs `--purge-stale` is an error, or replaced with `force`.
fn with_line(before: &str, line: &str, force: bool) -> Result<String, UsageError> {
    let mut kept: Vec<&str> = Vec::new();
    let mut lines = before.lines();
    while let Some(one) = lines.next() {
        if one == OURS {
            lines.next();
        } else if one.contains("--purge-stale") && !one.trim_start().starts_with('#') {
            if !force {
                return Err(UsageError::NotOurs("the crontab".into()));
            }
        } else {
            kept.push(one);
        }
    }
    kept.extend([OURS, line]);
    Ok(kept.join("\n") + "\n")
}

fn check_ours(path: &Path, force: bool) -> anyhow::Result<()> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(_) if force => Ok(()),
        Ok(text) if force || text.starts_with(OURS) => Ok(()),
        Ok(_) => Err(UsageError::NotOurs(path.display().to_string()).into()),
        Err(error) => Err(error).with_context(|| format!("failed to read {}", path.display())),
    }
}

fn unit_directory(is_root: bool) -> anyhow::Result<PathBuf> {
    if is_root {
        return Ok("/etc/systemd/system".into());
    }
    let configuration = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let fallback = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
    let directory = configuration.or(fallback).context("neither XDG_CONFIG_HOME nor HOME is set")?;
    Ok(directory.join("systemd/user"))
}

/// The path quoted for a command line in a systemd unit.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let text = text.replace('\\', r"\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn purge() -> AutopurgeInstallation {
        let [menace, data, directory] = ["/opt/my menace", "/data/100%", "/home/it's"].map(PathBuf::from);
        AutopurgeInstallation { menace, data, directory }
    }

    #[test]
    fn units_contain_the_paths_of_this_installation() {
        let [(_, service), (_, timer)] = purge().units();
        assert!(
            service.contains("ExecStart=\"/opt/my menace\" --purge-stale --data-dir \"/data/100%%\"\n"),
            "{service}"
        );
        assert!(service.contains("WorkingDirectory=/home/it's\n") && !service.contains('@'), "{service}");
        assert!(service.starts_with(OURS) && timer.starts_with(OURS));
    }

    #[test]
    fn a_crontab_gets_one_line_and_keeps_the_others() {
        let line = purge().cron_line();
        assert_eq!(
            line,
            r"0 * * * * cd '/home/it'\''s' && '/opt/my menace' --purge-stale --data-dir '/data/100\%'"
        );
        let first = with_line("5 4 * * * backup\n", "old", false).unwrap();
        let second = with_line(&first, &line, false).unwrap();
        assert_eq!(second, format!("5 4 * * * backup\n{OURS}\n{line}\n"));
        assert!(with_line("0 * * * * menace --purge-stale\n", &line, false).is_err());
        assert!(with_line("0 * * * * menace --purge-stale\n", &line, true).is_ok());
    }

    #[test]
    fn files_of_others_are_not_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let service = directory.path().join("sandbox_autopurge.service");
        fs::write(&service, "[Service]\n").unwrap();
        assert!(purge().write_units(directory.path(), false).is_err());
        assert!(!directory.path().join(UNIT).exists(), "both or none");
        purge().write_units(directory.path(), true).unwrap();
        purge().write_units(directory.path(), false).unwrap();
        assert!(fs::read_to_string(service).unwrap().contains("--purge-stale"));
    }
}

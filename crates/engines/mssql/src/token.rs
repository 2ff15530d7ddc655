//! Access tokens of Microsoft Entra ID: from a command, the environment, or the tool `az` where it is installed. We acquire none
//! ourselves, and forget each after some minutes, as it lives for about an hour.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::error::{Error, ErrorKind, Result};
use plimsoll_engine::target::Secret;
use plimsoll_measurement::Moment;

/// Name of the variable with a token.
pub(super) const VARIABLE: &str = "PLIMSOLL_ACCESS_TOKEN";
/// How long a token is used before it is asked for again.
const FRESH: Duration = Duration::from_mins(5);
/// The tool's arguments; the resource is that of all Azure SQL services.
const AZ: &[&str] = &[
    "account",
    "get-access-token",
    "--resource",
    "https://database.windows.net/",
    "--query",
    "accessToken",
    "--output",
    "tsv",
];

/// Where tokens come from.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// The first line that a shell command prints.
    Command(String),
    /// What the environment had.
    Fixed(Secret),
    /// The tool `az`, at this path.
    Az(PathBuf),
}

/// Gives tokens, and keeps each for a while.
#[derive(Debug)]
pub(super) struct Tokens {
    source: Source,
    last: Mutex<Option<(Moment, Secret)>>,
}

impl Tokens {
    pub(super) fn new(source: Source) -> Self {
        Self { source, last: Mutex::new(None) }
    }

    /// Where they come from, in a word.
    #[cfg(test)]
    pub(super) const fn kind(&self) -> &'static str {
        match self.source {
            Source::Command(_) => "command",
            Source::Fixed(_) => "environment",
            Source::Az(_) => "az",
        }
    }

    /// A token that is fresh enough for a log-in.
    pub(super) fn get(&self, clock: &dyn Clock) -> Result<Secret> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((since, token)) = last.as_ref()
            && clock.now().since(*since) < FRESH
        {
            return Ok(token.clone());
        }
        let token = match &self.source {
            Source::Fixed(token) => token.clone(),
            Source::Command(text) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", text]);
                printed(shell, "the token command", "run it by hand: its first line must be an access token")?
            }
            Source::Az(path) => {
                let mut az = Command::new(path);
                az.args(AZ);
                printed(az, "az", "run 'az login' first, or name another source by --token-command")?
            }
        };
        *last = Some((clock.now(), token.clone()));
        Ok(token)
    }
}

/// The first line that a command prints. What it printed is never repeated, as it may be a token.
fn printed(mut command: Command, name: &str, hint: &str) -> Result<Secret> {
    let failed =
        |what: String| Error::new(ErrorKind::Authenticate, format!("{name} gave no access token: {what}")).hint(hint);
    let output =
        command.stdin(Stdio::null()).stderr(Stdio::null()).output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next().unwrap_or_default().trim();
    let is_token = line.len() > 20 && !line.contains(char::is_whitespace);
    is_token.then(|| Secret::new(line)).ok_or_else(|| failed("its first line is none".to_owned()))
}

/// Where the tool is, if it is installed.
pub(super) fn find_az(path: Option<&str>) -> Option<PathBuf> {
    let folders = path?.split(':').filter(|folder| !folder.is_empty());
    folders.map(|folder| Path::new(folder).join("az")).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_clock::RealClock;

    fn get(command: &str) -> Result<Secret> {
        Tokens::new(Source::Command(command.to_owned())).get(&RealClock::new())
    }

    #[test]
    fn a_command_prints_the_token() {
        assert_eq!(get("echo eyJ0-planted-token-0000.x; echo more").unwrap().expose(), "eyJ0-planted-token-0000.x");
        for bad in ["false", "echo short", "echo planted words are no token at all", "true"] {
            let error = get(bad).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Authenticate, "{bad}");
            assert!(error.hint.is_some() && !format!("{error:?}").contains("planted"), "{bad}");
        }
    }

    #[test]
    fn a_token_is_kept_for_a_while() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("count");
        let text = format!("echo x >> {0}; echo token-of-at-least-20-letters-$(wc -l < {0})", file.display());
        let (tokens, clock) = (Tokens::new(Source::Command(text)), RealClock::new());
        let first = tokens.get(&clock).unwrap();
        assert_eq!(tokens.get(&clock).unwrap().expose(), first.expose());
        assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 1);
    }

    #[test]
    fn the_tool_is_found_on_the_path() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(find_az(folder.path().to_str()), None);
        std::fs::write(folder.path().join("az"), "").unwrap();
        let path = format!("/nowhere::{}", folder.path().display());
        assert_eq!(find_az(Some(&path)), Some(folder.path().join("az")));
    }
}

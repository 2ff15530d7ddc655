//! Access tokens of Microsoft Entra ID: from a command, the environment, or the tool `az` where it is installed. We acquire none
//! ourselves, and forget each after some minutes, as it lives for about an hour.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::server::shell::Script;
use plimsoll_engine::{Check, Error, ErrorKind, Result, Secret};
use plimsoll_measurement::Moment;

pub(super) const VARIABLE: &str = "PLIMSOLL_ACCESS_TOKEN";
/// How long a token is used before it is asked for again.
const FRESH: Duration = Duration::from_mins(5);
/// How long a program may take to give one.
const PATIENCE: Duration = Duration::from_mins(1);
/// The tool with its arguments; the resource is that of all Azure SQL services.
const AZ: &str = "\"$PLIMSOLL_AZ\" account get-access-token --resource https://database.windows.net/ \
                  --query accessToken --output tsv";
/// The variable that names the tool to the shell, which would read signs in its path.
const AZ_VARIABLE: &str = "PLIMSOLL_AZ";

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
    check: Check,
    last: Mutex<Option<(Moment, Secret)>>,
}

impl Tokens {
    /// Tokens from there; `check` ends the wait for one.
    pub(super) fn new(source: Source, check: Check) -> Self {
        Self { source, check, last: Mutex::new(None) }
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
                let hint = "run it by hand: its first line must be an access token";
                self.printed(clock, "token command", text, None, hint)?
            }
            Source::Az(path) => {
                let hint = "run 'az login' first, or name another source by --token-command";
                let variable = path.to_str().map(|path| (AZ_VARIABLE, path));
                self.printed(clock, "command az", AZ, variable, hint)?
            }
        };
        *last = Some((clock.now(), token.clone()));
        Ok(token)
    }
    /// The first line that a command prints. What it printed is never repeated, as it may be a token.
    fn printed(
        &self,
        clock: &dyn Clock,
        name: &'static str,
        command: &str,
        variable: Option<(&'static str, &str)>,
        hint: &str,
    ) -> Result<Secret> {
        // What it complains of is no token.
        let command = format!("exec 2>/dev/null\n{command}");
        let script = Script { variable, is_secret: true, ..Script::new(name, &command, PATIENCE) };
        let text = script.run(clock, &mut || self.check.ask()).map_err(|error| match error.kind {
            ErrorKind::Cancelled => error,
            _ => Error::new(ErrorKind::Authenticate, error.message).hint(hint),
        })?;
        let line = text.lines().next().unwrap_or_default().trim();
        let is_token = line.len() > 20 && !line.contains(char::is_whitespace);
        is_token.then(|| Secret::new(line)).ok_or_else(|| {
            let message = format!("the {name} gave no access token: its first line is none");
            Error::new(ErrorKind::Authenticate, message).hint(hint)
        })
    }
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
        Tokens::new(Source::Command(command.to_owned()), Check::default()).get(&RealClock::new())
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
        let (tokens, clock) = (Tokens::new(Source::Command(text), Check::default()), RealClock::new());
        let first = tokens.get(&clock).unwrap();
        assert_eq!(tokens.get(&clock).unwrap().expose(), first.expose());
        assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 1);
    }

    #[test]
    fn a_tool_that_never_ends_is_left_when_the_run_is_interrupted() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (az, began) = (folder.path().join("it's az"), folder.path().join("began"));
        std::fs::write(&az, format!("#!/bin/sh\necho \"$*\" >'{}'\nexec sleep 3600\n", began.display())).unwrap();
        std::fs::set_permissions(&az, std::fs::Permissions::from_mode(0o700)).unwrap();
        let asked = began.clone();
        let check = Check::new(move || match std::fs::read_to_string(&asked) {
            Ok(words) if words.ends_with('\n') => Err(Error::new(ErrorKind::Cancelled, "stopped")),
            _ => Ok(()),
        });
        let error = Tokens::new(Source::Az(az), check).get(&RealClock::new()).unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Cancelled, "stopped"));
        assert!(std::fs::read_to_string(&began).unwrap().starts_with("account get-access-token --resource https"));
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

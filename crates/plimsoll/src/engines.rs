//! The engines this program knows, and how a target is opened: by scheme, on its clock, with a password from the right
//! place.

use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;

use plimsoll_bench::Interrupt;
use plimsoll_clock::{Clock, OnClock, RealClock, enter};
use plimsoll_engine::target;
use plimsoll_engine::{Check, Credentials, Database, Engine, Error, ErrorKind, Intents, Secret, Target};
use plimsoll_lab::Lab;
use plimsoll_mssql::Mssql;
use plimsoll_mysql::MySql;
use plimsoll_postgres::Postgres;
use plimsoll_sqlite::Sqlite;

use crate::args::Access;
use crate::failure::Failure;
use crate::printer::Printer;

static ENGINES: [&dyn Engine; 5] = [&Lab, &Mssql, &MySql, &Postgres, &Sqlite];

/// Tells how targets are written, before the first is parsed or an error names one.
pub fn register() {
    target::register(ENGINES.iter().map(|engine| engine.notation()).collect());
}

/// Names of all that can be measured, for which a custom workload may have texts.
pub fn products() -> Vec<&'static str> {
    ENGINES.iter().flat_map(|engine| engine.products()).copied().collect()
}

/// The engine that has the scheme of a target.
pub fn engine_of(target: &Target) -> Result<&'static dyn Engine, Error> {
    ENGINES.into_iter().find(|engine| engine.schemes().contains(&target.scheme.as_str())).ok_or_else(|| {
        let schemes: Vec<&str> = ENGINES.iter().flat_map(|engine| engine.schemes()).copied().collect();
        let message = format!("no engine has the scheme '{}:'", target.scheme);
        Error::new(ErrorKind::Usage, message).hint(format!("known names: {}", schemes.join(", ")))
    })
}

/// Reads a target's URL and warns of a password in it.
pub fn parse(url: &str, printer: &Printer) -> Result<Target, Failure> {
    let target = Target::parse(url)?;
    engine_of(&target)?;
    if target.has_inline_password() {
        printer.warning(
            "the URL holds a password: shell history and process lists keep it; better use --password-file, \
             PLIMSOLL_PASSWORD or the engine's password file",
        );
    }
    Ok(target)
}

/// A target, opened or not. The calling thread is on the target's clock as long as this lives.
pub struct Opened {
    /// The database, or why it could not be opened. It goes before the thread leaves the clock.
    pub database: Result<Box<dyn Database>, Error>,
    /// The clock that the target lives by.
    pub clock: Arc<dyn Clock>,
    _on_clock: OnClock,
}

/// Opens a target on its clock. A terminal is asked for the password if one is needed and none was given; what is waited for
/// outside of the target ends by the interrupt.
pub fn open(target: &Target, access: &Access, intents: &Intents, interrupt: &Interrupt, printer: &Printer) -> Opened {
    let (clock, refused) = match clock_of(target, printer) {
        Ok(clock) => (clock, None),
        Err(error) => (Arc::new(RealClock::new()) as _, Some(error)),
    };
    let on_clock = enter(&clock, "run");
    let database = refused.map_or_else(|| connect(target, access, intents, interrupt, &clock), Err);
    Opened { database, clock, _on_clock: on_clock }
}

fn clock_of(target: &Target, printer: &Printer) -> Result<Arc<dyn Clock>, Error> {
    let printer = printer.clone();
    engine_of(target)?.clock(target, Box::new(move |sentence| printer.stalled(sentence)))
}

fn connect(
    target: &Target,
    access: &Access,
    intents: &Intents,
    interrupt: &Interrupt,
    clock: &Arc<dyn Clock>,
) -> Result<Box<dyn Database>, Error> {
    let engine = engine_of(target)?;
    let interrupt = interrupt.clone();
    let check = Check::new(move || interrupt.check());
    let mut credentials = Credentials {
        password: given_password(access)?,
        token_command: access.token_command.clone(),
        check,
        intents: intents.clone(),
    };
    match engine.open(target, &credentials, Arc::clone(clock)) {
        Err(error) if error.kind == ErrorKind::PasswordNeeded && std::io::stdin().is_terminal() => {
            let typed =
                rpassword::prompt_password(format!("Password for {}: ", target.display())).map_err(|_| error)?;
            credentials.password = Some(Secret::new(typed));
            engine.open(target, &credentials, Arc::clone(clock))
        }
        outcome => outcome,
    }
}

fn given_password(access: &Access) -> Result<Option<Secret>, Error> {
    match &access.password_file {
        Some(path) => password_from_file(path).map(Some),
        None => Ok(std::env::var("PLIMSOLL_PASSWORD").ok().filter(|word| !word.is_empty()).map(Secret::new)),
    }
}

fn password_from_file(path: &Path) -> Result<Secret, Error> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        let message = format!("cannot read the password file {}: {error}", path.display());
        Error::new(ErrorKind::Usage, message).hint("its first line must be the password")
    })?;
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(Secret::new(line)),
        _ => Err(Error::new(ErrorKind::Usage, format!("the password file {} is empty", path.display()))
            .hint("its first line must be the password")),
    }
}

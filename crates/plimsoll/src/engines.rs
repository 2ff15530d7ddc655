//! The engines this program knows, and how a target is opened: by scheme, on its clock, with a password from the right
//! place.

use std::env::{self, VarError};
use std::fs;
use std::io::IsTerminal as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use plimsoll_bench::Interrupt;
use plimsoll_clock::{Clock, OnClock, RealClock, enter};
use plimsoll_engine::target;
use plimsoll_engine::{
    Check, Credentials, Database, Engine, Error, ErrorKind, Intents, Notation, Secret, Target, files,
};
use plimsoll_lab::{Address, Lab};
use plimsoll_mssql::Mssql;
use plimsoll_mysql::MySql;
use plimsoll_postgres::Postgres;
use plimsoll_sqlite::Sqlite;

use crate::args::Access;
use crate::commands::report::place;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::prompt;
use crate::settings::Settings;

/// How often an interrupt is looked for while a target is being opened.
const LOOK_EVERY: Duration = Duration::from_millis(50);

static ENGINES: [&dyn Engine; 5] = [&Lab, &Mssql, &MySql, &Postgres, &Sqlite];

/// Tells how targets are written, before the first is parsed or an error names one.
pub fn register() {
    // A volume is a folder, and named as files are. A scenario has the name of its file.
    let volume = Notation { schemes: &[plimsoll_disk::volume::SCHEME], is_path: true, ..Notation::default() };
    let scenario = Notation { schemes: &[plimsoll_simulate::record::SCHEME], is_path: true, ..Notation::default() };
    target::register(ENGINES.iter().map(|engine| engine.notation()).chain([volume, scenario]).collect());
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

/// Whether a text that may be a file's name is a URL of a database.
pub fn names_one(text: &str) -> bool {
    text.contains("://") || Target::parse(text).is_ok_and(|target| engine_of(&target).is_ok())
}

/// Reads a target's URL and warns of a password in it. The result store is none.
pub fn parse(url: &str, settings: &Settings, printer: &Printer) -> Result<Target, Failure> {
    let target = Target::parse(url)?;
    let schemes = engine_of(&target)?.schemes();
    let file = match schemes {
        _ if schemes == Sqlite.schemes() => Some(plimsoll_sqlite::file_of(&target)?),
        _ if schemes == Lab.schemes() => Address::parse(target.url().expose())?.file,
        _ => None,
    };
    if file.is_some_and(|file| is_same_file(&file, &settings.store)) {
        // Whoever opens the file beside SQLite and closes it ends the locks that this process has on it (fcntl(2)).
        let message = format!("{} is the result store, into which runs are written", target.display());
        return Err(Failure::usage(message).hint("name another database, or another store with --store FILE"));
    }
    if target.has_inline_password() {
        printer.warning(
            "the URL holds a password: shell history and process lists keep it; better use --password-file, \
             PLIMSOLL_PASSWORD or the engine's password file",
        );
    }
    Ok(target)
}

/// Whether two names are those of one file, which need not be there yet.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let number = |path: &Path| fs::metadata(path).ok().map(|there| (there.dev(), there.ino()));
    place(one) == place(other) || number(one).is_some_and(|number_of_one| number(other) == Some(number_of_one))
}

/// A target, opened or not. The calling thread is on the target's clock as long as this lives.
pub struct Opened {
    /// The database, or why it could not be opened. It goes before the thread leaves the clock.
    pub database: Result<Box<dyn Database>, Error>,
    /// The clock that the target lives by.
    pub clock: Arc<dyn Clock>,
    _on_clock: OnClock,
}

/// Warns of a password file that others may read.
fn warn_of_readable(access: &Access, printer: &Printer) {
    let Some(path) = &access.password_file else { return };
    if fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o077 != 0) {
        let path = path.display();
        printer.warning(&format!("its group or everybody may read the password file {path}; chmod 0600 mends that"));
    }
}

/// Opens a target on its clock. A terminal is asked for the password if one is needed and none was given; what is waited for
/// outside of the target ends by the interrupt.
pub fn open(target: &Target, access: &Access, intents: &Intents, interrupt: &Interrupt, printer: &Printer) -> Opened {
    let (clock, refused) = match clock_of(target, printer) {
        Ok(clock) => (clock, None),
        Err(error) => (Arc::new(RealClock::new()) as _, Some(error)),
    };
    warn_of_readable(access, printer);
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
    let asked = interrupt.clone();
    let check = Check::new(move || asked.check());
    let mut credentials = Credentials {
        password: given_password(access)?,
        token_command: access.token_command.clone(),
        check,
        intents: intents.clone(),
    };
    match open_with(engine, target, &credentials, interrupt, clock) {
        Err(error) if error.kind == ErrorKind::PasswordNeeded && std::io::stdin().is_terminal() => {
            let question = format!("Password for {}: ", target.display());
            credentials.password = Some(prompt::password(question, interrupt, error)?);
            open_with(engine, target, &credentials, interrupt, clock)
        }
        outcome => outcome,
    }
}

/// Opens a target; an interrupt does not wait for it. Nothing is made at a target that is being opened, so whoever still waits there
/// is left behind.
fn open_with(
    engine: &'static dyn Engine,
    target: &Target,
    credentials: &Credentials,
    interrupt: &Interrupt,
    clock: &Arc<dyn Clock>,
) -> Result<Box<dyn Database>, Error> {
    // On a virtual clock nobody waits for anybody outside.
    if clock.kind() != "real" {
        return engine.open(target, credentials, Arc::clone(clock));
    }
    let (target, credentials, own_clock) = (target.clone(), credentials.clone(), Arc::clone(clock));
    let (sender, opened) = mpsc::channel();
    let work = move || {
        let _on_clock = enter(&own_clock, "open");
        // Whoever was interrupted does not listen any more.
        let _ = sender.send(engine.open(&target, &credentials, Arc::clone(&own_clock)));
    };
    let failed = |what: &str| Error::new(ErrorKind::Internal, format!("the target can't be opened: {what}"));
    let thread = thread::Builder::new().name("open".to_owned()).spawn(work);
    let thread = thread.map_err(|error| Error::new(ErrorKind::Statement, format!("cannot start a thread: {error}")))?;
    loop {
        match opened.recv_timeout(LOOK_EVERY) {
            Ok(database) => return database,
            Err(mpsc::RecvTimeoutError::Timeout) if interrupt.is_over() => {
                return Err(Error::new(ErrorKind::Connect, "the server took too long to say what it is"));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => interrupt.check()?,
            Err(mpsc::RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => return Err(failed("nobody said why")),
            },
        }
    }
}

fn given_password(access: &Access) -> Result<Option<Secret>, Error> {
    match &access.password_file {
        Some(path) => password_from_file(path).map(Some),
        None if access.is_second => Ok(None),
        None => match env::var("PLIMSOLL_PASSWORD") {
            Ok(word) => Ok((!word.is_empty()).then(|| Secret::new(word))),
            Err(VarError::NotPresent) => Ok(None),
            Err(VarError::NotUnicode(_)) => Err(Error::new(ErrorKind::Usage, "PLIMSOLL_PASSWORD is not UTF-8")
                .hint("set it in UTF-8; a password of other bytes can't be sent")),
        },
    }
}

fn password_from_file(path: &Path) -> Result<Secret, Error> {
    let text = files::read_text(path, files::SMALL).map_err(|error| {
        let message = format!("cannot read the password file {}: {error}", path.display());
        Error::new(ErrorKind::Usage, message).hint("its first line must be the password")
    })?;
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(Secret::new(line)),
        _ => Err(Error::new(ErrorKind::Usage, format!("the password file {} is empty", path.display()))
            .hint("its first line must be the password")),
    }
}

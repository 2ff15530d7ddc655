//! A self-test: every statement of an engine once, and with consent every operation of tests once, in a workspace of its own. It says
//! what works at a server that somebody has; a report of it has no name and no value of theirs.

mod course;
mod mask;
mod operations;
mod patience;
mod rows;
mod statements;
mod work;

use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::{
    Capability, ClaimMode, Database, Error, ErrorKind, Lease, Result, Touches, Workspace, statements as examples,
};
use plimsoll_measurement::self_test::SELF_TEST_VERSION;
use plimsoll_measurement::{Check, CheckKind, CheckResult, SelfTestRecord};

use self::course::{Course, failed};
use self::mask::Mask;
use self::operations::{Found, Operations};
use self::statements::{Places, Sender};
use crate::interrupt::Interrupt;
use crate::run::place::{ANSWER_PATIENCE, give_back, remove_own};

/// Longest time of a statement.
const PATIENCE: Duration = Duration::from_secs(5);

/// After so long nothing more is begun: with the cleaning all of it ends within two minutes.
const LONGEST: Duration = Duration::from_secs(100);

/// What a self-test may do, and who does it.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether a workspace may be made, worked in and removed.
    pub workspace: bool,
    /// The program with its version.
    pub build: String,
}

/// What a self-test found.
#[derive(Debug, Clone)]
pub struct Tested {
    /// For the eyes of the server's owner: it has names.
    pub record: SelfTestRecord,
    own: Vec<String>,
    mask: Mask,
}

impl Tested {
    /// The record as it may be given away.
    pub fn for_others(&self) -> SelfTestRecord {
        self.mask.masked(&self.record, &self.own)
    }
}

/// Tests a database. What was found until an interrupt, or until the server was lost, comes back.
///
/// # Errors
/// If there is nothing that could be tried.
pub fn self_test(
    database: &dyn Database,
    options: &Options,
    clock: &dyn Clock,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(&str),
) -> Result<Tested> {
    let start = clock.now();
    let pulse = database.pulse().map(|pulse| interrupt.watch(pulse));
    let test = database.self_test()?;
    if test.is_none() && !options.workspace {
        let message = "this engine keeps no list of statements, and nothing else may be tried";
        return Err(Error::new(ErrorKind::Safety, message)
            .hint("add --allow-workspace: tables are made in a workspace of its own, which is removed afterwards"));
    }
    let description = database.description();
    let missing: Vec<String> = database.capabilities().iter().filter_map(Capability::warning).collect();
    let record = SelfTestRecord {
        schema_version: SELF_TEST_VERSION,
        build: options.build.clone(),
        started_at: clock.timestamp(start).to_string(),
        engine: description.engine.clone(),
        engine_version: description.version.clone(),
        edition: test.as_ref().and_then(|test| test.edition().map(str::to_owned)),
        product: description.settings.get("edition").cloned(),
        workspace_allowed: options.workspace,
        // What the statements say themselves is not said once more.
        warnings: description.warnings.iter().filter(|warning| !missing.contains(*warning)).cloned().collect(),
        ..SelfTestRecord::default()
    };
    let mask = Mask::new(test.as_ref().map(|test| test.names()).unwrap_or_default());
    let end = start.after(LONGEST);
    let (checks, own) = (Vec::new(), Vec::new());
    let mut course =
        Course { database, clock, interrupt, patience: PATIENCE, end, tell, checks, own, lost: None, cut_short: None };
    let mut sender = test.map(Sender::new);
    // The names need not be those of anything that is there.
    let nowhere = Places {
        there: examples::EXAMPLE_PLACE,
        new: examples::EXAMPLE_NEW_PLACE,
        mark: examples::EXAMPLE_MARK,
        has_table: true,
    };
    let mut send = |course: &mut Course<'_>, touches, why_not| {
        if let Some(sender) = &mut sender {
            sender.send_all(course, touches, nowhere, why_not);
        }
    };
    send(&mut course, Touches::Nothing, None);
    send(&mut course, Touches::Server, Some("it changes the server for others, which a self-test never does"));
    let mut warnings = Vec::new();
    if options.workspace {
        warnings = in_workspace(&mut course, sender.as_mut())?;
    } else {
        send(&mut course, Touches::Workspace, Some("it works in a workspace, which was not allowed"));
    }
    drop(pulse);
    interrupt.unshield();
    let Course { checks, own, cut_short: stopped, .. } = course;
    let seconds = clock.now().since(start).as_secs_f64();
    let record =
        SelfTestRecord { seconds, stopped, checks, warnings: [record.warnings.clone(), warnings].concat(), ..record };
    Ok(Tested { record, own, mask })
}

/// Claims a workspace, does everything in it, and removes it; what is to be said of that.
fn in_workspace(course: &mut Course<'_>, sender: Option<&mut Sender>) -> Result<Vec<String>> {
    let id = uuid::Uuid::now_v7().simple().to_string();
    let (workspace, another) = (Workspace::run(&id)?, Workspace::run(&format!("{id}b"))?);
    let (database, mut lease) = (course.database, None::<Box<dyn Lease>>);
    let owed = format!("what was made at the target ({workspace}) may not be removed; 'plimsoll clean' does it later");
    course.interrupt.owe(Some(owed));
    let mut operations = Operations::new(course, &workspace);
    let claimed = operations.at_database("claim a workspace", "a place of its own, under a lease", || {
        lease = database.claim(&workspace, ClaimMode::Exclusive)?;
        Ok(if lease.is_some() { Found::Fine } else { Found::Differs("somebody else has its lease".to_owned()) })
    });
    if !claimed {
        operations.break_off("there was no workspace");
    }
    let has_table = work::all(&mut operations, examples::EXAMPLE_TABLE);
    drop(operations);
    if let Some(sender) = sender {
        // From here on its name is known, whenever we are killed.
        let mark = if claimed { database.announces(&another).map(|mark| mark.to_string()) } else { Ok(String::new()) };
        let why_not = match &mark {
            _ if !claimed => Some("there was no workspace"),
            Err(_) => Some("what it makes could not be noted"),
            Ok(_) => None,
        };
        let mark = mark.unwrap_or_default();
        let places = Places { there: workspace.name(), new: another.name(), mark: &mark, has_table };
        sender.send_all(course, Touches::Workspace, places, why_not);
        // Its locks go with its connection, before anything is removed.
        sender.close();
    }
    (course.tell)("removing the workspace");
    let is_silent = course.interrupt.settle_silence(|| database.answers(ANSWER_PATIENCE));
    course.interrupt.shield();
    if let Some(lease) = lease {
        give_back(lease, is_silent);
    }
    let check = Check {
        kind: CheckKind::Operation,
        name: "remove the workspace".to_owned(),
        purpose: "nothing is left".to_owned(),
        ..Check::default()
    };
    if is_silent {
        course.skip(check, "the server did not answer");
        return Ok(vec!["what was made at the target could not be removed; 'plimsoll clean' does it later".to_owned()]);
    }
    let start = course.clock.now();
    let (interrupt, clock) = (course.interrupt, course.clock);
    let remove = |place: &Workspace| remove_own(database, place, interrupt, clock);
    let removed = [&workspace, &another].into_iter().try_for_each(remove);
    let check = Check { ms: Some(course.ms_since(start)), ..check };
    match removed {
        Ok(()) => {
            interrupt.owe(None);
            // Without a claim there was nothing to be removed.
            if claimed {
                course.keep(Check { result: CheckResult::Worked, ..check }, "");
            }
            Ok(Vec::new())
        }
        Err(error) => {
            course.keep(failed(check, &error, false), "");
            let later = "what was made at the target could not be removed; 'plimsoll clean' does it later";
            Ok(vec![format!("{later} ({error})")])
        }
    }
}

//! A copy of a whole database by the server (reference, 2.14).

use plimsoll_engine::transfer::{COPY, Move};
use plimsoll_engine::work::{Expected, Work};
use plimsoll_engine::{Error, ErrorKind, Result, Transfer};

use crate::figures::series::{Measured, Series};
use crate::parameters::shared::{ROW, SEED, TABLES, VOLUME};
use crate::parameters::{Kind, Parameter, Parameters};
use crate::step::context::{Keep, Target};
use crate::step::kind::{Ask, Consent, Measures, Ran, StepKind};
use crate::step::transfer::figures::Largest;
use crate::step::transfer::moves::{self, Mover, Moves, SIZES};
use crate::step::transfer::source::Source;
use crate::step::transfer::watch::Watch;

/// A copy of a whole database.
pub(super) struct Copy;

impl StepKind for Copy {
    fn name(&self) -> &'static str {
        "copy"
    }

    fn parameters(&self) -> &'static [&'static Parameter] {
        const METHOD: Parameter = Parameter::new(
            "copy_method",
            Kind::Choice(&["usual", "wal-log", "file-copy", "backup", "vacuum-into", "insert-select"]),
            "Copy method: by log or files (PostgreSQL), by backup, files or VACUUM INTO (SQLite), by tables (MariaDB).",
        )
        .or("usual")
        .formerly("way", &[]);
        &[&VOLUME, &SIZES, &ROW, &TABLES, &METHOD, &SEED]
    }

    fn measure(&self) -> Measures {
        Measures::AtDatabase(Box::new(Moves::new(Copies)))
    }

    /// How fast the server copied.
    fn figures(&self, measured: &Measured<'_>) -> Vec<Series> {
        vec![Largest::of(&measured.points).rate("copy_rate", COPY, COPY)]
    }

    fn expects(&self, ran: &Ran<'_>, ask: Ask<'_>) -> Result<Vec<Expected>> {
        moves::expects(ran, ask, &[Work::Copy])
    }

    fn space_bytes(&self, parameters: &Parameters, _: bool) -> u64 {
        moves::space_bytes(parameters)
    }

    fn consent(&self) -> Option<Consent> {
        Some(Consent::Databases { backups: false })
    }
}

struct Copies;

impl Mover for Copies {
    const WHAT: Move = Move::Copy;

    fn check(&self, parameters: &Parameters, transfer: &dyn Transfer, engine: &str) -> Result<()> {
        let (asked, methods) = (parameters.choice("copy_method"), transfer.methods());
        if asked == "usual" || methods.contains(&asked) {
            return Ok(());
        }
        let message = format!("copy_method = {asked}: '{engine}' copies by {}", methods.join(", "));
        Err(Error::new(ErrorKind::Usage, message).hint("leave it out for the usual one"))
    }

    fn move_one(
        &mut self,
        (target, parameters): (&mut Target<'_>, &Parameters),
        keep: &mut Keep<'_>,
        transfer: &mut dyn Transfer,
        source: &Source,
    ) -> Result<()> {
        let asked = parameters.choice("copy_method");
        let method = if asked == "usual" { transfer.methods()[0] } else { asked };
        keep.fact("copy_method", method);
        let mut watch = Watch::new(target, keep, source);
        transfer.copy(&source.workspace, &source.target, method, &mut watch)?;
        watch.end()?;
        source.verify(target, keep, &source.target)
    }
}

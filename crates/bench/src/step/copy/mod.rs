//! A copy of a whole database by the server (reference, 2.14).

use plimsoll_engine::transfer::{COPY, Move};
use plimsoll_engine::work::{TableData, Work};
use plimsoll_engine::{Error, ErrorKind, Result, Transfer};
use plimsoll_measurement::Repetition;

use crate::figures::series::Series;
use crate::parameters::shared::{ROW, SEED, TABLES, VOLUME};
use crate::parameters::{Kind, Parameter, Parameters};
use crate::scratch::Scratch;
use crate::step::context::{Keep, Target};
use crate::step::transfer::figures::Largest;
use crate::step::transfer::moves::{SIZES, TransferKind};
use crate::step::transfer::source::Source;
use crate::step::transfer::watch::Watch;

const METHOD: Parameter = Parameter::new(
    "copy_method",
    Kind::Choice(&["usual", "wal-log", "file-copy", "backup", "vacuum-into", "insert-select"]),
    "Copy method: by log or files (PostgreSQL), by backup, files or VACUUM INTO (SQLite), by tables (MariaDB).",
)
.or("usual")
.formerly("way", &[]);

/// A copy of a whole database.
#[derive(Clone, Copy)]
pub(super) struct CopyKind;

impl TransferKind for CopyKind {
    const NAME: &'static str = "copy";
    const WHAT: Move = Move::Copy;
    const PARAMETERS: &'static [&'static Parameter] = &[&VOLUME, &SIZES, &ROW, &TABLES, &METHOD, &SEED];

    fn works<'a>(self) -> Vec<fn(Vec<TableData<'a>>) -> Work<'a>> {
        vec![Work::Copy]
    }

    /// How fast the server copied.
    fn figures(self, of_size: &Largest<'_>, _: &[&Repetition]) -> Vec<Series> {
        vec![of_size.rate("copy_rate", COPY, COPY)]
    }

    fn check(self, parameters: &Parameters, transfer: &dyn Transfer, engine: &str) -> Result<()> {
        let (asked, methods) = (parameters.choice("copy_method"), transfer.methods());
        if asked == "usual" || methods.contains(&asked) {
            return Ok(());
        }
        let message = format!("copy_method = {asked}: '{engine}' copies by {}", methods.join(", "));
        Err(Error::new(ErrorKind::Usage, message).hint("leave it out for the usual one"))
    }

    fn move_one(
        self,
        (target, parameters): (&mut Target<'_>, &Parameters),
        keep: &mut Keep<'_>,
        transfer: &mut dyn Transfer,
        source: &Source,
        _: &mut Option<Scratch>,
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

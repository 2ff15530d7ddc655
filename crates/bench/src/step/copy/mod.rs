//! A copy of a whole database by the server (reference, 2.14).

use plimsoll_engine::transfer::{COPY, Move};
use plimsoll_engine::work::Work;
use plimsoll_engine::{Error, ErrorKind, Result, Transfer};

use crate::parameters::shared::{ROW, SEED, TABLES, VOLUME};
use crate::parameters::{Kind, Parameter, Parameters};
use crate::scratch::Scratch;
use crate::step::context::Keep;
use crate::step::kind::StepKind;
use crate::step::transfer::figures::Largest;
use crate::step::transfer::moves::{At, Moving, SIZES, expects, kind, measure};
use crate::step::transfer::source::Source;
use crate::step::transfer::watch::Watch;

const METHOD: Parameter = Parameter::new(
    "copy_method",
    Kind::Choice(&["usual", "wal-log", "file-copy", "backup", "vacuum-into", "insert-select"]),
    "Copy method: by log or files (PostgreSQL), by backup, files or VACUUM INTO (SQLite), by tables (MariaDB).",
)
.or("usual")
.formerly("way", &[]);

const COPY_WAY: Moving = Moving { what: Move::Copy, check, weigh: |_, _, _| Ok(()), move_one };

/// A copy of a whole database, and how fast the server copied.
pub(super) const KIND: StepKind = StepKind {
    parameters: &[&VOLUME, &SIZES, &ROW, &TABLES, &METHOD, &SEED],
    expects: |ran, ask| expects(&[Work::Copy], ran, ask),
    ..kind("copy", || measure(&COPY_WAY), |measured| vec![Largest::of(&measured.points).rate("copy_rate", COPY, COPY)])
};

fn check(parameters: &Parameters, transfer: &dyn Transfer, engine: &str) -> Result<()> {
    let (asked, methods) = (parameters.choice("copy_method"), transfer.methods());
    if asked == "usual" || methods.contains(&asked) {
        return Ok(());
    }
    let message = format!("copy_method = {asked}: '{engine}' copies by {}", methods.join(", "));
    Err(Error::new(ErrorKind::Usage, message).hint("leave it out for the usual one"))
}

fn move_one(
    At { target, parameters, transfer }: &mut At<'_, '_>,
    keep: &mut Keep<'_>,
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

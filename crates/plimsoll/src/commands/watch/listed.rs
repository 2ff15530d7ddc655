//! `plimsoll watch list`: the servers that were watched.

use plimsoll_measurement::exit;
use plimsoll_report::model::{Cell, Part, Rank, Report, Table, Tone, number, scaled, text};
use plimsoll_store::Profile;
use serde_json::json;

use super::ranges::shown;
use super::reopened::{Place, Session};
use super::stored;
use crate::args::WatchSource;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;

pub fn list(json: bool, from: &WatchSource, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    if let Some(place) = Place::open(from, settings, printer)? {
        sessions(&place.sessions(), json, printer);
        return Ok(exit::DONE);
    }
    let (_, watched) = stored::all(settings)?;
    let span = |one: &Profile| one.span_us.map(|(from, to)| [shown(from), shown(to)]);
    if json {
        for one in &watched {
            let [from, to] = span(one).map_or([None, None], |ends| ends.map(Some));
            let object = json!({
                "target": one.target, "engine": one.engine, "from": from, "to": to,
                "seconds": one.covered_us as f64 / 1e6, "statements": one.statements,
            });
            printer.json(&object.to_string());
        }
        return Ok(exit::DONE);
    }
    let mut report = Report::new("Watched servers");
    let (mut answer, mut part) = (Part::of(Rank::Answer), Part::of(Rank::Table));
    if watched.is_empty() {
        answer.say(Tone::Headline, "Nothing was watched yet: 'plimsoll watch URL' watches a server.".to_owned());
    }
    let end = |one: &Profile, at: usize| span(one).map_or_else(Cell::default, |ends| Cell::time(&ends[at]));
    part.table(
        "",
        Table::of(
            watched.iter(),
            &[
                (text("Server"), &|one| one.target.as_str().into()),
                (text("From"), &|one| end(one, 0)),
                (text("To"), &|one| end(one, 1)),
                (scaled("Known", "s"), &|one| Cell::quantity(one.covered_us as f64 / 1e6, "s")),
                (number("Statements", ""), &|one| one.statements.into()),
            ],
        ),
    );
    report.add_all([answer, part]);
    printer.result(&plimsoll_report::terminal::report(&report, printer.style));
    Ok(exit::DONE)
}

/// The watchings of a file or of a table.
fn sessions(all: &[Session], json: bool, printer: &Printer) {
    if json {
        for one in all {
            let object = json!({
                "session_id": one.id, "target": one.server, "from": shown(one.from_us), "to": shown(one.to_us),
            });
            printer.json(&object.to_string());
        }
        return;
    }
    let mut report = Report::new("What was watched");
    let (mut answer, mut part) = (Part::of(Rank::Answer), Part::of(Rank::Table));
    if all.is_empty() {
        answer.say(Tone::Headline, "There are no rows yet.".to_owned());
    }
    part.table(
        "",
        Table::of(
            all.iter(),
            &[
                (text("Session"), &|one| one.id.clone().into()),
                (text("Server"), &|one| one.server.clone().into()),
                (text("From"), &|one| Cell::time(&shown(one.from_us))),
                (text("To"), &|one| Cell::time(&shown(one.to_us))),
            ],
        ),
    );
    report.add_all([answer, part]);
    printer.result(&plimsoll_report::terminal::report(&report, printer.style));
}

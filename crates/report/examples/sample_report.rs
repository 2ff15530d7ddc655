//! Writes a page of sample runs to the path given, to look at it in a browser; `sampled` behind it for those alone that
//! were watched.

#[path = "../tests/samples/mod.rs"]
mod samples;

use plimsoll_report::html;

fn main() -> std::io::Result<()> {
    let path = std::env::args().nth(1).ok_or_else(|| std::io::Error::other("name the file to write"))?;
    let options = html::Options { title: "Sample report".into(), generated_at: Some("2026-03-02T08:00:00Z".into()) };
    let mut records = samples::sampled::all();
    if std::env::args().nth(2).is_none_or(|part| part != "sampled") {
        records.extend(samples::all());
        records.extend(samples::requests::all());
    }
    std::fs::write(path, html::report(&records, |_, _| None, &options))
}

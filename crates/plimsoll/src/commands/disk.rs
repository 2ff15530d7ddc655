//! `plimsoll disk`: what a disk delivers, by reads and writes of a test file, or what a modelled volume would.

mod bought;
mod import;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_bench::{Definition, Interrupt, On, Parameters, Plan};
use plimsoll_clock::{Clock, RealClock, VirtualClock, enter};
use plimsoll_disk::modelled::{Model, SCHEME};
use plimsoll_disk::suite::foreign;
use plimsoll_disk::{Suite, engine, file, step, suite, volume};
use plimsoll_engine::files;
use plimsoll_measurement::{Subject, exit};

use super::report::{page, try_path, write};
use super::run::{self, execute_shown, present, this_machine};
use crate::args::{Disk, DiskAction};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::signals;

/// Runs a suite on the disk below a folder.
pub fn disk(options: &Disk, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    let Some(path) = &options.path else {
        return match &options.action {
            Some(DiskAction::Import(import)) => import::import(import, settings, printer),
            None => Err(Failure::usage("there is no folder to test").hint("plimsoll disk /var/tmp tests that one")),
        };
    };
    // Everything that can be wrong with the call is found before anything is touched.
    if let Some(path) = &options.html {
        try_path(path)?;
    }
    let suite = find(if options.sweep { "sweep" } else { &options.suite }, printer)?;
    let definition = step::definition(&suite)?;
    let mut parameters = parameters(options, &definition)?;
    definition.check(&parameters).map_err(|problem| {
        Failure::usage(problem).hint("leave it out, or choose another value: docs/DISKS.md says what it does")
    })?;
    check_blocks(&suite, options.file.buffered)?;
    let expected = bought::expected_percent(&options.bought)?.to_string();
    parameters.set("expect", &expected, &definition.steps).map_err(Failure::usage)?;
    let host = this_machine();
    let (target, mut description, promise, clock): (_, _, _, Arc<dyn Clock>) = if let Some(target) = modelled(path) {
        for_files_alone(options, &parameters)?;
        let model = Model::parse(target, parameters.bytes("size"))?;
        (target.to_owned(), model.describe(), Some(model.promise().clone()), Arc::new(VirtualClock::new()))
    } else {
        engine::choose(&options.engine)?;
        let folder = volume::folder_on_a_disk(path)?;
        if options.file.size.is_none() && suite.shrinks {
            let size = file::fitting_bytes(&folder, parameters.bytes("size")).to_string();
            parameters.set("size", &size, &definition.steps).map_err(Failure::usage)?;
        }
        let promise = bought::bought(&options.bought, parameters.bytes("size"), Some(&folder))?;
        let description = volume::describe(&folder, host.name.as_deref());
        (target(&folder)?, description, promise, Arc::new(RealClock::new()))
    };
    let advice = promise.iter().flat_map(|promise| promise.advice.clone());
    // A sweep finds out how many are needed.
    let asked = promise.as_ref().filter(|_| suite.sweep.is_none());
    let too_few = asked.and_then(|promise| promise.too_few_under_way(suite.under_way()));
    for sentence in advice.chain(too_few) {
        // Before the first operation, and in the record for who reads it later.
        printer.remark(&sentence);
        description.warnings.push(sentence);
    }
    let store = settings.open_store()?;
    let interrupt = Interrupt::default();
    signals::listen(&interrupt, printer)?;
    let _hurries = interrupt.watch(Arc::new(signals::Hurries(Arc::clone(&store))));
    let plan = Plan {
        repetitions: options.repetitions.unwrap_or(definition.repetitions),
        keep_data: options.file.keep_file,
        // The engine and its machine are one here, and every operation is timed.
        without_samples: true,
        campaign: options.campaign.clone(),
        label: run::label(options.label.as_deref())?,
        ceilings: promise.map(|promise| promise.ceilings).unwrap_or_default(),
        ..run::plan(&definition, parameters, &target, &host)
    };
    let on = On { subject: Subject::Volume, description: &description, database: None };
    let _on_clock = enter(&clock, "run");
    let record = execute_shown(&plan, on, &clock, &store, &interrupt, printer);
    present(&record, options.json, printer)?;
    // Last: a page that can't be written takes nothing of the run away.
    if let Some(path) = &options.html {
        write(path, &page(std::slice::from_ref(&record), &format!("{} on {target}", record.test)), printer)?;
    }
    let failure = record.error.as_ref().or(record.left_behind.as_ref());
    Ok(signals::exit_code(&interrupt).unwrap_or_else(|| failure.map_or(exit::DONE, |failure| failure.exit_code)))
}

/// The target that a path is, if it names a modelled volume.
fn modelled(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| text.strip_prefix(SCHEME).is_some_and(|rest| rest.starts_with(':')))
}

/// What a modelled volume has not got.
fn for_files_alone(options: &Disk, parameters: &Parameters) -> Result<(), Failure> {
    let given = [
        ("--buffered", options.file.buffered),
        ("--keep-file", options.file.keep_file),
        ("--engine", options.engine != "auto"),
        ("verify=yes", parameters.choice("verify") == "yes"),
    ];
    if let Some((option, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::usage(format!("{option} is for a test file, and a modelled volume has none")));
    }
    if options.bought.disks.is_some() {
        return Err(Failure::usage(
            "--as says what a folder's volume should deliver, and a modelled volume says it itself",
        )
        .hint(
            "give machine, account and layout in the target: 'lab:16 x azure-managed-disk/P30?columns=8&vm=E8bds_v5'",
        ));
    }
    Ok(())
}

/// A built-in suite, or one in a file.
fn find(name: &str, printer: &Printer) -> Result<Suite, Failure> {
    let is_file = foreign::is_foreign(name) || Path::new(name).extension().is_some_and(|extension| extension == "toml");
    if !is_file {
        let names: Vec<&str> = suite::names().collect();
        return suite::built_in(name).ok_or_else(|| {
            Failure::usage(format!("there is no suite '{name}'")).hint(format!(
                "choose one of {}, or a file ending in .toml, .fio, .cmd, .bat or .txt",
                names.join(", ")
            ))
        });
    }
    let text = files::read_text(&PathBuf::from(name), files::LARGE).map_err(|error| {
        Failure::usage(format!("cannot read the suite {name}: {error}")).hint("name a file with tables [[cell]]")
    })?;
    let text = if foreign::is_foreign(name) { translated(name, &text, printer)? } else { text };
    let own = suite::parse(name, &text)
        .map_err(|problem| Failure::usage(problem).hint("docs/DISKS.md lists the keys of a suite"))?;
    // Stored runs are found by the name of their test: two tests must not share one.
    let shares =
        |known: &str| suite::built_in(known).is_some_and(|known| known.name == own.name && known.text != own.text);
    if suite::names().any(shares) || plimsoll_bench::definition::builtin_names().contains(&own.name.as_str()) {
        let message = format!("{name}: '{}' is the name of a built-in test", own.name);
        return Err(Failure::usage(message).hint("choose another name"));
    }
    Ok(own)
}

/// A job file of fio or a script of SQLIO as a suite. What it asks for and a suite doesn't do is told.
fn translated(name: &str, text: &str, printer: &Printer) -> Result<String, Failure> {
    let folder = Path::new(name).parent().unwrap_or(Path::new(""));
    // Beside it, and nowhere else: what is read is quoted where it is wrong.
    let beside = |other: &str| {
        let name = Path::new(other).file_name().filter(|name| *name == other)?;
        files::read_text(&folder.join(name), files::SMALL).ok()
    };
    let made = foreign::translate(name, text, &beside).map_err(|problem| {
        Failure::usage(problem).hint("docs/DISKS.md lists what is read of files of fio and SQLIO")
    })?;
    // Its runs have it as well: here it is said before the first operation.
    for sentence in &made.left_out {
        printer.remark(sentence);
    }
    Ok(made.text)
}

/// The parameters as the user wants them.
fn parameters(options: &Disk, definition: &Definition) -> Result<Parameters, Failure> {
    let mut parameters = definition.parameters(options.short);
    let pairs = options.set.iter().map(|pair| {
        let split = pair.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
        split.ok_or_else(|| {
            Failure::usage(format!("--set {pair} is not of the form key=value")).hint("such as --set duration=5s")
        })
    });
    let mut pairs = pairs.collect::<Result<Vec<_>, _>>()?;
    let flags = [
        ("size", options.file.size.clone()),
        ("engine", Some(options.engine.clone())),
        ("buffered", options.file.buffered.then(|| "yes".to_owned())),
        ("factor", options.factor.map(|factor| factor.to_string())),
    ];
    pairs.extend(flags.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    for (key, value) in pairs {
        parameters
            .set_by_hand(&key, &value, &definition.steps)
            .map_err(|problem| Failure::usage(problem).hint("'plimsoll disk --help' says what each option takes"))?;
        if key == "duration" && parameters.duration("duration").is_zero() {
            return Err(Failure::usage(format!("--set duration={value}: in no time nothing is measured"))
                .hint("leave it out, and each cell lasts as long as its suite says"));
        }
    }
    Ok(parameters)
}

/// Blocks that no device takes past the page cache. What this one takes is known once there is a file.
fn check_blocks(suite: &Suite, is_buffered: bool) -> Result<(), Failure> {
    let odd = suite.block_bytes().find(|block| !is_buffered && !block.is_multiple_of(LEAST_SECTOR_BYTES));
    odd.map_or(Ok(()), |block| Err(plimsoll_disk::cell::misaligned(block, LEAST_SECTOR_BYTES).into()))
}

/// No device has smaller sectors.
const LEAST_SECTOR_BYTES: u64 = 512;

/// The folder as the target of a run.
fn target(folder: &Path) -> Result<String, Failure> {
    let name = folder.to_str().filter(|name| !name.contains(char::is_control));
    let name = name.ok_or_else(|| {
        Failure::usage(format!("the name of {} can't be kept in a record", folder.display()))
            .hint("name a folder whose name is text")
    })?;
    Ok(format!("{}:{name}", volume::SCHEME))
}

//! The command line of Plimsoll: arguments, settings, printer, exit codes. It wires the crates together and is the only
//! one that prints.

mod args;
mod candidates;
mod commands;
mod engines;
mod failure;
mod heard;
mod intents;
mod messages;
mod outlet;
mod printer;
mod progress;
mod prompt;
mod settings;
mod signals;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
use plimsoll_measurement::exit;

use args::{Arguments, Command, Lab, LabAction, Plan, PlanWhat};
use failure::Failure;
use printer::Printer;
use settings::Settings;

fn main() -> ExitCode {
    engines::register();
    signals::survive_large_files();
    plimsoll_engine::process::leave_no_core();
    plimsoll_engine::process::hide_secrets_of_environment();
    clap_complete::CompleteEnv::with_factory(Arguments::command).var(candidates::VARIABLE).complete();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return printer::usage(&error),
    };
    let printer = Printer::new(&arguments);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(arguments, &printer)));
    match outcome {
        Ok(Ok(_)) if printer.is_cut_off() => {
            if let Some(code) = heard::exit_code() {
                // Nobody read it, and somebody ended it.
                return ExitCode::from(code);
            }
            let failure = Failure::cut_off();
            printer.failure(&failure);
            ExitCode::from(failure.exit_code)
        }
        Ok(Ok(code)) => ExitCode::from(code),
        Ok(Err(failure)) => {
            printer.failure(&failure);
            ExitCode::from(failure.exit_code)
        }
        Err(_) => ExitCode::from(exit::INTERNAL),
    }
}

/// The table of contents: which command does what, and the exit code it ends with.
fn run(arguments: Arguments, printer: &Printer) -> Result<u8, Failure> {
    if !plimsoll_clock::machine_has_a_date() {
        return Err(Failure::usage("the clock of this machine is before 1970 or after 9998")
            .code(exit::INCOMPLETE)
            .hint("set it: 'date' shows what it says"));
    }
    let settings = Settings::of(arguments.store.clone())?;
    match arguments.command {
        Command::Demo(options) => commands::demo::demo(&options, &settings, printer),
        Command::Run(options) => commands::run::run(&options, &settings, printer),
        Command::Disk(options) => commands::disk::disk(&options, &settings, printer),
        Command::Watch(options) => commands::watch::watch(&options, &settings, printer),
        Command::Simulate(options) => commands::simulate::simulate(&options, &settings, printer),
        Command::Plan(Plan { what: PlanWhat::Mi(options) }) => commands::plan::mi(&options, &settings, printer),
        Command::Tests(options) => commands::definitions::tests(&options, printer),
        Command::Runs(options) => commands::runs::runs(&options, &settings, printer),
        Command::Show(options) => commands::runs::show(&options, &settings, printer),
        Command::Compare(options) => commands::compare::compare(&options, &settings, printer),
        Command::History(options) => commands::history::history(&options, &settings, printer),
        Command::Report(options) => commands::report::report(&options, &settings, printer),
        Command::Clean(options) => commands::clean::clean(&options, &settings, printer),
        Command::Catalog(options) => commands::catalog::catalog(&options, printer),
        Command::Lab(Lab { action: LabAction::Verify(options) }) => match options.verdicts {
            Some(halves) => commands::verdicts::verdicts(&options, halves, printer),
            None => commands::verify::verify(&options, printer),
        },
        Command::Doctor(options) => commands::doctor::doctor(&options, &settings, printer),
        Command::Completions { shell } => commands::generated::completions(shell, printer),
        Command::Man => commands::generated::man(printer),
    }
}

//! `plimsoll completions` and `plimsoll man`: generated from the same source as the help.

use clap::CommandFactory as _;
use clap_complete::env::Shells;
use plimsoll_measurement::exit;

use crate::args::Arguments;
use crate::candidates;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::ENVIRONMENT;

/// Completions for a shell: a function that calls this program for what there is to choose from.
pub fn completions(shell: clap_complete::Shell, printer: &Printer) -> Result<u8, Failure> {
    let (shells, name, mut text) = (Shells::builtins(), "plimsoll", Vec::new());
    let shell = shells.completer(&shell.to_string()).ok_or_else(|| Failure::usage("no completions for this shell"))?;
    shell
        .write_registration(candidates::VARIABLE, name, name, name, &mut text)
        .map_err(|error| Failure::usage(format!("cannot make the completions: {error}")))?;
    printer.result(&String::from_utf8_lossy(&text));
    Ok(exit::DONE)
}

/// The manual page: the program, then each command, then the environment.
pub fn man(printer: &Printer) -> Result<u8, Failure> {
    let failed = |error: std::io::Error| Failure::usage(format!("cannot make the manual page: {error}"));
    let command = Arguments::command();
    let mut page = Vec::new();
    let main = clap_mangen::Man::new(command.clone());
    main.render(&mut page).map_err(failed)?;
    page.extend_from_slice(b".SH \"COMMANDS IN DETAIL\"\n");
    for sub in command.get_subcommands() {
        page.extend_from_slice(format!(".SS \"plimsoll {}\"\n", sub.get_name()).as_bytes());
        let man = clap_mangen::Man::new(sub.clone());
        man.render_description_section(&mut page).map_err(failed)?;
        man.render_options_section(&mut page).map_err(failed)?;
    }
    page.extend_from_slice(b".SH ENVIRONMENT\n");
    for (name, about) in ENVIRONMENT {
        page.extend_from_slice(format!(".TP\n\\fB{name}\\fR\n{about}\n").as_bytes());
    }
    printer.result(&String::from_utf8_lossy(&page));
    Ok(exit::DONE)
}

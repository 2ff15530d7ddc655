//! `plimsoll completions` and `plimsoll man`: generated from the same source as the help.

use clap::CommandFactory as _;
use plimsoll_measurement::exit;

use crate::args::Arguments;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::ENVIRONMENT;

/// Completions for a shell.
pub fn completions(shell: clap_complete::Shell, printer: &Printer) -> u8 {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "plimsoll", &mut text);
    printer.result(&String::from_utf8_lossy(&text));
    exit::DONE
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

//! What programs write around a table and is none of it. Its lines become empty, so that those of the rest have their numbers.

/// How lines begin that Management Studio and `typeperf` write behind a table.
const TRAILERS: [&str; 3] = ["completion time:", "exiting, please wait", "the command completed successfully"];

/// The text without them, and the sign between columns where a line says it. The error says what to do.
pub fn without(text: &str) -> Result<(String, Option<u8>), String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let mut delimiter = None;
    // Excel's own line, and that of PowerShell.
    if let Some(first) = lines.iter_mut().find(|line| !line.trim().is_empty()) {
        let lower = first.trim().to_lowercase();
        if let (Some(rest), true) = (lower.strip_prefix("sep="), first.is_ascii()) {
            delimiter = rest.bytes().next().or(Some(b'\t'));
            *first = "";
        } else if lower.starts_with("#type ") {
            *first = "";
        }
    }
    // `sqlcmd` underlines its header.
    if let Some(at) = lines.iter().position(|line| !line.trim().is_empty())
        && let Some(under) = lines.get_mut(at + 1)
        && under.contains("--")
        && under.chars().all(|c| matches!(c, '-' | ' ' | ',' | ';' | '\t' | '|'))
    {
        if under.trim().contains(' ') && !under.contains([',', ';', '\t', '|']) {
            let problem = "its columns are parted by spaces: save the results as CSV (in Management Studio from the grid, sqlcmd: -s \",\" -W)";
            return Err(problem.to_owned());
        }
        *under = "";
    }
    while let Some(last) = lines.pop() {
        let lower = last.trim().to_lowercase();
        let is_count = lower.starts_with('(') && (lower.ends_with("affected)") || lower.ends_with("rows)"));
        let is_trailer = TRAILERS.iter().any(|trailer| lower.starts_with(trailer));
        if !lower.is_empty() && !is_count && !is_trailer {
            lines.push(last);
            break;
        }
    }
    let mut text = lines.join("\n");
    text.push('\n');
    Ok((text, delimiter))
}

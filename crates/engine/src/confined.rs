//! Programs that may write nowhere but in a folder of ours: what runs on the copy of a server's files can be led out of it by what is
//! in them, such as the log of a tablespace that was made while they were copied. Linux sees to it (landlock(7), since 5.13) whatever
//! user the program runs as; elsewhere nothing does.

use std::io;
use std::path::Path;

/// Starts something from a thread that is confined with all that it starts.
///
/// # Errors
/// If it can't be confined although the system can do that.
pub fn within<T: Send>(folder: &Path, start: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let confined = || confine(folder).and_then(|_| start());
    let started = std::thread::scope(|scope| scope.spawn(confined).join());
    started.unwrap_or_else(|_| Err(io::Error::other("a confined thread panicked")))
}

/// True if the system confines programs at all: a container may forbid it, and before 5.13 Linux can't.
pub fn is_possible() -> bool {
    std::thread::scope(|scope| scope.spawn(|| confine(Path::new("/"))).join())
        .is_ok_and(|confined| confined.is_ok_and(|is| is))
}

/// True if this thread is confined now.
#[cfg(target_os = "linux")]
fn confine(folder: &Path) -> io::Result<bool> {
    use landlock::{
        ABI, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _,
        path_beneath_rules,
    };
    let writes = AccessFs::from_write(ABI::V5);
    let confined = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(writes)
        .and_then(Ruleset::create)
        .and_then(|rules| rules.add_rules(path_beneath_rules([folder, Path::new("/dev/null")], writes)))
        .and_then(landlock::RulesetCreated::restrict_self);
    let status = confined.map_err(io::Error::other)?;
    Ok(status.ruleset != landlock::RulesetStatus::NotEnforced)
}

#[cfg(not(target_os = "linux"))]
fn confine(_: &Path) -> io::Result<bool> {
    Ok(false)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use super::*;
    use crate::process;

    /// A link leads out of the folder, which changes nothing.
    #[test]
    fn who_is_confined_writes_in_the_folder_alone() {
        let parent = tempfile::tempdir().unwrap();
        let (ours, theirs) = (parent.path().join("ours"), parent.path().join("theirs"));
        for folder in [&ours, &theirs] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(theirs.join("precious"), "1").unwrap();
        std::os::unix::fs::symlink(&theirs, ours.join("link")).unwrap();
        let script = "echo 2 >made; echo 2 >link/precious; echo 2 >link/new; rm -f link/precious; mkdir link/folder; mv made link/; \
                      echo 2 >/dev/null && cat link/precious >read";
        let mut shell = process::program("sh");
        shell.args(["-c", script]).current_dir(&ours).stderr(std::process::Stdio::null());
        let ended = within(&ours, || process::output(&mut shell)).unwrap();
        assert!(ended.status.success(), "{ended:?}");
        let entries = |folder: &Path| {
            let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(
            (entries(&ours).len(), entries(&theirs).len()),
            (3, 1),
            "{:?} {:?}",
            entries(&ours),
            entries(&theirs)
        );
        assert_eq!(fs::read_to_string(theirs.join("precious")).unwrap(), "1");
        assert_eq!(fs::read_to_string(ours.join("read")).unwrap(), "1");
        // Whoever started it is as free as before.
        fs::write(theirs.join("free"), "").unwrap();
    }
}

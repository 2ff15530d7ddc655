//! Tests of the file's life: made, reused, removed, and never somebody else's.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::*;

const SIZE: u64 = 3 << 20;

fn wanted(folder: &Path) -> FileSpec {
    FileSpec { folder: folder.to_owned(), bytes: SIZE, seed: 1, buffered: true, keep: false, anew: false }
}

fn make(wanted: &FileSpec) -> Result<(TestFile, Origin)> {
    TestFile::make(wanted, &mut |_, _| Ok(()))
}

/// What follows the mark, which names the file's inode.
fn body(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap().split_off(HEADER_BYTES as usize)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn a_file_is_ours_alone_and_gone_at_the_end() {
    let folder = folder();
    let (mut file, origin) = make(&wanted(folder.path())).unwrap();
    let meta = fs::metadata(file.path()).unwrap();
    assert_eq!((origin, meta.len(), meta.permissions().mode() & 0o777), (Origin::LaidOut, HEADER_BYTES + SIZE, 0o600));
    assert!(meta.blocks() * 512 >= SIZE, "every block was written");
    let content = fs::read(file.path()).unwrap();
    let ones: u64 = content[HEADER_BYTES as usize..].iter().map(|byte| u64::from(byte.count_ones())).sum();
    assert!((ones as f64 / (4 * SIZE) as f64 - 1.0).abs() < 0.01, "random bytes, and no holes: {ones}");
    file.remove().unwrap();
    assert!(!file.path().exists());
}

#[test]
fn one_that_is_kept_is_used_again_if_size_and_seed_are_the_same() {
    let folder = folder();
    let keep = FileSpec { keep: true, ..wanted(folder.path()) };
    let content = {
        let (file, _) = make(&keep).unwrap();
        body(file.path())
    };
    let path = folder.path().join(NAME);
    assert!(path.exists());
    let (file, origin) = make(&keep).unwrap();
    assert_eq!((origin, body(&path) == content), (Origin::Reused, true));
    drop(file);
    let (file, origin) = make(&FileSpec { anew: true, ..keep.clone() }).unwrap();
    assert_eq!((origin, body(&path) == content), (Origin::LaidOut, true), "the seed alone decides");
    drop(file);
    let (file, origin) = make(&FileSpec { seed: 2, ..keep.clone() }).unwrap();
    assert_eq!((origin, body(&path) == content), (Origin::LaidOut, false));
    drop(file);
    // Cut short, it is made anew.
    OpenOptions::new().write(true).open(&path).unwrap().set_len(HEADER_BYTES + SIZE - 4).unwrap();
    let (file, origin) = make(&FileSpec { seed: 2, ..wanted(folder.path()) }).unwrap();
    assert_eq!(origin, Origin::LaidOut);
    drop(file);
    assert!(!path.exists(), "this one was not to be kept");
}

#[test]
fn what_a_killed_run_left_half_done_is_made_anew() {
    let folder = folder();
    let path = folder.path().join(NAME);
    let stop = TestFile::make(&wanted(folder.path()), &mut |done, _| {
        // As kill -9 leaves it: the file stays, and its lock falls.
        if done > 0 {
            fs::hard_link(&path, folder.path().join("left")).unwrap();
        }
        if done > 0 { Err(Error::new(ErrorKind::Cancelled, "stopped")) } else { Ok(()) }
    });
    assert_eq!(stop.unwrap_err().kind, ErrorKind::Cancelled);
    assert!(!path.exists(), "what was begun is removed");
    fs::rename(folder.path().join("left"), &path).unwrap();
    assert!(reclaimable_bytes(folder.path()) >= SIZE);
    let (_file, origin) = make(&wanted(folder.path())).unwrap();
    assert_eq!(origin, Origin::LaidOut);
}

#[test]
fn whoever_sees_the_file_sees_its_mark() {
    let folder = folder();
    let path = folder.path().join(NAME);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looks = || {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                let Ok(file) = File::open(&path) else { continue };
                // One that was being opened while it was removed has its mark all the same.
                assert!(Mark::read(&file).is_some(), "it has its name and no mark");
            }
        };
        let looking = scope.spawn(looks);
        for _ in 0..20 {
            drop(make(&FileSpec { bytes: 4096, ..wanted(folder.path()) }).unwrap());
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        looking.join().unwrap();
    });
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing else is left");
}

#[test]
fn what_is_not_ours_stays() {
    let folder = folder();
    let path = folder.path().join(NAME);
    let refused = |what: &str| {
        let error = make(&wanted(folder.path())).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Safety, "{what}: {error}");
        assert!(error.message.contains(what), "{error}");
        assert_eq!(reclaimable_bytes(folder.path()), 0);
    };
    fs::write(&path, "the user's own").unwrap();
    refused("no mark");
    assert_eq!(fs::read_to_string(&path).unwrap(), "the user's own");
    fs::write(&path, "").unwrap();
    refused("no mark");
    fs::remove_file(&path).unwrap();
    // A link would lead to another file.
    let (kept, elsewhere) = (folder.path().join("elsewhere"), folder.path().join("kept"));
    fs::write(&elsewhere, "another").unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    refused("can't be opened");
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "another");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    refused("can't be opened");
    fs::remove_dir(&path).unwrap();
    // A copy of a test file is the user's.
    drop(make(&FileSpec { keep: true, ..wanted(folder.path()) }).unwrap());
    fs::copy(&path, &kept).unwrap();
    fs::rename(&kept, &path).unwrap();
    refused("a copy");
}

#[test]
fn two_runs_do_not_share_a_file() {
    let folder = folder();
    let (_file, _) = make(&wanted(folder.path())).unwrap();
    assert_eq!(make(&wanted(folder.path())).unwrap_err().kind, ErrorKind::Busy);
}

#[test]
fn what_does_not_fit_is_not_begun() {
    let folder = folder();
    let error = make(&FileSpec { bytes: 1 << 60, ..wanted(folder.path()) }).unwrap_err();
    assert_eq!((error.kind, folder.path().join(NAME).exists()), (ErrorKind::Safety, false));
}

#[test]
fn a_file_that_was_replaced_is_neither_used_nor_removed() {
    let folder = folder();
    let (mut file, _) = make(&wanted(folder.path())).unwrap();
    // The old one goes on to exist, so that the new one has another number.
    fs::rename(file.path(), folder.path().join("moved")).unwrap();
    fs::write(file.path(), "another").unwrap();
    assert_eq!(file.open(SyncMode::None).unwrap_err().kind, ErrorKind::Safety);
    // Where ours is now is not known here, so it is said that it stays.
    let stays = file.remove().unwrap_err();
    let inode = fs::metadata(folder.path().join("moved")).unwrap().ino();
    assert!(stays.hint.is_some_and(|hint| hint.contains(&format!("-inum {inode} "))), "{}", stays.message);
    assert_eq!(fs::read_to_string(file.path()).unwrap(), "another");
}

#[test]
fn what_somebody_added_to_or_named_as_well_is_not_ours_any_more() {
    let folder = folder();
    let kept = FileSpec { keep: true, ..wanted(folder.path()) };
    let path = make(&kept).unwrap().0.path().to_owned();
    let refused = || make(&kept).map(drop).unwrap_err().message;
    fs::hard_link(&path, folder.path().join("mine")).unwrap();
    assert!(refused().contains("it has another name as well"));
    fs::remove_file(folder.path().join("mine")).unwrap();
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"my notes").unwrap();
    assert!(refused().contains("somebody added to it"));
    assert!(fs::read(&path).unwrap().ends_with(b"my notes"));
}

#[test]
fn what_somebody_adds_during_the_run_stays() {
    let folder = folder();
    let (mut file, _) = make(&wanted(folder.path())).unwrap();
    let path = file.path().to_owned();
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"my notes").unwrap();
    assert_eq!(file.remove().unwrap_err().kind, ErrorKind::Safety);
    drop(file);
    assert!(fs::read(&path).unwrap().ends_with(b"my notes"));
}

#[test]
fn a_size_that_nobody_chose_is_a_quarter_of_what_is_free_at_most() {
    let own = tempfile::tempdir().unwrap();
    let free = volume::free_bytes(own.path()).unwrap();
    assert_eq!(fitting_bytes(own.path(), 1 << 20), 1 << 20);
    let fitted = fitting_bytes(own.path(), free);
    assert!(fitted <= free / 4 + UNIT_BYTES && fitted.is_multiple_of(UNIT_BYTES), "{fitted} of {free}");
}

#[test]
fn what_somebody_writes_over_it_is_his_and_stays() {
    let folder = folder();
    let (mut file, _) = make(&wanted(folder.path())).unwrap();
    fs::write(file.path(), "a letter").unwrap();
    let error = file.remove().unwrap_err();
    assert!(error.kind == ErrorKind::Safety && error.message.contains("was overwritten during the run"), "{error:?}");
    drop(file);
    assert_eq!(fs::read_to_string(folder.path().join(NAME)).unwrap(), "a letter");
}

#[test]
fn one_that_was_kept_stays_where_another_would_not_fit() {
    let folder = folder();
    drop(make(&FileSpec { keep: true, ..wanted(folder.path()) }).unwrap());
    let error = make(&FileSpec { bytes: 1 << 60, ..wanted(folder.path()) }).unwrap_err();
    assert!(error.message.contains("does not fit"), "{error:?}");
    assert!(folder.path().join(NAME).exists());
}

#[test]
fn what_a_killed_run_left_is_found_and_removed_and_no_other() {
    let folder = folder();
    let left = || Leftover::find(folder.path());
    assert!(left().unwrap().is_none());
    let (file, _) = make(&FileSpec { keep: true, ..wanted(folder.path()) }).unwrap();
    assert_eq!(left().unwrap_err().kind, ErrorKind::Busy, "a run works with it");
    drop(file);
    let path = folder.path().join(NAME);
    // Looking at it removes nothing.
    assert!(left().unwrap().unwrap().is_complete && path.exists());
    left().unwrap().unwrap().remove().unwrap();
    assert!(!path.exists());
    fs::write(&path, "a letter").unwrap();
    assert_eq!(left().unwrap_err().kind, ErrorKind::Safety);
    assert!(path.exists());
}

#[test]
fn a_file_that_is_not_under_its_name_is_named_with_how_it_is_found() {
    let folder = folder();
    let (mut file, _) = make(&wanted(folder.path())).unwrap();
    let (path, moved) = (file.path().to_owned(), folder.path().join("moved"));
    fs::rename(&path, &moved).unwrap();
    let error = file.open(SyncMode::None).unwrap_err();
    assert!(error.kind == ErrorKind::Safety && error.message.contains("was moved during the run"), "{error:?}");
    assert!(error.hint.unwrap().starts_with("find '"));
    // What stands in its place is not opened, whatever it is.
    fs::write(&path, "a letter").unwrap();
    assert!(file.open(SyncMode::None).unwrap_err().message.contains("was moved during the run"));
    fs::remove_file(&moved).unwrap();
    assert!(file.open(SyncMode::None).unwrap_err().message.contains("was removed during the run"));
    file.remove().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "a letter");
}

/// Numbers of files are those of one file system: in another one they are somebody else's.
#[test]
fn a_disk_that_is_not_mounted_any_more_is_no_file_that_was_moved() {
    let folder = folder();
    let run = |program: &str, words: &[&str]| {
        let done = std::process::Command::new(program).args(words).arg(folder.path()).output();
        done.is_ok_and(|done| done.status.success())
    };
    // Only root may mount.
    if !run("mount", &["-t", "tmpfs", "-o", "size=64m", "tmpfs"]) {
        return;
    }
    let made = make(&FileSpec { buffered: true, ..wanted(folder.path()) });
    assert!(run("umount", &["-l"]));
    let (mut file, _) = made.unwrap();
    let stays = file.remove().unwrap_err();
    assert!(stays.message.contains("is not mounted there any more"), "{stays:?}");
    assert_eq!(stays.hint.as_deref(), Some("mount it there again"));
}

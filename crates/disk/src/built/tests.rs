//! Machines as `/sys` shows them.

use std::os::unix::fs::symlink;

use super::*;

/// A `/sys` of so many disks `sda`, `sdb`...
struct Sys(tempfile::TempDir);

impl Sys {
    fn new(disks: usize) -> Self {
        let sys = Self(tempfile::tempdir().unwrap());
        for disk in 0..disks {
            sys.device(&name(disk), &format!("8:{}", 16 * disk), &[]);
        }
        sys
    }

    /// A device on others.
    fn device(&self, name: &str, number: &str, below: &[&str]) -> PathBuf {
        let folder = self.0.path().join("devices").join(name);
        fs::create_dir_all(folder.join("slaves")).unwrap();
        for other in below {
            let last = other.rsplit('/').next().unwrap();
            symlink(self.0.path().join("devices").join(other), folder.join("slaves").join(last)).unwrap();
        }
        fs::create_dir_all(self.0.path().join("dev/block")).unwrap();
        symlink(&folder, self.0.path().join("dev/block").join(number)).unwrap();
        folder
    }

    fn file(folder: &Path, name: &str, text: &str) {
        fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
        fs::write(folder.join(name), text).unwrap();
    }

    fn partition(&self, disk: &str, number: &str) -> String {
        let name = format!("{disk}/{disk}1");
        let folder = self.device(&name, number, &[]);
        Self::file(&folder, "partition", "1\n");
        name
    }

    fn array(&self, level: &str, chunk: &str, below: &[&str]) {
        let folder = self.device("md0", "9:0", below);
        Self::file(&folder, "md/level", &format!("{level}\n"));
        Self::file(&folder, "md/chunk_size", &format!("{chunk}\n"));
    }

    fn mapped(&self, name: &str, number: &str, below: &[&str]) {
        let folder = self.device(name, number, below);
        Self::file(&folder, "dm/name", &format!("vg-{name}\n"));
    }

    fn volume(&self, number: &str, table: Option<&str>) -> Result<Built, String> {
        Machine { sys: self.0.path(), table: &|_| table.map(str::to_owned) }.volume(number)
    }
}

fn name(disk: usize) -> String {
    format!("sd{}", char::from(b'a' + disk as u8))
}

const fn built(disks: usize, how: How) -> Built {
    Built { disks, how }
}

#[test]
fn a_disk_and_a_partition_of_it_are_one() {
    let sys = Sys::new(2);
    sys.partition("sda", "8:1");
    assert_eq!(sys.volume("8:16", None).unwrap(), built(1, How::One));
    assert_eq!(sys.volume("8:1", None).unwrap(), built(1, How::One));
}

#[test]
fn arrays_of_md_are_known_by_their_level() {
    let of = |level: &str| {
        let sys = Sys::new(4);
        let parts: Vec<String> =
            (0..4).map(|disk| sys.partition(&name(disk), &format!("8:{}", 16 * disk + 1))).collect();
        sys.array(level, "65536", &parts.iter().map(String::as_str).collect::<Vec<_>>());
        sys.volume("9:0", None)
    };
    assert_eq!(of("raid0").unwrap(), built(4, How::Striped { columns: 4, unit_bytes: 65_536 }));
    assert_eq!(of("linear").unwrap(), built(4, How::Spanned));
    assert_eq!(of("raid1").unwrap(), built(4, How::Other("raid1".to_owned())));
    assert_eq!(of("raid10").unwrap(), built(4, How::Other("raid10".to_owned())));
    assert_eq!(of("raid5").unwrap().words(), "4 disks (raid5)");
}

#[test]
fn volumes_of_lvm_are_known_by_their_table() {
    let sys = Sys::new(4);
    sys.mapped("dm-0", "253:0", &["sda", "sdb", "sdc", "sdd"]);
    let striped = "0 8388608 striped 2 128 8:0 2048 8:16 2048\n8388608 8388608 striped 2 128 8:32 2048 8:48 2048\n";
    assert_eq!(sys.volume("253:0", Some(striped)).unwrap(), built(4, How::Striped { columns: 2, unit_bytes: 65_536 }));
    let linear = "0 4194304 linear 8:0 2048\n4194304 4194304 linear 8:16 2048\n";
    let spanned = sys.volume("253:0", Some(linear)).unwrap();
    assert_eq!(spanned, built(4, How::Spanned));
    assert_eq!(spanned.words(), "4 disks, one filled after the other");
    let parity = "0 8388608 raid raid5_ls 3 128 1 4 253:1 253:2 253:3 253:4 253:5 253:6 253:7 253:8\n";
    assert_eq!(sys.volume("253:0", Some(parity)).unwrap(), built(4, How::Other("raid".to_owned())));
    // An ordinary user sees the disks and not how they share the volume.
    assert!(sys.volume("253:0", None).unwrap_err().contains("only root may read the table of vg-dm-0"));
}

#[test]
fn what_lies_on_one_other_is_as_that_is() {
    let sys = Sys::new(2);
    sys.array("raid0", "524288", &["sda", "sdb"]);
    sys.mapped("dm-0", "253:0", &["md0"]);
    // As an encrypted one, for which no table has to be read.
    sys.mapped("dm-1", "253:1", &["dm-0"]);
    let striped = sys.volume("253:1", None);
    assert_eq!(striped.as_ref().unwrap().words(), "2 disks, striped over 2 columns with a unit of 512 KiB");
    assert_eq!(striped, sys.volume("9:0", None));
}

#[test]
fn what_is_not_understood_is_not_guessed() {
    let sys = Sys::new(4);
    assert!(sys.volume("0:54", None).unwrap_err().contains("none that /sys knows"));
    sys.array("raid0", "65536", &["sda", "sdb"]);
    sys.mapped("dm-0", "253:0", &["md0", "sdc"]);
    assert!(sys.volume("253:0", Some("")).unwrap_err().contains("arrays that lie on arrays"));
    // A circle ends.
    let circle = sys.device("dm-9", "253:9", &[]);
    symlink(&circle, circle.join("slaves/dm-9")).unwrap();
    assert!(sys.volume("253:9", None).unwrap_err().contains("too many others"));
    let empty = Sys::new(2);
    empty.mapped("dm-0", "253:0", &["sda", "sdb"]);
    assert!(empty.volume("253:0", Some("\n")).unwrap_err().contains("empty"));
}

#[test]
fn the_folder_of_a_test_lies_on_something_or_the_reason_is_said() {
    match below(&std::env::temp_dir()) {
        Ok(built) => assert!(built.disks >= 1),
        Err(reason) => assert!(!reason.is_empty()),
    }
    assert!(below(Path::new("/nowhere/at/all")).unwrap_err().starts_with("/nowhere/at/all"));
}

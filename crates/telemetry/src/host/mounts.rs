//! What is mounted where, from `/proc/self/mountinfo`: proc(5).

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Which folder of the file system is mounted.
    pub root: String,
    pub folder: String,
    /// Kind of file system: `ext4`, `cgroup2`.
    pub kind: String,
    pub options: Vec<String>,
}

/// Reads the text of `/proc/self/mountinfo`. A line that can't be read is left out.
pub fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Mount> {
    // Any number of optional fields stands before the dash.
    let (place, system) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, folder) = (unescaped(place.next()?), unescaped(place.next()?));
    let mut system = system.split(' ');
    let (kind, _source) = (system.next()?.to_owned(), system.next()?);
    let options = system.next().unwrap_or_default().split(',').map(unescaped).collect();
    Some(Mount { root, folder, kind, options })
}

/// Blanks, tabs, line ends and backslashes are written as three octal digits behind a backslash.
fn unescaped(field: &str) -> String {
    let mut parts = field.split('\\');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(u8::is_ascii);
        if let Some(code) = code {
            text.push(char::from(code));
            text.push_str(&part[3..]);
        } else {
            text.push('\\');
            text.push_str(part);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard
36 35 98:0 /mnt1 /mnt/my\\040disk rw,noatime - btrfs /dev/sd\\134b rw,subvol=/mnt1
37 35 98:1 / /mnt rw - xfs /dev/sdc rw
38 35 98:2 / /mnt rw - ext4 /dev/sdd
";

    #[test]
    fn optional_fields_and_escapes_are_read() {
        let mounts = parse(TEXT);
        assert_eq!(mounts.len(), 5);
        assert_eq!((mounts[1].folder.as_str(), mounts[1].kind.as_str()), ("/", "ext4"));
        let disk = &mounts[2];
        assert_eq!(disk.folder, "/mnt/my disk");
        assert_eq!(
            (disk.root.as_str(), &disk.options[..]),
            ("/mnt1", &["rw".to_owned(), "subvol=/mnt1".to_owned()][..])
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in "([0-9]{1,12}|:|/|\\\\|\\\\0| - | |\n|é|[a-z]{1,4}){0,60}") {
            let _ = parse(&text);
        }
    }
}

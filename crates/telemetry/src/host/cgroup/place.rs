//! Where the control groups of a process are: cgroups(7), `/proc/PID/cgroup`.
//!
//! Version 1 has a tree of groups for each controller or a few, version 2 one tree for all. A machine may have both; then a
//! controller is in one of them.

use super::super::mounts::Mount;

/// A line of `/proc/PID/cgroup`: the group of a process in one of the trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// Its controllers; none is the tree of version 2.
    pub controllers: Vec<String>,
    /// The group, as a path from the tree's root.
    pub path: String,
}

/// Reads the text of `/proc/PID/cgroup`. A line that can't be read is left out.
pub fn parse(text: &str) -> Vec<Membership> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Membership> {
    // The path may hold colons.
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?.parse::<u32>().ok()?, parts.next()?, parts.next()?);
    let controllers = controllers.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    path.starts_with('/').then(|| Membership { controllers, path: path.to_owned() })
}

/// Which of the two interfaces a controller has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    One,
    Two,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub version: Version,
    pub mount_point: String,
    /// First part of the group's path, which the mount leaves out as it shows only what is below; empty where it shows all.
    pub hidden: String,
    pub visible: String,
}

impl Place {
    /// The group and those above it, as far as they can be seen: each as its path from the root of its tree and its folder.
    pub fn upwards(&self) -> Vec<(String, String)> {
        let mut visible = self.visible.trim_end_matches('/');
        let mut levels = Vec::new();
        loop {
            let path = format!("{}{visible}", self.hidden);
            let folder = format!("{}{visible}", self.mount_point.trim_end_matches('/'));
            levels.push((if path.is_empty() { "/".to_owned() } else { path }, folder));
            match visible.rsplit_once('/') {
                Some((above, _)) => visible = above,
                None => return levels,
            }
        }
    }
}

/// Finds the group of a process for a controller, by its name in version 1 (`blkio`) and in version 2 (`io`). In version 2 the group's
/// files tell whether the controller is switched on there.
///
/// # Errors
/// Why it can't be found, in words.
pub fn find(memberships: &[Membership], mounts: &[Mount], one: &str, two: &str) -> Result<Place, String> {
    let own = |membership: &&Membership| membership.controllers.iter().any(|name| name == one);
    let (version, membership, kind) = match memberships.iter().find(own) {
        Some(membership) => (Version::One, membership, "cgroup"),
        None => match memberships.iter().find(|membership| membership.controllers.is_empty()) {
            Some(membership) => (Version::Two, membership, "cgroup2"),
            None => return Err(format!("the process is in no control group for '{two}'")),
        },
    };
    let path = &membership.path;
    // As the kernel writes a path that is not below the reader's own root.
    if path == "/.." || path.starts_with("/../") {
        return Err(format!("the control group {path} is outside of what can be seen from here"));
    }
    let of_tree = |mount: &&Mount| {
        mount.kind == kind && (version == Version::Two || mount.options.iter().any(|option| option == one))
    };
    let mut trees = mounts.iter().filter(of_tree).peekable();
    if trees.peek().is_none() {
        return Err(format!("no file system '{kind}' with '{two}' is mounted"));
    }
    // A container may see the groups below its own only, mounted as if they were all.
    let place = |mount: &Mount| {
        let hidden = mount.root.trim_end_matches('/');
        let visible = path.strip_prefix(hidden).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
        let (hidden, visible) = (hidden.to_owned(), visible.to_owned());
        Some(Place { version, mount_point: mount.folder.clone(), hidden, visible })
    };
    trees.find_map(place).ok_or_else(|| format!("the control group {path} is on no mount that can be seen from here"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::mounts;
    use super::*;

    const HYBRID: &str = "9:name=systemd:/user.slice\n4:memory:/a:b/c\n2:cpu,cpuacct:/\n1:blkio:/x\n0::/init.scope\n";
    const HYBRID_MOUNTS: &str = "\
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";
    const CONTAINER_MOUNTS: &str = "\
50 49 0:29 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory
51 49 0:30 /docker /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct
";

    fn levels(cgroup: &str, mountinfo: &str, one: &str, two: &str) -> Result<Vec<(String, String)>, String> {
        find(&parse(cgroup), &mounts::parse(mountinfo), one, two).map(|place| place.upwards())
    }

    fn level(path: &str, folder: &str) -> (String, String) {
        (path.to_owned(), folder.to_owned())
    }

    #[test]
    fn a_controller_is_in_its_own_tree_or_in_the_common_one() {
        let memory = levels(HYBRID, HYBRID_MOUNTS, "memory", "memory").unwrap();
        let folder = "/sys/fs/cgroup/memory";
        let expected =
            [level("/a:b/c", &format!("{folder}/a:b/c")), level("/a:b", &format!("{folder}/a:b")), level("/", folder)];
        assert_eq!(memory, expected);
        assert_eq!(levels(HYBRID, HYBRID_MOUNTS, "cpu", "cpu").unwrap(), [level("/", "/sys/fs/cgroup/cpu,cpuacct")]);
        let reason = levels(HYBRID, HYBRID_MOUNTS, "blkio", "io").unwrap_err();
        assert!(reason.contains("no file system 'cgroup'"), "{reason}");
        // Not named in any tree of version 1, so it can be nowhere else.
        let unified = "/sys/fs/cgroup/unified";
        let expected = [level("/init.scope", &format!("{unified}/init.scope")), level("/", unified)];
        assert_eq!(levels(HYBRID, HYBRID_MOUNTS, "pids", "pids").unwrap(), expected);
    }

    #[test]
    fn a_container_sees_its_own_groups_as_the_root() {
        let inside = "4:memory:/docker/abc/db\n2:cpu,cpuacct:/docker/abc\n";
        let folder = "/sys/fs/cgroup/memory";
        let memory = levels(inside, CONTAINER_MOUNTS, "memory", "memory").unwrap();
        assert_eq!(memory, [level("/docker/abc/db", &format!("{folder}/db")), level("/docker/abc", folder)]);
        let cpu = levels(inside, CONTAINER_MOUNTS, "cpu", "cpu").unwrap();
        assert_eq!(cpu[0], level("/docker/abc", "/sys/fs/cgroup/cpu/abc"));
        let elsewhere = levels("4:memory:/docker/abcd\n", CONTAINER_MOUNTS, "memory", "memory");
        assert!(elsewhere.unwrap_err().contains("on no mount"));
    }

    #[test]
    fn what_is_out_of_sight_is_said() {
        let outside = levels("0::/../other\n", HYBRID_MOUNTS, "cpu", "cpu");
        assert!(outside.unwrap_err().contains("outside of what can be seen"));
        assert!(levels("", HYBRID_MOUNTS, "cpu", "cpu").unwrap_err().contains("in no control group"));
        assert!(levels("0::/x\n", "", "cpu", "cpu").unwrap_err().contains("no file system 'cgroup2'"));
        assert_eq!(parse("x:cpu:/\n1:cpu\n2:cpu:relative\n"), []);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(
            cgroup in "([0-9]{1,12}|:|/|[.][.]|cpu|,|\n){0,30}",
            root in "/[a-c/]{0,6}",
            path in "/[a-cé/]{0,8}",
        ) {
            let tree = Mount {
                root,
                folder: "/".to_owned(),
                kind: "cgroup".to_owned(),
                options: vec!["cpu".to_owned()],
            };
            let mut memberships = parse(&cgroup);
            memberships.push(Membership { controllers: vec!["cpu".to_owned()], path });
            if let Ok(place) = find(&memberships, &[tree], "cpu", "cpu") {
                prop_assert!(!place.upwards().is_empty());
            }
        }
    }
}

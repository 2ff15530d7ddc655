//! Which file lies on which device of a machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Role {
    /// The database itself.
    Data,
    /// The log or journal.
    Log,
    /// Temporary files.
    Temp,
    /// Whole databases that the service moves.
    Movement,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Data, Self::Log, Self::Temp, Self::Movement];

    /// The name in files and for scripts.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The role of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}

/// A file by what it is for, or by its own name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum PlacedFile {
    /// All files of a role that have no place of their own.
    Role(Role),
    /// The file of this name.
    Named(String),
}

impl From<Role> for PlacedFile {
    fn from(role: Role) -> Self {
        Self::Role(role)
    }
}

/// The name of a role means the role.
impl From<&str> for PlacedFile {
    fn from(name: &str) -> Self {
        Role::of_name(name).map_or_else(|| Self::Named(name.to_owned()), Self::Role)
    }
}

impl From<String> for PlacedFile {
    fn from(name: String) -> Self {
        Self::from(name.as_str())
    }
}

impl From<PlacedFile> for String {
    fn from(file: PlacedFile) -> Self {
        match file {
            PlacedFile::Role(role) => role.name().to_owned(),
            PlacedFile::Named(name) => name,
        }
    }
}

/// Files, each with the name of the device that it lies on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Placement(BTreeMap<PlacedFile, String>);

impl Placement {
    /// Places a file on a device.
    pub fn set(&mut self, file: impl Into<PlacedFile>, device: impl Into<String>) {
        self.0.insert(file.into(), device.into());
    }

    /// The device of a file. Temporary files and whole databases that are moved lie with the data, unless they have a
    /// place of their own. A file with a name has a place only if it was given one.
    pub fn device_of(&self, file: &PlacedFile) -> Option<&str> {
        let with_data = || match file {
            PlacedFile::Role(Role::Temp | Role::Movement) => self.0.get(&PlacedFile::Role(Role::Data)),
            _ => None,
        };
        self.0.get(file).or_else(with_data).map(String::as_str)
    }

    /// Files that were given a place, with their devices.
    pub fn iter(&self) -> impl Iterator<Item = (&PlacedFile, &str)> {
        self.0.iter().map(|(file, device)| (file, device.as_str()))
    }
}

/// A device of a machine by its place in the description. It means something for that machine alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId(pub(crate) usize);

//! Names that a record uses again and again, as enums: the program knows all of its own, and keeps a newer release's readable.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A closed list of names.
pub trait Vocabulary: Copy + Ord + fmt::Debug + 'static {
    /// What the names are of, as the schema calls it: `Metric`.
    const WHAT: &'static str;
    /// All of them, in the order in which they are listed.
    const ALL: &'static [Self];

    /// The name as it stands in a record.
    fn name(self) -> &'static str;

    /// What has this name.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.name() == name)
    }
}

/// A name in a record: one that this release knows, or another that a newer release wrote.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name<T> {
    /// Of this release's vocabulary.
    Known(T),
    /// Of another's; it is kept and shown as it is.
    Other(String),
}

impl<T: Vocabulary> Name<T> {
    /// The name that was read.
    pub fn read(name: &str) -> Self {
        T::named(name).map_or_else(|| Self::Other(name.to_owned()), Self::Known)
    }

    /// The name as it stands in a record.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(one) => one.name(),
            Self::Other(name) => name,
        }
    }

    /// What it means, if this release knows.
    pub fn known(&self) -> Option<T> {
        match self {
            Self::Known(one) => Some(*one),
            Self::Other(_) => None,
        }
    }
}

impl<T> From<T> for Name<T> {
    fn from(one: T) -> Self {
        Self::Known(one)
    }
}

impl<T: PartialEq> PartialEq<T> for Name<T> {
    fn eq(&self, other: &T) -> bool {
        matches!(self, Self::Known(one) if one == other)
    }
}

impl<T: Vocabulary> fmt::Display for Name<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<T: Vocabulary> Serialize for Name<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de, T: Vocabulary> Deserialize<'de> for Name<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::read(&Cow::<str>::deserialize(deserializer)?))
    }
}

impl<T: Vocabulary> JsonSchema for Name<T> {
    fn schema_name() -> Cow<'static, str> {
        T::WHAT.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = T::ALL.iter().map(|one| one.name()).collect();
        json_schema!({
            "description": "One of the names listed, or one that a newer release has added.",
            "anyOf": [{"enum": names}, {"type": "string"}],
        })
    }
}

/// Declares a [`Vocabulary`]: an enum with the name of each value in records.
#[macro_export]
macro_rules! vocabulary {
    ($(#[$about:meta])* $what:ident { $($(#[$doc:meta])* $one:ident = $name:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $what {
            $($(#[$doc])* $one,)*
        }

        impl $what {
            /// The name as it stands in a record.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$one => $name,)*
                }
            }
        }

        impl $crate::vocabulary::Vocabulary for $what {
            const WHAT: &'static str = stringify!($what);
            const ALL: &'static [Self] = &[$(Self::$one,)*];

            fn name(self) -> &'static str {
                Self::name(self)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    vocabulary! {
        /// Colours.
        Colour {
            /// Like grass.
            Green = "green",
            /// Like the sky.
            Blue = "blue",
        }
    }

    #[test]
    fn names_of_newer_releases_survive_reading_and_writing() {
        let text = r#"["blue","ultraviolet"]"#;
        let names: Vec<Name<Colour>> = serde_json::from_str(text).unwrap();
        assert_eq!(names, [Name::Known(Colour::Blue), Name::Other("ultraviolet".to_owned())]);
        assert!(names[0] == Colour::Blue && names[1].known().is_none());
        assert_eq!(serde_json::to_string(&names).unwrap(), text);
    }
}

//! Whether a server counts statements: a setting that somebody may change between two readings.

use std::collections::BTreeSet;

/// What the settings said at each reading.
#[derive(Debug, Default)]
pub struct Counting {
    has_read: bool,
    /// Why not all statements were counted at the last reading; `None` where all were.
    last: Option<String>,
    /// The same of all readings after or before which all were.
    in_part: BTreeSet<String>,
}

impl Counting {
    /// Takes why not all statements are counted at a reading, `None` where all are. Returns whether all were since the reading before, as
    /// far as the settings at both say.
    pub fn read(&mut self, why: Option<String>) -> bool {
        let is_counting = why.is_none();
        let before = std::mem::replace(&mut self.last, why.clone());
        let was_counting = before.is_none();
        if std::mem::replace(&mut self.has_read, true) && was_counting != is_counting {
            self.in_part.extend(why.or(before));
        }
        was_counting && is_counting
    }

    /// A sentence where not all were counted at the last reading, or at one before it.
    pub fn warning(&self) -> Option<String> {
        if !self.in_part.is_empty() {
            let why: Vec<&str> = self.in_part.iter().map(String::as_str).collect();
            return Some(format!("for a part of the time not all statements were counted: {}", why.join("; ")));
        }
        self.last.as_ref().map(|why| format!("not all statements are counted: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_whole_if_all_were_counted_at_both_its_ends() {
        let off = || Some("it is off".to_owned());
        let whole = |readings: Vec<Option<String>>| -> (Vec<bool>, Option<String>) {
            let mut counting = Counting::default();
            let whole = readings.into_iter().map(|why| counting.read(why)).collect();
            (whole, counting.warning())
        };
        assert_eq!(whole(vec![None, None]), (vec![true, true], None));
        let always = "not all statements are counted: it is off".to_owned();
        assert_eq!(whole(vec![off(), off()]), (vec![false, false], Some(always)));
        let in_part = "for a part of the time not all statements were counted: it is off".to_owned();
        let (found, warning) = whole(vec![None, off(), off(), None, None]);
        assert_eq!((found, warning), (vec![true, false, false, false, true], Some(in_part.clone())));
        assert_eq!(whole(vec![off(), None, None]), (vec![false, false, true], Some(in_part)));
    }
}

//! An answer on its way to a client, which may be cut off in the middle.

use std::io;

use super::packet::{Cutting, Writer, kind};
use super::pipe::Pipe;

/// An answer on its way. What has been put together goes out at the end, or when the server has to wait in the middle.
pub(super) struct Sending {
    pub(super) cut_after: Option<usize>,
    pub(super) sent: usize,
    pub(super) cutting: Cutting,
    pub(super) body: Vec<u8>,
}

impl Sending {
    /// Appends; false once the place is reached where the connection is to be cut.
    pub(super) fn put(&mut self, bytes: &[u8]) -> bool {
        self.body.extend_from_slice(bytes);
        match self.cut_after {
            Some(cut) if self.sent + self.body.len() > cut => {
                self.body.truncate(cut.saturating_sub(self.sent));
                false
            }
            _ => true,
        }
    }

    /// Sends what there is, as packets that are not the last.
    pub(super) fn break_off(&mut self, pipe: &mut Pipe) -> io::Result<()> {
        let mut writer = Writer::new(pipe, kind::RESPONSE, self.cutting);
        writer.put(&self.body)?;
        self.sent += self.body.len();
        self.body.clear();
        writer.break_off()
    }

    pub(super) fn end(self, pipe: &mut Pipe) -> io::Result<()> {
        let mut writer = Writer::new(pipe, kind::RESPONSE, self.cutting);
        writer.put(&self.body)?;
        writer.end()
    }
}

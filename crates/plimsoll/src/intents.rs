//! What we are about to make at targets, noted in the result store: what was begun and never marked is known as ours by it.

use std::sync::Arc;

use plimsoll_engine::{Error, ErrorKind, Intent, Intents, Ledger, Result};
use plimsoll_store::{Note, RunStore, StoreError};

use crate::printer::Printer;
use crate::settings::Settings;

#[derive(Debug)]
struct InStore(Arc<RunStore>);

impl Ledger for InStore {
    fn keep(&self, intent: &Intent) -> Result<()> {
        let note = Note { token: intent.token.clone(), made: intent.made };
        self.0.keep_intent(&intent.target, &intent.object, &note).map_err(|error| failed(&error))
    }

    fn find(&self, target: &str, object: &str) -> Result<Option<Intent>> {
        let note = self.0.intent(target, object).map_err(|error| failed(&error))?;
        Ok(note.map(|Note { token, made }| Intent {
            target: target.to_owned(),
            object: object.to_owned(),
            token,
            made,
        }))
    }

    fn beginning(&self, target: &str, beginning: &str) -> Result<Vec<Intent>> {
        let notes = self.0.intents_beginning(target, beginning).map_err(|error| failed(&error))?;
        let intent = |(object, Note { token, made })| Intent { target: target.to_owned(), object, token, made };
        Ok(notes.into_iter().map(intent).collect())
    }

    fn forget(&self, target: &str, object: &str) -> Result<()> {
        self.0.forget_intent(target, object).map_err(|error| failed(&error))
    }
}

fn failed(error: &StoreError) -> Error {
    let kind = if matches!(error, StoreError::Full { .. }) { ErrorKind::DiskFull } else { ErrorKind::Store };
    Error::new(kind, format!("what is to be made at the target could not be noted: {error}"))
        .hint("name another store with --store FILE")
}

/// The notes in a store.
pub fn noted_in(store: &Arc<RunStore>) -> Intents {
    Intents::new(Arc::new(InStore(Arc::clone(store))))
}

/// The notes in the store that is there. Without one there are none, and marks alone say what is ours.
pub fn known(settings: &Settings, printer: &Printer) -> Intents {
    if !settings.store.exists() {
        return Intents::default();
    }
    match settings.open_store() {
        Ok(store) => noted_in(&store),
        Err(failure) => {
            printer.remark(&format!("only marks tell what is ours, as the store can't be used: {}", failure.message));
            Intents::default()
        }
    }
}

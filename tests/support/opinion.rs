//! Whatever a story recorded, the second opinion accepts it.

use std::fs;
use std::path::{Path, PathBuf};

use engine::event::Event;
use journal::Journal;
use models::reference;

/// Held by a project: when the story is over, every journal of its workdir is read once more.
pub(crate) struct SecondOpinion(pub(crate) PathBuf);

impl Drop for SecondOpinion {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let runs = fs::read_dir(self.0.join(".loopexec/runs"));
            for run in runs.into_iter().flatten().flatten() {
                accepts_the_journal(&run.path());
            }
        }
    }
}

/// As far as the journal is whole: what a story damaged on purpose ends it.
fn accepts_the_journal(run: &Path) {
    let Ok(reader) = Journal::open_read(&run.join("journal")) else {
        return;
    };
    let whole = reader.events().map_while(Result::ok);
    let events: Vec<Event> = whole.map(|(_, event)| event).collect();
    let told: Vec<_> = events
        .iter()
        .map(|event| serde_json::to_value(event).unwrap())
        .collect();
    if let Err(refusal) = reference::accept(&told) {
        let names: Vec<&str> = events.iter().map(Event::name).collect();
        panic!("the second opinion refuses {}: {refusal}\n{names:?}", run.display());
    }
}

/// A receipt that nobody touched tells the same; its last line may have found no room.
pub(crate) fn accepts_the_receipt(receipt: &Path) {
    let told = reference::receipt(&fs::read_to_string(receipt).unwrap());
    let events = told.unwrap_or_else(|refusal| panic!("the second opinion refuses {}: {refusal}", receipt.display()));
    assert!(events > 0, "{} is empty", receipt.display());
}

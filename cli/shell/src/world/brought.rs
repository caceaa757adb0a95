//! What of the work's changes comes out of its zone, and what stays there.
//!
//! ```text
//!   volume ── what the turn changed ──┬── ignored when the turn began ──> stays, and is told
//!                                     ├── with the key in its path ──> nobody keeps it, and it is counted
//!                                     └── the rest ──> the user's tree
//! ```

use engine::event::measurement::CommandRun as Fact;
use engine::words::counted;

use super::RealWorld;
use crate::tree::{TreeId, path_text};

/// Files that stayed behind are named up to so many.
const STAYED_MAX: usize = 8;

/// What the work showed and nobody took.
#[derive(Debug, Default)]
pub(super) struct Stayed {
    /// By path.
    ignored: Vec<String>,
    /// Files whose paths hold the key.
    named_by_the_key: u64,
}

impl Stayed {
    /// Says so in the account of the zone.
    pub(super) fn note(&self, fact: &mut Fact) {
        let Some(zone) = &mut fact.zone else { return };
        let mut said: Vec<String> = Some(std::mem::take(&mut zone.said))
            .filter(|said| !said.is_empty())
            .into_iter()
            .collect();
        if !self.ignored.is_empty() {
            let named = self.ignored.iter().take(STAYED_MAX);
            let named: Vec<String> = named.map(|path| format!("{path:?}")).collect();
            said.push(format!(
                "what was ignored when the turn began stays as it was, {} of the work's: {}",
                counted(self.ignored.len() as u64, "file"),
                named.join(", ")
            ));
        }
        if self.named_by_the_key > 0 {
            let files = counted(self.named_by_the_key, "file");
            said.push(format!("what had the key in its name was removed, {files}"));
        }
        zone.said = said.join("; ");
    }
}

impl RealWorld {
    /// What the work changed, and nothing else, in the user's tree.
    pub(super) fn bring_back(&mut self, before: TreeId) -> Result<Stayed, String> {
        let zones = self.zones.as_mut().ok_or("this world has no zones")?;
        let volume = zones.agent.as_mut().ok_or("this world has no volume")?;
        let mut left = volume.keep(before, &zones.key_forms)?;
        let mut stayed = Stayed {
            named_by_the_key: left.named_by_a_secret,
            ..Stayed::default()
        };
        let recorded = self.tree.manifest(before).map_err(|error| error.to_string())?;
        // Whatever the work made of the rules: no store holds what would be written over.
        let is_users = |path: &[u8]| recorded.entry(path).is_none() && self.tree.ignores(path);
        let shown = left.put.iter().filter(|entry| is_users(&entry.path));
        stayed.ignored = shown.map(|entry| path_text(&entry.path)).collect();
        let may_come = |path: &[u8]| self.tree.may_hold(path) && !is_users(path);
        left.put.retain(|entry| may_come(&entry.path));
        left.removed.retain(|path| may_come(path));
        if left.put.is_empty() && left.removed.is_empty() {
            return Ok(stayed);
        }
        let restored = self.tree.restore_files(&left.put, &left.removed);
        // The next walk is to see what came, and this was a look at the tree in between.
        self.walked = false;
        restored
            .map(|_| stayed)
            .map_err(|error| format!("the work's changes could not be brought back: {error}"))
    }
}

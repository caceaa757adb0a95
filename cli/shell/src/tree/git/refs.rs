//! References, as the files say: loose ones over packed ones.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::Unavailable;
use crate::foreign;
use crate::tree::stat::{Now, Sig};

/// How many symbolic references are followed from `HEAD`.
const LONGEST_CHAIN: usize = 5;

/// A reference holds an id or the name of another.
const VALUE_MAX_BYTES: u64 = 64 << 10;

/// A million packed references.
const PACKED_MAX_BYTES: u64 = 128 << 20;

/// Reads references, keeping what it read while the files do not move.
#[derive(Debug, Default)]
pub(crate) struct RefReader {
    loose: HashMap<PathBuf, (Sig, String)>,
    packed: Option<(Sig, BTreeMap<String, String>)>,
}

impl RefReader {
    /// Every reference: full name to commit id, or to `ref: other` for a symbolic one.
    pub(crate) fn read(
        &mut self,
        git_dir: &Path,
        common_dir: &Path,
        now: Now,
    ) -> Result<BTreeMap<String, String>, Unavailable> {
        let mut refs = self.packed(common_dir, now)?;
        let mut still = HashMap::with_capacity(self.loose.len());
        self.loose_in(&common_dir.join("refs"), "refs", now, &mut still, &mut refs)?;
        if git_dir != common_dir {
            // A linked worktree has a few references of its own.
            self.loose_in(&git_dir.join("refs"), "refs", now, &mut still, &mut refs)?;
        }
        self.loose = still;
        Ok(refs)
    }

    fn packed(&mut self, common_dir: &Path, now: Now) -> Result<BTreeMap<String, String>, Unavailable> {
        let file = common_dir.join("packed-refs");
        let Some(sig) = sig_of(&file)? else {
            self.packed = None;
            return Ok(BTreeMap::new());
        };
        if let Some((known, refs)) = &self.packed
            && *known == sig
        {
            return Ok(refs.clone());
        }
        let text = foreign::read(&file, PACKED_MAX_BYTES).map_err(|e| Unavailable::reading(&file, &e))?;
        let mut refs = BTreeMap::new();
        for line in String::from_utf8_lossy(&text).lines() {
            // `#` starts the header, `^` the commit a tag stands for.
            if !line.starts_with(['#', '^']) && !line.is_empty() {
                let malformed = || Unavailable::Malformed { file: file.clone() };
                let (id, name) = line.split_once(' ').filter(|(id, _)| is_id(id)).ok_or_else(malformed)?;
                refs.insert(name.to_owned(), id.to_owned());
            }
        }
        self.packed = sig.settled(now).then(|| (sig, refs.clone()));
        Ok(refs)
    }

    fn loose_in(
        &self,
        dir: &Path,
        name: &str,
        now: Now,
        still: &mut HashMap<PathBuf, (Sig, String)>,
        refs: &mut BTreeMap<String, String>,
    ) -> Result<(), Unavailable> {
        let entries = match std::fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(Unavailable::reading(dir, &e)),
        };
        for entry in entries {
            let entry = entry.map_err(|e| Unavailable::reading(dir, &e))?;
            let path = entry.path();
            let full = format!("{name}/{}", entry.file_name().to_string_lossy());
            let Ok(file_type) = entry.file_type() else { continue };
            if file_type.is_dir() {
                self.loose_in(&path, &full, now, still, refs)?;
            } else if !full.ends_with(".lock")
                && let Some(value) = self.loose_at(&path, now, still)?
            {
                refs.insert(full, value);
            }
        }
        Ok(())
    }

    /// The value of one loose reference; `None` when it vanished or holds nothing that is one.
    fn loose_at(
        &self,
        path: &Path,
        now: Now,
        still: &mut HashMap<PathBuf, (Sig, String)>,
    ) -> Result<Option<String>, Unavailable> {
        let Some(sig) = sig_of(path)? else { return Ok(None) };
        let value = match self.loose.get(path) {
            Some((known, value)) if *known == sig => value.clone(),
            _ => match read_value(path)? {
                Some(value) => value,
                None => return Ok(None),
            },
        };
        if sig.settled(now) {
            still.insert(path.to_path_buf(), (sig, value.clone()));
        }
        Ok(Some(value))
    }
}

/// Where `HEAD` points: the commit it comes to, and the reference it names when it is not detached.
pub(crate) fn head(
    git_dir: &Path,
    refs: &BTreeMap<String, String>,
) -> Result<(Option<String>, Option<String>), Unavailable> {
    let file = git_dir.join("HEAD");
    let value = read_value(&file)?.ok_or(Unavailable::Malformed { file })?;
    let Some(branch) = value.strip_prefix("ref: ").map(str::to_owned) else {
        return Ok((Some(value), None));
    };
    let mut name = branch.clone();
    for _ in 0..LONGEST_CHAIN {
        match refs.get(&name) {
            Some(next) => match next.strip_prefix("ref: ") {
                Some(further) => name = further.to_owned(),
                None => return Ok((Some(next.clone()), Some(branch))),
            },
            None => break,
        }
    }
    Ok((None, Some(branch)))
}

/// A reference file's value; `None` when it is absent or holds neither an id nor a symbolic reference.
fn read_value(path: &Path) -> Result<Option<String>, Unavailable> {
    let text = match foreign::read(path, VALUE_MAX_BYTES) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Unavailable::reading(path, &e)),
    };
    let text = String::from_utf8_lossy(&text);
    let text = text.trim();
    Ok(match text.strip_prefix("ref:") {
        Some(target) => Some(format!("ref: {}", target.trim())),
        None => is_id(text).then(|| text.to_owned()),
    })
}

fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

pub(super) fn sig_of(path: &Path) -> Result<Option<Sig>, Unavailable> {
    match rustix::fs::stat(path) {
        Ok(stat) => Ok(Some(Sig::of(&stat))),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(Unavailable::Unreadable {
            file: path.to_path_buf(),
            errno: errno.raw_os_error(),
        }),
    }
}

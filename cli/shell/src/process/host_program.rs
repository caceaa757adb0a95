//! Programs that the governor starts for itself, with the user's rights: git, bwrap, strace, and the user's own helpers.
//!
//! What the work can write is no place to find one. A directory of the search path that is relative, lies in the tree or
//! is reached through it is left out, and so is a program that turns out to be a link into it. A helper gets no variable
//! that leads there either: an interpreter obeys it (SPEC 14.1.8).
//!
//! Trees are remembered by the process: whoever opens one need not know who will start what on its behalf.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use super::outcome::Outcome;
use super::which::{DEFAULT_PATH, path_of, which};

type Variables = Vec<(OsString, OsString)>;

/// Trees that this process works on, by their real paths.
static TREES: RwLock<Vec<PathBuf>> = RwLock::new(Vec::new());

/// As many links are followed as the kernel would.
const LINKS_MAX: u32 = 40;

/// Lists of places where an interpreter or the loader looks for code: a relative one means the directory of the moment.
const CODE: &[&str] = &[
    "BASH_ENV",
    "CLASSPATH",
    "ENV",
    "GEM_HOME",
    "GEM_PATH",
    "LUA_CPATH",
    "LUA_PATH",
    "NODE_PATH",
    "PERL5LIB",
    "PERLLIB",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYLIB",
];
const LOADER: &[u8] = b"LD_";

/// Between two places in the value of a variable: of a list, and of options.
const BORDERS: &[u8] = b":;,= \t\n'\"";

/// From now on nothing that this process starts for itself comes out of this tree. Outside of the root there is nothing.
pub(crate) fn keep_out(tree: &Path) {
    let tree = tree.canonicalize().unwrap_or_else(|_| tree.to_path_buf());
    let mut trees = TREES.write().unwrap_or_else(PoisonError::into_inner);
    if tree.is_absolute() && tree.parent().is_some() && !trees.contains(&tree) {
        trees.push(tree);
    }
}

/// The file of a program of the governor's own.
///
/// # Errors
/// As [`which`], where only the tree has it too.
pub(crate) fn host_program(name: &str, path: Option<&OsStr>) -> Result<PathBuf, Outcome> {
    let path = host_path(path.unwrap_or(OsStr::new(DEFAULT_PATH)));
    let mut answer = Err(Outcome::NotFound);
    for dir in std::env::split_paths(&path) {
        match which(OsStr::new(name), Path::new("/"), Some(dir.as_os_str())) {
            Ok(found) if !leads_into_a_tree(&found) => return Ok(found),
            Err(Outcome::NotExecutable) => answer = Err(Outcome::NotExecutable),
            _ => {}
        }
    }
    answer
}

/// An environment without anything that leads into a tree.
pub(crate) fn host_environment(env: &[(OsString, OsString)]) -> Variables {
    let leads_out = |(name, value): &&(OsString, OsString)| name != "PATH" && !misleads(name, value);
    let mut kept: Variables = env.iter().filter(leads_out).cloned().collect();
    kept.extend(path_of(env).map(|path| ("PATH".into(), host_path(path))));
    kept
}

/// Whether a file named by this path is, or is reached through, what the work can write.
fn leads_into_a_tree(path: &Path) -> bool {
    let trees = TREES.read().unwrap_or_else(PoisonError::into_inner);
    leads_into(path, &trees)
}

/// The directories of a search path where the work puts nothing.
fn host_path(path: &OsStr) -> OsString {
    let apart = |dir: &PathBuf| !leads_into_a_tree(dir);
    std::env::join_paths(std::env::split_paths(path).filter(apart)).unwrap_or_default()
}

fn misleads(name: &OsStr, value: &OsStr) -> bool {
    let is_code = CODE.iter().any(|known| name == *known) || name.as_bytes().starts_with(LOADER);
    let place = |part: &[u8]| Path::new(OsStr::from_bytes(part)).to_path_buf();
    if is_code
        && value
            .as_bytes()
            .split(|byte| *byte == b':')
            .any(|part| !part.starts_with(b"/"))
    {
        return true;
    }
    let parts = value.as_bytes().split(|byte| BORDERS.contains(byte));
    // An option may be written together with its place.
    let places = parts.filter_map(|part| part.get(part.iter().position(|byte| *byte == b'/')?..).map(place));
    let whole = value.as_bytes().starts_with(b"/").then(|| place(value.as_bytes()));
    places.chain(whole).any(|place| leads_into_a_tree(&place))
}

/// Walks a path as the kernel would, and says whether it comes through one of the trees: a link in there may lead
/// elsewhere tomorrow. A relative path may mean anything.
fn leads_into(path: &Path, trees: &[PathBuf]) -> bool {
    if !path.is_absolute() {
        return true;
    }
    let mut at = PathBuf::from("/");
    let mut rest: VecDeque<OsString> = parts(path);
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        match part.as_bytes() {
            b"/" => at = PathBuf::from("/"),
            b".." => _ = at.pop(),
            _ => at.push(&part),
        }
        if trees.iter().any(|tree| at.starts_with(tree)) {
            return true;
        }
        if let Ok(target) = std::fs::read_link(&at) {
            links += 1;
            if links > LINKS_MAX {
                return true;
            }
            at.pop();
            let mut through = parts(&target);
            through.append(&mut rest);
            rest = through;
        }
    }
    false
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    parts
        .map(|part| OsString::from_vec(part.as_os_str().as_bytes().to_vec()))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// A tree that is kept out, and a directory beside it.
    fn room() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let (tree, beside) = (top.join("tree"), top.join("beside"));
        fs::create_dir_all(tree.join("bin")).unwrap();
        fs::create_dir(&beside).unwrap();
        keep_out(&tree);
        (dir, tree, beside)
    }

    fn program(file: &Path) {
        fs::write(file, "#!/bin/sh\n").unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_program_of_the_governors_is_found_in_no_directory_that_leads_into_the_tree() {
        let (_dir, tree, beside) = room();
        program(&tree.join("bin/tool"));
        symlink(tree.join("bin"), beside.join("dir")).unwrap();
        symlink(tree.join("later"), beside.join("nowhere-yet")).unwrap();
        fs::create_dir(beside.join("bin")).unwrap();
        symlink(tree.join("bin/tool"), beside.join("bin/tool")).unwrap();
        let (tree, beside) = (tree.display().to_string(), beside.display().to_string());
        for path in [
            format!("{tree}/bin"),
            format!("{beside}/../tree/bin"),
            format!("{beside}/dir"),
            format!("{beside}/nowhere-yet"),
            format!("{beside}/bin"),
            "bin".to_owned(),
            String::new(),
            ".".to_owned(),
        ] {
            let found = host_program("tool", Some(OsStr::new(&path)));
            assert_eq!(found, Err(Outcome::NotFound), "{path}");
        }
        fs::remove_file(format!("{beside}/bin/tool")).unwrap();
        program(&Path::new(&beside).join("bin/tool"));
        let path = format!("{tree}/bin::{beside}/bin");
        let found = host_program("tool", Some(OsStr::new(&path)));
        assert_eq!(found, Ok(Path::new(&beside).join("bin/tool")));
    }

    #[test]
    fn a_link_of_the_trees_own_leads_through_it_wherever_it_points() {
        let (_dir, tree, beside) = room();
        symlink("/usr/bin", tree.join("out")).unwrap();
        symlink(tree.join("out"), beside.join("tools")).unwrap();
        assert!(leads_into_a_tree(&beside.join("tools")));
        assert!(!leads_into_a_tree(&beside));
        symlink("loop", beside.join("loop")).unwrap();
        assert!(leads_into_a_tree(&beside.join("loop/x")));
    }

    #[test]
    fn a_helper_gets_no_variable_that_leads_into_the_tree() {
        let (_dir, tree, beside) = room();
        symlink(&tree, beside.join("link")).unwrap();
        let (tree, beside) = (tree.display().to_string(), beside.display().to_string());
        let env = [
            ("PYTHONPATH", format!("/usr/lib/x:{tree}/src")),
            ("NODE_PATH", "node_modules".to_owned()),
            ("PERL5LIB", format!("{beside}/link/lib")),
            ("RUBYLIB", "/usr/lib/ruby:".to_owned()),
            ("LD_PRELOAD", "./x.so".to_owned()),
            (
                "NODE_OPTIONS",
                format!("--max-old-space-size=9 --require={tree}/hook.js"),
            ),
            ("PERL5OPT", format!("-I{tree}/lib -Mx")),
            ("ANY", tree.clone()),
            ("LANG", "C.UTF-8".to_owned()),
            ("LD_LIBRARY_PATH", "/usr/lib".to_owned()),
            ("HOME", beside.clone()),
            ("NEAR", format!("{tree}-of-another")),
            ("PATH", format!("{tree}/bin:.:/usr/bin:{beside}")),
        ];
        let env = env.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let kept = host_environment(&env);
        let names: Vec<&str> = kept.iter().filter_map(|(name, _)| name.to_str()).collect();
        assert_eq!(names, ["LANG", "LD_LIBRARY_PATH", "HOME", "NEAR", "PATH"]);
        assert_eq!(kept[4].1, *format!("/usr/bin:{beside}"));
    }
}

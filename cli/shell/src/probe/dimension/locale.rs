//! The locale: letters that change their case otherwise, another decimal sign, other bytes for a letter.

use super::{Dimension, Perturbation, Site, Varied, way};

pub(super) static DIMENSION: Dimension = Dimension {
    name: "locale",
    doc: "the locale",
    is_outside: false,
    plan,
};

const LOCALES: &[&str] = &["tr_TR.UTF-8", "de_DE.UTF-8", "C.UTF-8", "C"];

fn plan(site: &Site<'_>) -> Result<Varied, String> {
    let said = |name: &str| site.variable(name).filter(|value| !value.is_empty());
    let now = said("LC_ALL").or_else(|| said("LC_CTYPE")).or_else(|| said("LANG"));
    let now = now.map_or_else(|| "C".to_owned(), |now| now.to_string_lossy().into_owned());
    let installed = site.ask(&["locale", "-a"]).unwrap_or_default();
    let installed = String::from_utf8_lossy(&installed).into_owned();
    let is_there = |name: &str| name == "C" || installed.lines().any(|line| plain(line) == plain(name));
    let ways: Vec<_> = LOCALES
        .iter()
        .filter(|name| is_there(name) && plain(name) != plain(&now))
        .map(|name| way(format!("LC_ALL={name}"), Perturbation::setting("LC_ALL", *name)))
        .collect();
    match ways.is_empty() {
        true => Err(format!("no locale but {now} is installed")),
        false => Ok(Varied::by_turns(&ways, site)),
    }
}

/// The same for both spellings of one: `C.UTF-8` is listed as `C.utf8`, and POSIX is C.
fn plain(name: &str) -> String {
    match name {
        "POSIX" => "c".to_owned(),
        _ => name.to_lowercase().replace('-', ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_locale_are_one() {
        assert_eq!(plain("C.UTF-8"), plain("C.utf8"));
        assert_eq!(plain("POSIX"), plain("C"));
        assert_ne!(plain("tr_TR.UTF-8"), plain("de_DE.UTF-8"));
    }
}

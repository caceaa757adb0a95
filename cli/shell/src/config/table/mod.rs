//! The one table of settings, in the order in which they are applied and shown.
//!
//! A new setting is one row in the file of its section. The order matters in two places only: the
//! surface is set before the blocked paths, whose default depends on it, and `pipefail` after the
//! commands that it wraps.

#[macro_use]
mod row;
mod bounds;
mod failures;
mod guards;
mod isolation;
mod looping;
mod oracle;
mod pins;
mod thresholds;

use super::setting::Setting;

pub use guards::BLOCKED_DEFAULT_WORD;

const GROUPS: &[&[Setting]] = &[
    looping::ROWS,
    oracle::ROWS,
    looping::WRAPPING_ROWS,
    bounds::ROWS,
    failures::ROWS,
    thresholds::ROWS,
    guards::ROWS,
    isolation::ROWS,
    bounds::CAPTURE_ROWS,
    pins::MODEL_ROWS,
    pins::SAMPLING_ROWS,
    pins::ROWS,
    pins::MONEY_ROWS,
];

const COUNT: usize = {
    let (mut total, mut group) = (0, 0);
    while group < GROUPS.len() {
        total += GROUPS[group].len();
        group += 1;
    }
    total
};

/// Every setting there is.
pub static SETTINGS: [Setting; COUNT] = {
    let mut rows = [GROUPS[0][0]; COUNT];
    let (mut at, mut group) = (0, 0);
    while group < GROUPS.len() {
        let mut row = 0;
        while row < GROUPS[group].len() {
            rows[at] = GROUPS[group][row];
            at += 1;
            row += 1;
        }
        group += 1;
    }
    rows
};

/// Every setting there is.
pub fn settings() -> &'static [Setting] {
    &SETTINGS
}

/// The setting with this key or alias; dashes and underscores are the same.
pub fn find(key: &str) -> Option<&'static Setting> {
    let key = key.replace('-', "_");
    SETTINGS
        .iter()
        .find(|row| row.key == key || row.alias == Some(key.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_used_once() {
        let columns: [fn(&Setting) -> &'static str; 4] = [|row| row.key, |row| row.flag, |row| row.env, |row| row.help];
        for name in columns {
            let names: BTreeSet<&str> = SETTINGS.iter().map(name).collect();
            assert_eq!(names.len(), SETTINGS.len());
        }
    }

    #[test]
    fn the_variable_follows_from_the_flag() {
        for row in settings() {
            let stem = row.flag.trim_start_matches("--");
            let stem = if row.flag_negates {
                stem.trim_start_matches("no-")
            } else {
                stem
            };
            let mut expected = format!("LOOPEXEC_{}", stem.to_uppercase().replace('-', "_"));
            if row.repeatable()
                && !expected.ends_with('D')
                && !expected.ends_with("OFF")
                && !expected.ends_with("ALLOW")
            {
                expected.push('S');
            }
            assert_eq!(row.env, expected, "{row:?}");
        }
    }

    #[test]
    fn no_variable_of_a_setting_is_reserved() {
        for row in settings() {
            assert!(!crate::config::env::is_reserved(row.env), "{row:?}");
        }
    }

    #[test]
    fn every_row_has_a_section_a_group_and_a_plain_line_of_help() {
        for row in settings() {
            assert!(
                !row.section().is_empty() && !row.name().is_empty() && !row.group.is_empty(),
                "{row:?}"
            );
            assert!(
                row.key
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b == b'_' || b == b'.'),
                "{row:?}"
            );
            assert!(
                !row.help.is_empty() && !row.help.ends_with('.') && row.help.len() <= 90,
                "{row:?}"
            );
            assert!(row.flag.starts_with("--"), "{row:?}");
        }
    }

    #[test]
    fn dashes_and_aliases_find_their_row() {
        assert_eq!(find("bounds.max-iterations").unwrap().key, "bounds.max_iterations");
        assert_eq!(find("loop.max_iterations").unwrap().key, "bounds.max_iterations");
        assert!(find("max_iterations").is_none());
    }
}

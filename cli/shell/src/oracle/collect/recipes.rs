//! The rules of a makefile or justfile, as far as a reader of commands needs them.

use std::collections::BTreeMap;

use super::variables::Variables;

const DEPTH_LIMIT: usize = 5;
const LINES_LIMIT: usize = 500;

pub(super) struct Recipes<'a> {
    pub(super) first: Option<&'a str>,
    pub(super) variables: Variables,
    rules: BTreeMap<&'a str, (Vec<&'a str>, Vec<&'a str>)>,
}

impl<'a> Recipes<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        let mut recipes = Self {
            first: None,
            variables: Variables::of_make(text),
            rules: BTreeMap::new(),
        };
        let mut current: Vec<&str> = Vec::new();
        for line in text.lines() {
            if line.starts_with([' ', '\t']) {
                for target in &current {
                    recipes.rules.entry(target).or_default().1.push(line.trim_start());
                }
                continue;
            }
            let Some((left, right)) = line.split_once(':') else {
                continue;
            };
            if left.starts_with(['#', '.']) || left.contains('=') || right.trim_start_matches(':').starts_with('=') {
                continue;
            }
            let (needs, inline) = right.split_once(';').unwrap_or((right, ""));
            current = left.split_whitespace().collect();
            for target in &current {
                recipes.first.get_or_insert(target);
                let rule = recipes.rules.entry(target).or_default();
                rule.0.extend(needs.split_whitespace());
                rule.1.extend((!inline.trim().is_empty()).then_some(inline.trim()));
            }
        }
        recipes
    }

    /// What making this target runs, what it needs first.
    pub(super) fn lines(&self, target: &str) -> Vec<&'a str> {
        self.below(target, 0)
    }

    fn below(&self, target: &str, depth: usize) -> Vec<&'a str> {
        let Some((needs, lines)) = self.rules.get(target) else {
            return Vec::new();
        };
        let mut out = Vec::new();
        for need in needs {
            if depth < DEPTH_LIMIT && out.len() < LINES_LIMIT {
                out.extend(self.below(need, depth + 1));
            }
        }
        out.extend(lines);
        out.truncate(LINES_LIMIT);
        out
    }
}

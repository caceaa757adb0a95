//! A provider of keys: a script, a directory of those that are good, and gates at which it waits.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::support::{Project, wait_until};

/// Part of every secret, and of nothing else.
pub(super) const CANARY: &str = "sk-canary-";

/// Words of a question are found without a parser of JSON: labels hold no quotes.
const SCRIPT: &str = r#"#!/bin/sh
at=$(dirname "$0")
question=$(cat)
label=$(printf %s "$question" | sed -n 's/.*"label":"\([^"]*\)".*/\1/p')
echo "$1 $question" >> "$at/calls"
gate() {
  [ -e "$at/gate-$1" ] || return 0
  touch "$at/at-$1"
  while [ -e "$at/gate-$1" ]; do sleep 0.02; done
}
case $1 in
mint)
  echo $$ > "$at/minting"
  gate mint-early
  secret=sk-canary-$label-0123456789
  echo "$secret" > "$at/keys/$label"
  echo "$secret" >> "$at/all"
  gate mint-late
  if [ -e "$at/answer" ]; then cat "$at/answer"; exit "$(cat "$at/status")"; fi
  echo "{\"id\": \"id-of-$label\", \"secret\": \"$secret\", \"expires\": 1893456000}"
  touch "$at/made"
  ;;
revoke)
  gate revoke
  if [ -e "$at/broken" ]; then echo "cannot revoke $(cat "$at/keys/$label")" >&2; exit 1; fi
  rm -f "$at/keys/$label"
  gate revoke-late
  ;;
esac
"#;

pub(super) struct Provider {
    at: PathBuf,
    pub(super) mint: String,
    pub(super) revoke: String,
}

impl Provider {
    pub(super) fn beside(project: &Project) -> Self {
        let at = project.home.join("provider");
        fs::create_dir_all(at.join("keys")).unwrap();
        let script = at.join("provider.sh");
        fs::write(&script, SCRIPT).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let [mint, revoke] = ["mint", "revoke"].map(|verb| format!("'{}' {verb}", script.display()));
        Self { at, mint, revoke }
    }

    /// Labels of the keys that are good.
    pub(super) fn good(&self) -> Vec<String> {
        let keys = fs::read_dir(self.at.join("keys")).unwrap();
        keys.map(|key| key.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    pub(super) fn wait_until_none_is_good(&self) {
        wait_until("no key is good", || self.good().is_empty());
    }

    /// Every secret that was ever made.
    pub(super) fn all(&self) -> Vec<String> {
        let all = fs::read_to_string(self.at.join("all")).unwrap_or_default();
        all.lines().map(str::to_owned).collect()
    }

    /// Questions, in order: what was asked for, and how.
    pub(super) fn calls(&self) -> Vec<(String, serde_json::Value)> {
        let calls = fs::read_to_string(self.at.join("calls")).unwrap_or_default();
        let call = |line: &str| {
            let (verb, question) = line.split_once(' ').unwrap();
            (verb.to_owned(), serde_json::from_str(question).unwrap())
        };
        calls.lines().map(call).collect()
    }

    pub(super) fn asked(&self, verb: &str) -> usize {
        self.calls().iter().filter(|(known, _)| known == verb).count()
    }

    /// From here on it waits there.
    pub(super) fn close(&self, gate: &str) {
        fs::write(self.at.join(format!("gate-{gate}")), "").unwrap();
    }

    pub(super) fn open(&self, gate: &str) {
        fs::remove_file(self.at.join(format!("gate-{gate}"))).unwrap();
    }

    pub(super) fn wait_at(&self, gate: &str) {
        wait_until(&format!("the provider is at {gate}"), || {
            self.at.join(format!("at-{gate}")).exists()
        });
    }

    pub(super) fn wait_made(&self) {
        wait_until("the provider has answered", || self.at.join("made").exists());
    }

    /// Whoever runs the mint command: it has a session of its own.
    pub(super) fn supervisor_of_mint(&self) -> i32 {
        let stat = fs::read_to_string(self.minting().join("stat")).unwrap();
        let after_name = stat.rsplit_once(')').unwrap().1;
        after_name.split_whitespace().nth(3).unwrap().parse().unwrap()
    }

    /// The mint command is at work; one that only waits to be waited for has no words.
    pub(super) fn is_minting(&self) -> bool {
        fs::read(self.minting().join("cmdline")).is_ok_and(|words| !words.is_empty())
    }

    fn minting(&self) -> PathBuf {
        let pid = fs::read_to_string(self.at.join("minting")).unwrap();
        PathBuf::from("/proc").join(pid.trim())
    }

    /// A key comes late, from a question that was on its way.
    pub(super) fn makes(&self, label: &str) {
        fs::write(self.at.join("keys").join(label), "").unwrap();
    }

    /// It answers this instead of a key, with this exit status; the key is there all the same.
    pub(super) fn answers(&self, answer: &str, status: i32) {
        fs::write(self.at.join("status"), status.to_string()).unwrap();
        fs::write(self.at.join("answer"), answer).unwrap();
    }

    pub(super) fn breaks(&self) {
        fs::write(self.at.join("broken"), "").unwrap();
    }

    pub(super) fn mends(&self) {
        fs::remove_file(self.at.join("broken")).unwrap();
    }
}

//! What to mask: the values that the contract calls secret, in the spellings in which programs print them.
//!
//! Base64 of a longer text that holds a secret contains one of three spellings of it, by where it begins in a group of
//! three bytes. The characters at both ends that also depend on its neighbours are left out of what is looked for.
//! Hexadecimal digits are looked for in both cases, and not in a mixture of them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use engine::Reading;
use engine::event::policy::Policy;

use crate::process::masked;

/// A shorter value would mask ordinary text.
const SECRET_MIN_BYTES: usize = 6;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn value<'e>(name: &str, env: &'e [(OsString, OsString)]) -> Option<&'e [u8]> {
    let found = env.iter().rev().find(|(known, _)| known == OsStr::new(name));
    found.map(|(_, value)| value.as_bytes())
}

/// Every spelling of what a contract calls secret, and of the key that its gateway bears.
pub(super) fn of(policy: &Policy, env: &[(OsString, OsString)]) -> Vec<Vec<u8>> {
    let held = policy.isolation.gateway_key_env.iter();
    let names: Vec<String> = policy.secrets.iter().chain(held).cloned().collect();
    forms(&names, env)
}

/// Every spelling of every named value that is there and long enough.
fn forms(names: &[String], env: &[(OsString, OsString)]) -> Vec<Vec<u8>> {
    let values = names.iter().filter_map(|name| value(name, env));
    let values = values.filter(|value| value.len() >= SECRET_MIN_BYTES);
    let mut forms: Vec<Vec<u8>> = values.flat_map(spellings).collect();
    forms.sort();
    forms.dedup();
    forms
}

/// Names whose value is there and too short to be masked.
pub fn too_short<'n>(names: &'n [String], env: &[(OsString, OsString)]) -> Vec<&'n str> {
    let short = |name: &&String| value(name, env).is_some_and(|value| (1..SECRET_MIN_BYTES).contains(&value.len()));
    names.iter().filter(short).map(String::as_str).collect()
}

/// Masks a reading before it is kept. Identities that only a secret told apart are numbered, in their order before: no
/// member is lost.
pub(super) fn conceal(reading: &mut Reading, secrets: &[Vec<u8>]) {
    let mut members: Vec<String> = Vec::with_capacity(reading.members.len());
    members.extend(reading.members.iter_mut().map(|(id, _)| std::mem::take(id)));
    conceal_ids(&mut members, secrets);
    for ((id, _), concealed) in reading.members.iter_mut().zip(members) {
        *id = concealed;
    }
    reading.members.sort_unstable();
    reading.note = conceal_text(&reading.note, secrets);
    for text in &mut reading.contradictions {
        *text = conceal_text(text, secrets);
    }
    if let Some(integrity) = &mut reading.integrity {
        conceal_ids(&mut integrity.ids, secrets);
        integrity.ids.sort_unstable();
        integrity.error = conceal_text(&integrity.error, secrets);
    }
}

fn conceal_ids(ids: &mut [String], secrets: &[Vec<u8>]) {
    if secrets.is_empty() {
        return;
    }
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for id in ids {
        let concealed = conceal_text(id, secrets);
        if concealed == *id {
            continue;
        }
        let count = seen.entry(concealed.clone()).or_default();
        *count += 1;
        *id = match *count {
            1 => concealed,
            count => format!("{concealed}#{count}"),
        };
    }
}

fn conceal_text(text: &str, secrets: &[Vec<u8>]) -> String {
    String::from_utf8_lossy(&masked(secrets, text.as_bytes())).into_owned()
}

pub(crate) fn spellings(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![secret.to_vec()];
    for alphabet in [STANDARD, URL_SAFE] {
        // By itself, with the last characters that only its end decides.
        all.push(base64(secret, alphabet));
        all.extend((0..3).map(|before| inside_base64(secret, before, alphabet)));
    }
    for digits in [b"0123456789ABCDEF", b"0123456789abcdef"] {
        all.extend([percent(secret, digits), hexadecimal(secret, digits)]);
    }
    all.retain(|form| form.len() >= SECRET_MIN_BYTES);
    all
}

/// Base64 without padding.
fn base64(bytes: &[u8], alphabet: &[u8; 64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |i: usize| group.get(i).map_or(0, |byte| u32::from(*byte));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        let characters = (0..=group.len()).map(|i| (bits >> (18 - 6 * i) & 63) as usize);
        out.extend(characters.map(|index| alphabet[index]));
    }
    out
}

/// The characters of the secret's base64 that do not depend on the `before` bytes in front of it in its group of
/// three, nor on what follows.
fn inside_base64(secret: &[u8], before: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let mut padded = vec![0; before];
    padded.extend_from_slice(secret);
    let whole = base64(&padded, alphabet);
    let from = (before * 8).div_ceil(6);
    let to = padded.len() * 8 / 6;
    whole.get(from..to).unwrap_or_default().to_vec()
}

fn hexadecimal(secret: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    let pair = |byte: &u8| [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]];
    secret.iter().flat_map(pair).collect()
}

/// As in a URL: everything but letters, digits and four marks as `%XX`.
fn percent(secret: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    let mut out = Vec::with_capacity(secret.len() * 3);
    for byte in secret {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            out.push(*byte);
        } else {
            out.push(b'%');
            out.extend(hexadecimal(&[*byte], digits));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn a_value_too_short_to_be_a_secret_is_named_and_not_masked() {
        let env = env(&[("TOKEN", "abcdef"), ("X", "abcde"), ("EMPTY", "")]);
        let names = ["TOKEN", "X", "EMPTY", "GONE"].map(String::from);
        assert_eq!(too_short(&names, &env), ["X"]);
        let forms = forms(&names, &env);
        assert!(forms.contains(&b"abcdef".to_vec()));
        assert!(!forms.iter().any(|form| form == b"abcde"));
    }

    #[test]
    fn base64_is_what_everybody_else_writes() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg"),
            ("fo", "Zm8"),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes(), STANDARD), coded.as_bytes());
        }
        assert_eq!(base64(b"\xfb\xff", URL_SAFE), b"-_8");
    }

    #[test]
    fn a_secret_inside_of_a_longer_base64_text_is_found_wherever_it_begins() {
        let secret = b"s3cret/value+1";
        for before in 0..7 {
            for after in 0..4 {
                let text = [&b"user:xyz"[..before], &secret[..], &b"\n@@@@"[..after]].concat();
                let coded = base64(&text, STANDARD);
                let found = |form: &Vec<u8>| coded.windows(form.len()).any(|window| window == form);
                let longest = spellings(secret).into_iter().filter(found).map(|form| form.len()).max();
                // All but the characters at both ends that its neighbours share.
                assert!(
                    longest.is_some_and(|length| length >= secret.len() * 4 / 3 - 1),
                    "{before} {after}"
                );
            }
        }
    }

    #[test]
    fn members_that_only_a_secret_told_apart_stay_two() {
        let secrets = [b"hunter2".to_vec(), b"hunter3".to_vec()];
        let mut ids = ["t[hunter2]", "t[hunter3]", "t[x]"].map(String::from);
        conceal_ids(&mut ids, &secrets);
        assert_eq!(ids, ["t[***]", "t[***]#2", "t[x]"]);
    }

    #[test]
    fn a_secret_in_a_url_is_known_in_both_spellings() {
        let all = spellings(b"a/b c=d");
        assert!(all.contains(&b"a%2Fb%20c%3Dd".to_vec()) && all.contains(&b"a%2fb%20c%3dd".to_vec()));
    }

    #[test]
    fn a_secret_is_known_by_its_digits_in_both_cases() {
        let all = spellings(b"key/\xff");
        assert!(all.contains(&b"6b65792fff".to_vec()) && all.contains(&b"6B65792FFF".to_vec()));
    }
}

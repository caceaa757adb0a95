//! Bytes on their way into the zone, and a word that must not be among them, however they are cut.

/// The word was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Met;

/// Holds back whatever may be the beginning of the word, until it is seen not to be.
#[derive(Debug, Default)]
pub(super) struct Sieve {
    word: Vec<u8>,
    held: Vec<u8>,
}

impl Sieve {
    /// Without a word everything passes.
    pub(super) fn new(word: Option<&str>) -> Self {
        Self {
            word: word.unwrap_or_default().as_bytes().to_vec(),
            held: Vec::new(),
        }
    }

    /// What may pass once these bytes have come.
    pub(super) fn pass(&mut self, bytes: Vec<u8>) -> Result<Vec<u8>, Met> {
        if self.word.is_empty() {
            return Ok(bytes);
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend(bytes);
        if all.windows(self.word.len()).any(|window| window == self.word) {
            return Err(Met);
        }
        let may_begin = |length: &usize| all.ends_with(&self.word[..*length]);
        let kept = (1..self.word.len()).rev().find(may_begin).unwrap_or(0);
        self.held = all.split_off(all.len() - kept);
        Ok(all)
    }

    /// What was held back, now that nothing more comes.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sieved(word: &str, parts: &[&[u8]]) -> Result<Vec<u8>, Met> {
        let mut sieve = Sieve::new(Some(word));
        let mut all = Vec::new();
        for part in parts {
            all.extend(sieve.pass(part.to_vec())?);
        }
        all.extend(sieve.rest());
        Ok(all)
    }

    #[test]
    fn the_word_is_met_across_every_cut_before_any_of_it_passes() {
        let text = b"your key is sk-sk-canary.";
        for cut in 0..text.len() {
            assert_eq!(sieved("sk-canary", &[&text[..cut], &text[cut..]]), Err(Met), "{cut}");
        }
        let mut sieve = Sieve::new(Some("sk-canary"));
        assert_eq!(sieve.pass(b"is sk-can".to_vec()), Ok(b"is ".to_vec()));
    }

    proptest! {
        #[test]
        fn everything_else_passes_unchanged(parts in prop::collection::vec("[ab]{0,6}", 0..8)) {
            let whole = parts.concat();
            prop_assume!(!whole.contains("aab"));
            let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
            prop_assert_eq!(sieved("aab", &parts), Ok(whole.into_bytes()));
        }
    }
}

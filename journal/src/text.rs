//! Base64 (standard alphabet) for the fixed-size values in notes and proofs, so that no dependency is
//! needed for forty lines.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// With padding.
pub(crate) fn to_base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            let index = (word >> (18 - 6 * i) & 63) as usize;
            out.push(if i <= chunk.len() {
                char::from(ALPHABET[index])
            } else {
                '='
            });
        }
    }
    out
}

/// Only the one spelling that [`to_base64`] gives.
pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in text.as_bytes().chunks(4) {
        let digits = chunk.iter().take_while(|byte| **byte != b'=').count();
        let mut word = 0_u32;
        for byte in &chunk[..digits] {
            let value = ALPHABET.iter().position(|letter| letter == byte)?;
            word = word << 6 | u32::try_from(value).ok()?;
        }
        let bytes = (word << (6 * (4 - digits))).to_be_bytes();
        out.extend_from_slice(bytes.get(1..digits.max(1))?);
    }
    (to_base64(&out) == text).then_some(out)
}

pub(crate) fn array_from_base64<const N: usize>(text: &str) -> Option<[u8; N]> {
    from_base64(text)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_vectors_hold() {
        for (plain, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(to_base64(plain.as_bytes()), text);
            assert_eq!(from_base64(text).as_deref(), Some(plain.as_bytes()));
        }
    }

    #[test]
    fn a_second_spelling_is_refused() {
        for text in ["Zh==", "Zg", "Zg=", "Z===", "====", "Zm9v\n", "Zm 9v"] {
            assert_eq!(from_base64(text), None, "{text:?}");
        }
    }
}

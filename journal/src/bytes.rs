//! Little-endian fields at fixed offsets. The callers hold buffers that are long enough; a field
//! outside reads as zero rather than ending the process.

use engine::event::id::Digest;

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes
        .get(at..at + N)
        .and_then(|slice| slice.try_into().ok())
        .unwrap_or([0; N])
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array_at(bytes, at))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, at))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array_at(bytes, at))
}

pub(crate) fn digest_at(bytes: &[u8], at: usize) -> Digest {
    Digest(array_at(bytes, at))
}

pub(crate) fn eight_at(bytes: &[u8], at: usize) -> [u8; 8] {
    array_at(bytes, at)
}

pub(crate) fn put(into: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(slot) = into.get_mut(at..at + bytes.len()) {
        slot.copy_from_slice(bytes);
    }
}

/// Whether all of it is this byte.
pub(crate) fn all(bytes: &[u8], byte: u8) -> bool {
    // A whole block without a branch inside is compared many bytes at a time.
    bytes
        .chunks(512)
        .all(|block| block.iter().fold(0, |seen, b| seen | (b ^ byte)) == 0)
}

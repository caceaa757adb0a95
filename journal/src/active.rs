//! The segment that is written, from the moment it stops being the spare.

use blake3::Hasher;

use crate::batch::BLOCK;
use crate::chain::Use;
use crate::error::Result;
use crate::segment::{self, Header};
use crate::store::{Store, about};

/// The segment that is written.
pub(crate) struct Active {
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) size_bytes: u64,
    pub(crate) at: u64,
    pub(crate) digest: Hasher,
    /// Its schema table is the one of this build.
    pub(crate) current: bool,
}

impl Active {
    /// Turns the spare file into the segment of this header, durably.
    pub(crate) fn begin(store: &dyn Store, header: &Header) -> Result<Self> {
        let (spare, name) = (segment::spare_name(header.number), segment::file_name(header.number));
        let block = header.encode()?;
        about(store, store.write_at(&spare, 0, &block), "write", &spare)?;
        about(store, store.sync(&spare), "sync", &spare)?;
        about(store, store.rename(&spare, &name), "rename", &spare)?;
        about(store, store.sync_dir(""), "sync", "")?;
        let mut digest = Use::Segment.hasher();
        digest.update(&block);
        Ok(Self {
            number: header.number,
            name,
            size_bytes: header.size_bytes,
            at: BLOCK as u64,
            digest,
            current: true,
        })
    }
}

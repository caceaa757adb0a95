//! The coverage of a run in a copy: where its report comes from, and what it says of the change.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

use engine::event::candidate::Covered;
use engine::vet::Base;

use super::mutants::Product;
use crate::oracle::coverage::delta::{self, Change, Changed};
use crate::oracle::coverage::{Coverage, Names, Source};
use crate::oracle::perturb::Perturbation;
use crate::tree::{Kind, Manifest};

/// Further files of a source are changed by nobody line by line.
const SOURCE_MAX_BYTES: u64 = 1024 * 1024;

/// What the tree of t0 reported, once for all runs of one request.
#[derive(Debug, Default)]
pub(super) struct Floor(RefCell<Option<Coverage>>);

/// One run that is measured.
pub(super) struct Measured<'a> {
    pub(super) source: &'a Source,
    pub(super) copy: &'a Path,
    pub(super) support: &'a Path,
    /// What the copy was made of.
    pub(super) copied: &'a Manifest,
    pub(super) base: Base,
}

impl Measured<'_> {
    /// Makes room for a report of this run, and says what is different about it.
    ///
    /// # Errors
    /// When an old report stays.
    pub(super) fn begin(&self) -> Result<Perturbation, String> {
        self.source.clear(self.copy)?;
        Ok(self.source.change(self.support))
    }

    /// What the run reported, against t0 where it was made of the candidate.
    ///
    /// # Errors
    /// When a source of the product cannot be read.
    pub(super) fn end(&self, floor: &Floor, product: &Product<'_>, start: &Manifest) -> Result<Covered, String> {
        let paths = self.copied.entries().iter().filter(|entry| entry.kind == Kind::File);
        let paths = paths.filter_map(|entry| std::str::from_utf8(&entry.path).ok());
        let names = Names::new(&self.copy.to_string_lossy(), paths);
        let coverage = match self.source.read(self.copy, self.support, &names) {
            Ok(coverage) => coverage,
            Err(trouble) => {
                return Ok(Covered {
                    trouble,
                    ..Covered::default()
                });
            }
        };
        if self.base == Base::Start {
            let covered = delta::totals(&coverage, |path| product.is_product(path.as_bytes()));
            *floor.0.borrow_mut() = Some(coverage);
            return Ok(covered);
        }
        let change = self.change(product, start)?;
        Ok(delta::compare(floor.0.borrow().as_ref(), &coverage, &change))
    }

    /// What the work did to the product, of which the report is no part.
    fn change<'p>(&self, product: &Product<'p>, start: &Manifest) -> Result<Change<'p>, String> {
        let is_own = |path: &str| !matches!(self.source, Source::Named(report) if report == Path::new(path));
        let files = product
            .manifest
            .entries()
            .iter()
            .filter(|entry| entry.kind == Kind::File);
        let own = files.filter(|entry| product.is_product(&entry.path));
        let own = own.filter_map(|entry| std::str::from_utf8(&entry.path).ok());
        let own: BTreeSet<&str> = own.filter(|path| is_own(path)).collect();
        let mut changed = Vec::new();
        for (path, before) in product.files(start)?.into_iter().filter(|(path, _)| is_own(path)) {
            let Some(entry) = product.manifest.entry(path.as_bytes()) else {
                continue;
            };
            let after = match entry.size <= SOURCE_MAX_BYTES {
                true => product.content(&path, &entry.digest)?,
                false => Vec::new(),
            };
            changed.push(Changed { path, before, after });
        }
        let gone = product.gone(start).into_iter().filter(|path| is_own(path));
        Ok(Change {
            product: own,
            changed,
            gone: gone.collect(),
        })
    }
}

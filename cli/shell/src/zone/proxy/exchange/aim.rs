//! Which requests are served, whom each means, and what it becomes on its way there.

use super::fields::says_who;
use super::target::{Place, absolute, is_below};
use crate::zone::plan;

/// Which requests there are here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules<'a> {
    /// Those whose target is a path.
    pub(super) below: Option<Below<'a>>,
    /// Those whose target is a whole address.
    pub(super) absolute: bool,
}

/// How requests to a gateway are written anew.
#[derive(Clone, Copy, Debug)]
pub(super) struct Below<'a> {
    /// The host, as a request names it.
    pub(super) authority: &'a str,
    pub(super) paths: &'a [String],
    pub(super) bears: Option<&'a plan::Bears>,
}

/// Whom a request means, and what it becomes on its way there.
pub(super) struct Aim<'a> {
    /// `None` for the gateway.
    pub(super) place: Option<Place>,
    pub(super) path: String,
    pub(super) authority: String,
    pub(super) bears: Option<&'a plan::Bears>,
}

impl<'a> Aim<'a> {
    pub(super) fn of(target: &str, rules: Rules<'a>) -> Result<Self, &'static str> {
        match rules.below {
            Some(below) if !rules.absolute || target.starts_with('/') => {
                is_below(target, below.paths)?;
                Ok(Self {
                    place: None,
                    path: target.to_owned(),
                    authority: below.authority.to_owned(),
                    bears: below.bears,
                })
            }
            _ => {
                let (place, path) = absolute(target)?;
                Ok(Self {
                    path,
                    authority: place.authority(),
                    place: Some(place),
                    bears: None,
                })
            }
        }
    }

    /// What is encoded cannot be looked through on its way back.
    pub(super) fn is_looked_through(&self) -> bool {
        self.place.is_none()
    }

    /// Whether a field goes on to there.
    pub(super) fn lets(&self, name: &str) -> bool {
        self.place.is_some() || !(says_who(name, self.bears) || name.eq_ignore_ascii_case("accept-encoding"))
    }
}

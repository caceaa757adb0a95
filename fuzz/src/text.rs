//! Targets over what other programs and people write: `collect` (reports and outputs of runners) and
//! `config` (the configuration file).

//! Targets over the journal's bytes: `frame` (one frame, raw) and `recover` (a legal journal that was cut,
//! flipped or doubled must give a prefix or fail).

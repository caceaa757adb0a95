//! What threads of the shell share memory by. `models/threads` puts other primitives of the same names in its place and
//! walks every order of their steps (SPEC 16.6.7), so a room that is to be walked takes them from here.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, atomic};

//! The end-to-end and conformance tests of loopexec, in one binary.

// A helper that fails fails its test.
#![allow(clippy::unwrap_used)]

mod support {
    pub(crate) mod story;
}

mod e2e {
    mod agentside;
    mod deciding;
    mod gaming;
    mod process;
    mod runners;
}

//! The end-to-end and conformance tests of loopexec, in one binary.

mod e2e {
    mod process;
}

//! The hands of loopexec: processes, trees, collectors, configuration, the driver loop. They decide nothing.

pub mod oracle;
pub mod process;
pub mod tree;

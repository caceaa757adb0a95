//! The bounds against figures that were computed elsewhere to forty digits, and the rules against what they promise.

mod promises;
mod vectors;

//! The proxy as a zone meets it: over sockets of this machine's loopback.

mod budget;
mod caps;
pub(super) mod client;
mod end;
mod gateway;
mod plain;
mod refusals;
mod stand;
mod tunnels;

pub(super) mod client;

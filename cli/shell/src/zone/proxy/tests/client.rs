//! What a client of the zone says, made by hand.

/// A TLS hello that means this server.
pub(in super::super) fn hello(server: Option<&str>) -> Vec<u8> {
    hello_with(&server.map(|server| names(&[server])).unwrap_or_default())
}

/// The extension that names servers.
pub(in super::super) fn names(servers: &[&str]) -> Vec<u8> {
    let list: Vec<u8> = servers
        .iter()
        .flat_map(|server| [vec![0], sized(2, server.as_bytes())].concat())
        .collect();
    extension(0, &sized(2, &list))
}

/// A TLS hello with these extensions beside those that every client sends.
pub(in super::super) fn hello_with(extensions: &[u8]) -> Vec<u8> {
    let every = [
        extensions.to_vec(),
        // Supported groups, signature algorithms, supported versions.
        extension(10, &sized(2, &[0, 0x1d])),
        extension(13, &sized(2, &[4, 3, 8, 4])),
        extension(43, &sized(1, &[3, 4])),
    ]
    .concat();
    let body = [
        [3, 3].to_vec(),
        [7; 32].to_vec(),
        sized(1, &[9; 32]),
        // Cipher suites, compression.
        sized(2, &[0x13, 1, 0x13, 2]),
        sized(1, &[0]),
        sized(2, &every),
    ]
    .concat();
    let message = [vec![1], sized(3, &body)].concat();
    [vec![0x16, 3, 1], sized(2, &message)].concat()
}

fn extension(kind: u16, body: &[u8]) -> Vec<u8> {
    [kind.to_be_bytes().to_vec(), sized(2, body)].concat()
}

/// Bytes after their length, itself of this many bytes.
fn sized(width: usize, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_be_bytes();
    [&length[4 - width..], body].concat()
}

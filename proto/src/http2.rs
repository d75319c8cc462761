//! How the hub and its clients in Rust set up HTTP/2, in bytes. Every setting holds for what the one who has it is sent.

/// What one stream may be sent before it is read. Wide enough that many small frames which wait to be read are no reason for HTTP/2
/// to close the connection.
pub const STREAM_WINDOW: u32 = 4 * 1024 * 1024;

/// What all streams of a connection may be sent before they are read.
pub const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;

/// The largest frame. What is sent together goes in one up to this size, so that neither side puts it together from parts.
pub const FRAME: u32 = 128 * 1024;

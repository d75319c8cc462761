//! HTTP/2 settings of the hub and its Rust clients, in bytes. Each limits what its owner can be sent.

/// Flow-control window of a stream. Large enough that many small unread frames do not make HTTP/2 close the connection.
pub const STREAM_WINDOW: u32 = 4 * 1024 * 1024;

/// Flow-control window of a connection.
pub const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;

/// Maximum frame. Writes up to this size are one frame, so that no side assembles them from parts.
pub const FRAME: u32 = 128 * 1024;

//! Bounds of the files that come with a request, so that all of it fits into one message of the hub.

/// The most files of a request.
pub const MAX_FILES: usize = 8;

/// The most bytes of all files of a request together.
pub const MAX_FILE_BYTES: usize = 640 << 10;

/// The sentence on how many files of what size come with a request.
pub fn bounds() -> String {
    let together = MAX_FILE_BYTES >> 10;
    format!("At most {MAX_FILES} files, {together} KiB together, go with what you say.")
}

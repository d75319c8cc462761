//! Command lines that are suggested: how this program is called again, with the flags that are needed.

use std::{env, path::Path};

/// The hub's address where none is named.
pub const DEFAULT_HUB: &str = "http://127.0.0.1:50051";

/// The folder for files where none is named.
pub const DEFAULT_DATA: &str = "./.agenthub";

/// The command by which this program was called: what works in the same folder works in another terminal there.
pub fn program() -> String {
    let name = env::args().next().filter(|name| !name.is_empty());
    name.unwrap_or_else(|| "agenthub".to_owned())
}

/// The flag that names a hub, with a space before it; empty where it is not needed.
pub fn hub_flag(url: &str) -> String {
    match url {
        DEFAULT_HUB => String::new(),
        url => format!(" --hub {url}"),
    }
}

/// The flag that names a data folder, with a space before it; empty where it is not needed.
pub fn data_flag(data: &Path) -> String {
    match data == Path::new(DEFAULT_DATA) {
        true => String::new(),
        false => format!(" --data {}", data.display()),
    }
}

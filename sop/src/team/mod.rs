//! A folder of SOPs as agents of a hub, kept as its files change.

//! Folders of SOPs as teams on a real hub, with models that do as they are told.

mod asking;
mod changing;
mod delegating;
mod starting;
mod world;

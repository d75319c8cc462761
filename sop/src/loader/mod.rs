//! Reads one file: `front.rs` parts it, `mapping.rs` and `fields.rs` read its front matter, `sections.rs` a file without one, `inputs.rs`
//! what it takes, `rules.rs` what it requires, and `above.rs` what such a rule stands under; `path.rs` reads the file, `load.rs` makes a definition of that. What is wrong is gathered in `faults.rs`.
//! `peek.rs` looks at a file that may be wrong, and `asking.rs` tells whom its text asks.

mod above;
mod asking;
mod faults;
mod fields;
pub(crate) mod files;
mod front;
mod inputs;
pub(crate) mod load;
mod mapping;
mod markdown;
pub(crate) mod name;
mod path;
mod peek;
mod rules;
mod sections;

pub use load::{Loaded, load, parse};
pub(crate) use peek::asked;
pub use peek::{quoted, tools};
pub use rules::rules;

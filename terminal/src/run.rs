//! Runs, as people ask for them and watch them.
//!
//! A `line` goes to Cortex, whose frames are `follow`ed. What there is to see of them is decided in `run_view`,
//! what came of them is put into words in `bundle`; both are pure. A `screen` shows it on a terminal. What runs ask people is
//! `asked`.

mod asked;
mod bundle;
mod choosing;
#[cfg(test)]
mod fake;
mod follow;
mod frame;
mod keys;
mod line;
mod question;
mod result_file;
mod run_view;
mod screen;
mod steps;
mod watch;
mod work;
mod workflow_steps;

pub use asked::{Answer, Asking, answer};

pub use bundle::parts;
pub use line::{Line, Trouble};
pub(crate) use question::{details, headline, own_question};
pub use result_file::ResultFile;
pub use screen::{row, width};
pub use steps::of as steps_of;
pub use watch::{Watching, user, watch};

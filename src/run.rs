//! Runs, as people ask for them and watch them.
//!
//! A `brief` is the file of a run, a `line` goes to Cortex, whose frames are `follow`ed. What there is to see of them is decided in `view`,
//! what came of them is put into words in `bundle`; both are pure. A `screen` shows it on a terminal. What runs ask people is
//! `asked`.

mod asked;
mod brief;
mod bundle;
#[cfg(test)]
mod fake;
mod follow;
mod frame;
mod keys;
mod line;
mod place;
mod result_file;
mod screen;
mod steps;
mod view;
mod watch;
mod work;

pub(crate) use asked::{Answer, Asking, answer};
pub(crate) use brief::Source;
pub(crate) use bundle::parts;
pub(crate) use line::{Line, Trouble};
pub(crate) use result_file::ResultFile;
pub(crate) use screen::{row, width};
pub(crate) use steps::of as steps_of;
pub(crate) use view::given;
pub(crate) use watch::{Watching, user, watch};

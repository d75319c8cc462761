//! Reading SOPs: what files say, what is wrong with them, and what folders hold.

mod common;
mod discovering;
mod faults;
mod formats;
mod hostile;
mod schemas;
mod starters;

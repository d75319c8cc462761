//! The QA agent: it reviews a draft and says with evidence what is right, what is wrong, and what to do about it.

mod fix;
mod measured;

pub use fix::Fix;
pub use measured::Measured;

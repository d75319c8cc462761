//! Runs from the outside: decisions, driving, crashes, and journals of every release.

mod crash;
mod support;

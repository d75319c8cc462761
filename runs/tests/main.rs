//! Tests of runs from the outside: decisions, driving, crashes, and journals of every release.

mod approvals;
mod budgets;
mod calling;
mod changed;
mod crash;
mod decisions;
mod driving;
mod failing_agents;
mod fencing;
mod forking;
mod forms;
mod golden;
mod losing;
mod progress;
mod purity;
mod stopping;
mod support;
mod tool_loop;

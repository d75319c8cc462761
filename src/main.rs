//! AgentHub.
fn main() {}

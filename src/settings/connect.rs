//! Settings of connectors to other systems.

use agenthub_connect::settings::Settings as Kafka;
use serde::Deserialize;

/// Fields of it that were set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Connect {
    /// Events that go to Kafka, and records that come from it.
    pub(crate) kafka: Kafka,
}

#[cfg(test)]
mod tests {
    use crate::settings::Settings;

    #[test]
    fn tables_say_what_is_carried() {
        let file = "\
[connect.kafka]
name = 'lake'
[[connect.kafka.out]]
messages = ['orders.*']
to = 'agents.orders'
key = 'sender'
[[connect.kafka.out]]
tasks = ['*']
states = ['COMPLETED', 'FAILED']
to = 'agents.tasks'
[[connect.kafka.in]]
from = ['orders']
agent = 'agent_echo'
task_type = 'echo_request'
";
        let settings = Settings::of_text(file).expect("right");
        let rules = settings.connect.kafka.rules().expect("right");
        assert_eq!((rules.out.len(), rules.inward.len()), (2, 1));
        assert_eq!(rules.name, "lake");
    }

    #[test]
    fn a_field_that_there_is_not_is_named_with_its_place() {
        let file = "[[connect.kafka.out]]\nmessages = ['a']\ntopic = 'b'\n";
        let error = Settings::of_text(file).expect_err("wrong").to_string();
        assert!(error.contains("no setting `topic`"), "{error}");
    }
}

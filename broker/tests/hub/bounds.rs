//! Limits on everything that a peer sends: an absence of `docs/ARCHITECTURE.md`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use prost_reflect::{DescriptorPool, Kind, MessageDescriptor};

/// A constant or setting that limits a list, and its file.
struct Bound {
    name: &'static str,
    file: &'static str,
    lists: &'static [&'static str],
}

/// Limits of all lists that a peer of the hub can send: on the number of values, or on the bytes of the enclosing
/// message.
const BOUNDS: [Bound; 7] = [
    Bound {
        name: "CARD_BYTES",
        file: "src/limits.rs",
        lists: &[
            "AgentCapabilities.extensions",
            "AgentCard.additional_interfaces",
            "AgentCard.default_input_modes",
            "AgentCard.default_output_modes",
            "AgentCard.security_requirements",
            "AgentCard.security_schemes",
            "AgentCard.signatures",
            "AgentCard.skills",
            "AgentCard.supported_interfaces",
            "AgentSkill.examples",
            "AgentSkill.input_modes",
            "AgentSkill.output_modes",
            "AgentSkill.security_requirements",
            "AgentSkill.tags",
        ],
    },
    Bound {
        name: "MESSAGE_BYTES",
        file: "src/limits.rs",
        lists: &[
            "Artifact.extensions",
            "Artifact.parts",
            "ListValue.values",
            "Message.content",
            "Message.extensions",
            "Message.reference_task_ids",
            "Struct.fields",
        ],
    },
    Bound {
        name: "METADATA_BYTES",
        file: "src/limits.rs",
        lists: &[
            "AgentEventMetadata.chain",
            "AgentEventMetadata.required_input_modes",
            "AgentEventMetadata.required_output_modes",
            "AgentEventMetadata.required_tags",
            "AgentEventMetadata.subscriptions",
        ],
    },
    Bound {
        name: "VALUES",
        file: "src/limits.rs",
        lists: &[
            "Filter.contexts",
            "Filter.kinds",
            "Filter.states",
            "Filter.types",
            "Hello.topics",
            "ListTasksRequest.extents",
            "ListTasksRequest.states",
            "RegisterAgentRequest.subscriptions",
            "SubscribeToAgentEventsRequest.event_types",
            "SubscribeToMessagesRequest.contexts",
            "SubscribeToMessagesRequest.message_types",
            "SubscribeToTasksRequest.states",
            "SubscribeToTasksRequest.task_ids",
            "SubscribeToTasksRequest.task_types",
        ],
    },
    Bound {
        name: "SUBSCRIPTIONS",
        file: "src/hub/hello.rs",
        lists: &["Hello.subscription"],
    },
    Bound {
        name: "publish_credit",
        file: "src/settings.rs",
        lists: &["AgentFrame.publish"],
    },
    // Parts of a frame, whose size is limited.
    Bound {
        name: "REQUEST_BYTES",
        file: "src/server.rs",
        lists: &[
            "Ack.position",
            "AgentFrame.ack",
            "AgentFrame.credit",
            "AgentFrame.extend",
            "AgentFrame.refuse",
            "Extension.position",
        ],
    },
];

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// Collects the lists in a message, recursively.
fn lists(message: &MessageDescriptor, found: &mut BTreeSet<String>, seen: &mut BTreeSet<String>) {
    if !seen.insert(message.full_name().to_owned()) {
        return;
    }
    for field in message.fields() {
        if field.is_list() || field.is_map() {
            found.insert(format!("{}.{}", message.name(), field.name()));
        }
        if let Kind::Message(inner) = field.kind() {
            lists(&inner, found, seen);
        }
    }
}

/// Every list of the protocol needs a limit that is named here. That the limit is checked before the list is processed
/// is for reviews.
#[test]
fn every_list_that_a_peer_sends_has_a_bound() {
    let pool = DescriptorPool::decode(agenthub_proto::FILE_DESCRIPTOR_SET).expect("descriptors");
    let hub = pool
        .get_service_by_name("agenthub.AgentHub")
        .expect("the hub's service");
    let (mut sent, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for call in hub.methods() {
        lists(&call.input(), &mut sent, &mut seen);
    }
    let named = BOUNDS
        .iter()
        .flat_map(|b| b.lists.iter().map(|l| (*l).to_owned()));
    assert_eq!(named.collect::<BTreeSet<_>>(), sent);
}

/// An unused limit is none.
#[test]
fn every_bound_is_there_and_used() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut used: BTreeMap<&str, usize> = BTreeMap::new();
    let mut folders = vec![root.join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = read(&path);
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for bound in &BOUNDS {
                let lines = code
                    .lines()
                    .filter(|line| !line.trim_start().starts_with("//"));
                *used.entry(bound.name).or_default() +=
                    lines.filter(|line| line.contains(bound.name)).count();
            }
        }
    }
    for Bound { name, file, .. } in &BOUNDS {
        let text = read(&root.join(file));
        let is_constant = text.contains(&format!("const {name}: usize = "));
        let is_setting = text.contains(&format!("pub {name}: "));
        assert!(is_constant || is_setting, "{file} has no `{name}`");
        assert!(used[name] > 1, "`{name}` is not looked at");
    }
}

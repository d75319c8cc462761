//! Round trips through the hub's types.

use agenthub_sdk::proto::{a2a, json as proto_json};
use proptest::{collection::vec, option, prelude::*};
use serde_json::json;

use super::{
    card_from_hub, card_to_hub,
    message::{part_from_hub, part_to_hub},
    *,
};
use crate::{json, v1};

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|b| json!(b)),
        any::<i32>().prop_map(|n| json!(n)),
        "[a-z]{0,4}".prop_map(|s| json!(s)),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|v| json!(v)),
            vec(("(value|[a-z]{1,3})", inner), 0..4)
                .prop_map(|v| serde_json::Value::Object(v.into_iter().collect())),
        ]
    })
}

fn any_struct() -> impl Strategy<Value = Option<prost_types::Struct>> {
    option::of(vec(("[a-z]{1,3}", any_json()), 0..3).prop_map(|fields| {
        proto_json::to_struct(&serde_json::Value::Object(fields.into_iter().collect()))
    }))
}

prop_compose! {
    fn any_part()(
        content in option::of(prop_oneof![
            ".*".prop_map(v1::part::Content::Text),
            vec(any::<u8>(), 0..8).prop_map(v1::part::Content::Raw),
            ".*".prop_map(v1::part::Content::Url),
            any_json().prop_map(|v| v1::part::Content::Data(proto_json::to_value(&v))),
        ]),
        metadata in any_struct(),
        filename in "[a-z.]{0,5}",
        media_type in "[a-z/]{0,5}",
    ) -> v1::Part {
        // Empty metadata of a part are as none.
        let metadata = metadata.filter(|metadata: &prost_types::Struct| !metadata.fields.is_empty());
        v1::Part { content, metadata, filename, media_type }
    }
}

prop_compose! {
    fn any_message()(
        ids in ("[a-z]{0,3}", "[a-z]{0,3}", "[a-z]{0,3}"),
        role in 0..3_i32,
        parts in vec(any_part(), 0..4),
        metadata in any_struct(),
        extensions in vec("[a-z:]{1,5}", 0..3),
        reference_task_ids in vec("[a-z]{1,5}", 0..3),
    ) -> v1::Message {
        let (message_id, context_id, task_id) = ids;
        v1::Message { message_id, context_id, task_id, role, parts, metadata, extensions, reference_task_ids }
    }
}

prop_compose! {
    fn any_artifact()(
        ids in ("[a-z]{0,3}", "[a-z]{0,3}", "[a-z]{0,3}"),
        parts in vec(any_part(), 0..4),
        metadata in any_struct(),
        extensions in vec("[a-z:]{1,5}", 0..3),
    ) -> v1::Artifact {
        let (artifact_id, name, description) = ids;
        v1::Artifact { artifact_id, name, description, parts, metadata, extensions }
    }
}

proptest! {
    #[test]
    fn messages_come_back(message in any_message()) {
        prop_assert_eq!(message_from_hub(message_to_hub(message.clone())), message);
    }

    #[test]
    fn artifacts_come_back(artifact in any_artifact()) {
        prop_assert_eq!(artifact_from_hub(artifact_to_hub(artifact.clone())), artifact);
    }

    /// What the hub has of a part is the same after a way through A2A.
    #[test]
    fn the_hubs_parts_come_back(part in any_part()) {
        let part = part_to_hub(part);
        prop_assert_eq!(part_to_hub(part_from_hub(part.clone())), part);
    }

    #[test]
    fn messages_come_back_from_json(message in any_message()) {
        let read: v1::Message = json::from_json(json::to_json(&message)).expect("it is one");
        prop_assert_eq!(read, message);
    }
}

#[test]
fn values_that_are_no_objects_are_data_to_agents_of_the_hub() {
    let part = v1::Part {
        content: Some(v1::part::Content::Data(proto_json::to_value(&json!([
            1, 2
        ])))),
        ..Default::default()
    };
    let hub = part_to_hub(part);
    assert_eq!(hub.as_data(), Some(json!({"value": [1, 2]})));
    // The same as what the SDK makes of it.
    assert_eq!(hub, a2a::Part::data(&json!([1, 2])));
}

#[test]
fn a_card_comes_back() {
    let card: v1::AgentCard = json::from_json(json!({
        "name": "Painter", "description": "Paints", "version": "2.1", "iconUrl": "https://a.example/i.png",
        "documentationUrl": "https://a.example/doc", "provider": {"url": "https://a.example", "organization": "A"},
        "supportedInterfaces": [
            {"url": "https://a.example/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": "t"},
            {"url": "a.example:443", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
        ],
        "capabilities": {"streaming": true, "pushNotifications": false, "extendedAgentCard": true, "extensions": [
            {"uri": "urn:x", "description": "d", "required": true, "params": {"a": [true]}},
        ]},
        "securitySchemes": {
            "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
            "oauth": {"oauth2SecurityScheme": {"flows": {"clientCredentials": {"tokenUrl": "https://a.example/t", "scopes": {"r": "read"}}}}},
        },
        "securityRequirements": [{"schemes": {"oauth": {"list": ["r"]}}}, {"schemes": {"key": {}}}],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["image/png"],
        "skills": [{"id": "paint", "name": "Paint", "description": "Paints", "tags": ["art"], "examples": ["a cat"],
            "inputModes": ["text/plain"], "outputModes": ["image/png"], "securityRequirements": [{"schemes": {"key": {}}}]}],
        "signatures": [{"protected": "cA", "signature": "c2ln", "header": {"kid": "1"}}],
    }))
    .expect("it is one");
    assert_eq!(card_from_hub(card_to_hub(card.clone())), card);
}

#[test]
fn the_addresses_of_an_older_card_are_interfaces() {
    let card = card_from_hub(a2a::AgentCard {
        name: "old".into(),
        url: "http://old.example/".into(),
        additional_interfaces: vec![a2a::AgentInterface {
            url: "old.example:50051".into(),
            transport: "GRPC".into(),
            ..Default::default()
        }],
        ..Default::default()
    });
    let interfaces: Vec<_> = card
        .supported_interfaces
        .iter()
        .map(|i| (&*i.url, &*i.protocol_binding, &*i.protocol_version))
        .collect();
    assert_eq!(
        interfaces,
        [
            ("http://old.example/", "JSONRPC", "0.3"),
            ("old.example:50051", "GRPC", "0.3"),
        ]
    );
}

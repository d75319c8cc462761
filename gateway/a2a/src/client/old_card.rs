//! Cards of A2A 0.3, as 1.0 writes them.

use serde_json::{Map, Value, json};

/// Reads the fields that 1.0 has elsewhere; all others have the same names.
pub(super) fn to_one(mut card: Value) -> Value {
    let version = match &card["protocolVersion"] {
        Value::String(version) => version.clone(),
        _ => "0.3".to_owned(),
    };
    let interface = |url: &Value, transport: &Value| {
        json!({
            "url": url,
            "protocolBinding": transport.as_str().unwrap_or("JSONRPC"),
            "protocolVersion": version,
        })
    };
    let mut interfaces = vec![interface(&card["url"], &card["preferredTransport"])];
    if let Some(more) = card["additionalInterfaces"].as_array() {
        let more = more.iter().map(|i| interface(&i["url"], &i["transport"]));
        // The main one is often named again.
        let more: Vec<Value> = more.filter(|i| *i != interfaces[0]).collect();
        interfaces.extend(more);
    }
    card["supportedInterfaces"] = interfaces.into();
    let capabilities = &card["capabilities"];
    if card["supportsAuthenticatedExtendedCard"] == true
        && (capabilities.is_object() || capabilities.is_null())
    {
        card["capabilities"]["extendedAgentCard"] = true.into();
    }
    if let Some(schemes) = card.get_mut("securitySchemes").map(Value::take) {
        card["securitySchemes"] = all(schemes);
    }
    if let Some(Value::Array(wanted)) = card.get("security") {
        card["securityRequirements"] = wanted.iter().map(requirement).collect();
    }
    // Written by servers of 0.3 in another form.
    if let Value::Object(fields) = &mut card {
        fields.remove("signatures");
        if let Some(Value::Array(skills)) = fields.get_mut("skills") {
            for skill in skills {
                if let Some(Value::Array(wanted)) = skill.get("security") {
                    skill["securityRequirements"] = wanted.iter().map(requirement).collect();
                }
            }
        }
    }
    card
}

fn all(schemes: Value) -> Value {
    let Value::Object(schemes) = schemes else {
        return json!({});
    };
    let schemes = schemes.into_iter();
    let known = schemes.filter_map(|(name, of)| Some((name, scheme(of)?)));
    Value::Object(known.collect())
}

fn scheme(mut scheme: Value) -> Option<Value> {
    let name = match scheme["type"].as_str()? {
        "apiKey" => {
            scheme["location"] = scheme["in"].take();
            "apiKeySecurityScheme"
        }
        "http" => "httpAuthSecurityScheme",
        "oauth2" => {
            // 1.0 has one flow; of several, the one for programs.
            if let Value::Object(flows) = scheme["flows"].take() {
                scheme["flows"] = one_flow(flows);
            }
            "oauth2SecurityScheme"
        }
        "openIdConnect" => "openIdConnectSecurityScheme",
        "mutualTLS" => "mtlsSecurityScheme",
        _ => return None,
    };
    Some(json!({ name: scheme }))
}

fn one_flow(mut flows: Map<String, Value>) -> Value {
    let name = match flows.contains_key("clientCredentials") {
        true => Some("clientCredentials".to_owned()),
        false => flows.keys().next().cloned(),
    };
    let flow = name.and_then(|name| Some((name.clone(), flows.remove(&name)?)));
    Value::Object(flow.into_iter().collect())
}

/// `{"name": ["scope"]}`
fn requirement(wanted: &Value) -> Value {
    let Value::Object(wanted) = wanted else {
        return json!({});
    };
    let schemes = wanted.iter();
    let schemes = schemes.map(|(name, scopes)| (name.clone(), json!({ "list": scopes })));
    json!({"schemes": schemes.collect::<Map<_, _>>()})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        json::from_json,
        v1::{self, o_auth_flows::Flow, security_scheme::Scheme},
    };

    #[test]
    fn a_card_of_0_3_says_the_same_as_one_of_1_0() {
        let card: v1::AgentCard = from_json(to_one(json!({
            "name": "n", "description": "d", "version": "2", "url": "https://a/", "preferredTransport": "GRPC",
            "protocolVersion": "0.3.0",
            "additionalInterfaces": [{"url": "https://a/", "transport": "GRPC"}, {"url": "https://b/", "transport": "JSONRPC"}],
            "capabilities": {"streaming": true, "stateTransitionHistory": true},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "s", "name": "S", "description": "x", "tags": ["t"], "security": [{"key": []}]}],
            "supportsAuthenticatedExtendedCard": true,
            "securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
                "web": {"type": "oauth2", "flows": {"authorizationCode": {"tokenUrl": "https://no"},
                    "clientCredentials": {"tokenUrl": "https://t/", "scopes": {"a": "b"}}}},
                "odd": {"type": "smell"},
            },
            "security": [{"web": ["a"]}],
            "signatures": [{"protected": 5}],
        })))
        .expect("a card");
        let interfaces: Vec<_> = card
            .supported_interfaces
            .iter()
            .map(|i| {
                (
                    i.url.as_str(),
                    i.protocol_binding.as_str(),
                    i.protocol_version.as_str(),
                )
            })
            .collect();
        assert_eq!(
            interfaces,
            [
                ("https://a/", "GRPC", "0.3.0"),
                ("https://b/", "JSONRPC", "0.3.0")
            ]
        );
        let capabilities = card.capabilities.unwrap_or_default();
        assert!(capabilities.streaming() && capabilities.extended_agent_card());
        let Some(Scheme::ApiKeySecurityScheme(key)) = &card.security_schemes["key"].scheme else {
            panic!("{:?}", card.security_schemes)
        };
        assert_eq!(
            (key.location.as_str(), key.name.as_str()),
            ("header", "X-Key")
        );
        let Some(Scheme::Oauth2SecurityScheme(web)) = &card.security_schemes["web"].scheme else {
            panic!("{:?}", card.security_schemes)
        };
        let flow = web.flows.as_ref().and_then(|f| f.flow.as_ref());
        assert!(matches!(flow, Some(Flow::ClientCredentials(f)) if f.token_url == "https://t/"));
        assert_eq!(card.security_requirements[0].schemes["web"].list, ["a"]);
        assert_eq!(card.skills[0].security_requirements.len(), 1);
        assert!(!card.security_schemes.contains_key("odd"));
    }

    #[test]
    fn a_card_of_little_is_read() {
        let card: v1::AgentCard =
            from_json(to_one(json!({"name": "n", "url": "http://a/"}))).expect("a card");
        assert_eq!(card.supported_interfaces[0].protocol_binding, "JSONRPC");
        assert_eq!(card.supported_interfaces[0].protocol_version, "0.3");
    }
}

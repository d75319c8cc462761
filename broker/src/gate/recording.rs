//! Entries of the audit about calls that come to the gate: refusals, and what is allowed before it is done.

use std::{convert::Infallible, sync::Arc};

use agenthub_access::{
    Caller, Denied, Identities, Rpc, StreamEnd,
    audit::{Field, Records, Refusal, Source, Witness, records, route_records},
    route_line,
};
use agenthub_proto::socket::in_process::ThisProcess;
use axum::extract::Request as HttpRequest;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use tonic::{
    Code, Status,
    body::Body,
    codegen::{
        Service,
        http::{Extensions, Request, Response, StatusCode},
    },
};

use super::ending::{EndingBody, Form};
use crate::{
    fields::{Fields, Value},
    namespaces::NoServices,
};

/// Maximum bytes of a request that is read here for what it is about.
const REQUEST: usize = 16 << 20;

/// Bytes that stand before a message of gRPC.
const PREFIX: usize = 5;

/// The way by which a call came.
pub(super) fn source(extensions: &Extensions) -> Source {
    match extensions.get::<ThisProcess>() {
        Some(_) => Source::InProcess,
        None => Source::Grpc,
    }
}

/// The name of an RPC, if it is known: others are a caller's own words.
pub(super) fn rpc_action(path: &str) -> &'static str {
    agenthub_access::rpc(path).map_or("(unknown RPC)", |rpc| rpc.path)
}

/// The name of a request: its method and route.
pub(super) fn http_action(method: &str, path: &str) -> String {
    match route_line(method, path) {
        None => "(no route)".to_owned(),
        Some(route) => {
            let known = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"];
            let method = known.iter().find(|known| **known == method);
            format!("{} {}", method.unwrap_or(&"*"), route.path)
        }
    }
}

/// Records a call that was turned away. Without a caller, nobody was known by what was presented.
pub(super) fn turned_away(
    identities: &Identities,
    caller: Option<&Arc<Caller>>,
    source: Source,
    action: &str,
    why: &str,
) {
    let Some(audit) = identities.audit() else {
        return;
    };
    let unknown = || Arc::new(Caller::unrestricted(""));
    let caller = caller.map_or_else(unknown, Arc::clone);
    Witness::new(audit.clone(), caller, source, action.to_owned()).refused("", why);
}

/// Records a call for a namespace that is not served. One that is about to be is asked for again.
pub(super) fn not_served(
    identities: &Identities,
    caller: &Arc<Caller>,
    source: Source,
    action: &str,
    why: NoServices,
) {
    if why == NoServices::Unknown {
        turned_away(identities, Some(caller), source, action, &why.to_string());
    }
}

/// Records a request of HTTP that was turned away.
pub(super) fn turned_away_http(
    identities: &Identities,
    caller: Option<&Arc<Caller>>,
    request: &HttpRequest,
    denied: &Denied,
) {
    let action = http_action(request.method().as_str(), request.uri().path());
    turned_away(
        identities,
        caller,
        Source::Http,
        &action,
        &denied.to_string(),
    );
}

/// The recording of one call of gRPC.
#[derive(Debug)]
pub(super) struct Recording {
    rpc: &'static Rpc,
    records: Records,
    witness: Witness,
    caller: Arc<Caller>,
}

impl Recording {
    /// The recording of a call, if there is an audit and the call may leave something in it. Parts of the process itself leave nothing.
    pub(super) fn of(
        identities: &Identities,
        rpc: Option<&'static Rpc>,
        caller: &Arc<Caller>,
        extensions: &mut Extensions,
    ) -> Option<Self> {
        let (audit, rpc) = (identities.audit()?, rpc?);
        let records = records(rpc.path);
        let is_free = caller.is_unrestricted();
        let source = source(extensions);
        if is_free && (records == Records::Refusals || source == Source::InProcess) {
            return None;
        }
        let witness = Witness::new(audit.clone(), Arc::clone(caller), source, rpc.path);
        extensions.insert(witness.clone());
        Some(Self {
            rpc,
            records,
            witness,
            caller: Arc::clone(caller),
        })
    }

    /// Records what is allowed, calls the services, and records whether they refuse.
    pub(super) async fn call<S>(
        self,
        mut services: S,
        request: Request<Body>,
        end: Option<StreamEnd>,
    ) -> Result<Response<Body>, Infallible>
    where
        S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    {
        let rule = |resource: &str| {
            let (needs, path, resource) = (self.rpc.needs, self.rpc.path, resource.to_owned());
            move |caller: &Caller| needs.rule(caller, path, &resource)
        };
        let mut resource = String::new();
        let request = match self.records {
            Records::Act(fields) => match read(request, fields).await {
                Err(status) => return Ok(status.into_http()),
                Ok((request, about)) => {
                    if let Err(why) = self.witness.act(&about, rule(&about)).await {
                        return Ok(Status::unavailable(why.to_string()).into_http());
                    }
                    resource = about;
                    request
                }
            },
            Records::Opening => {
                self.witness.note("", rule(""));
                request
            }
            Records::Refusals | Records::InService => request,
        };
        let answer = services.call(request).await?;
        if let Some(why) = self.refusal(&answer) {
            self.witness.refused(&resource, &why);
        }
        Ok(match end {
            None => answer,
            Some(end) => answer.map(|body| Body::new(EndingBody::new(body, end, Form::Grpc))),
        })
    }

    /// The reason if an answer is a refusal. Who may not see a task is told that there is none.
    fn refusal(&self, answer: &Response<Body>) -> Option<String> {
        if let Some(Refusal(why)) = answer.extensions().get() {
            return Some(why.clone());
        }
        let status = Status::from_header_map(answer.headers())?;
        let hides = self.rpc.path.ends_with("/CancelTask") && !self.caller.is_unrestricted();
        match status.code() {
            Code::PermissionDenied => Some(status.message().to_owned()),
            Code::NotFound if hides => Some("no such task, or none of the caller's".to_owned()),
            _ => None,
        }
    }
}

/// Reads a request, and says what it is about.
async fn read(request: Request<Body>, fields: &[Field]) -> Result<(Request<Body>, String), Status> {
    let (parts, body) = request.into_parts();
    let read = Limited::new(body, REQUEST).collect().await;
    let read = read.map_err(|error| {
        Status::invalid_argument(format!("the request cannot be read: {error}"))
    })?;
    // What is compressed or no message is the service's to refuse.
    let bytes = read.to_bytes();
    let message = match bytes.first() {
        Some(0) => bytes.get(PREFIX..).unwrap_or_default(),
        _ => &[],
    };
    let about = about(message, fields);
    Ok((
        Request::from_parts(parts, Body::new(Full::new(bytes))),
        about,
    ))
}

/// The object of a request, such as `agent=a name=default`.
fn about(message: &[u8], fields: &[Field]) -> String {
    let mut found = Vec::new();
    for field in fields {
        let value = value(message, field.path);
        let text = match value {
            Some(Value::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            Some(Value::Number(number)) if field.name == "approved" => (number != 0).to_string(),
            Some(Value::Number(number)) => number.to_string(),
            // What is false is not sent.
            _ if field.name == "approved" => "false".to_owned(),
            _ => continue,
        };
        found.push(format!("{}={text}", field.name));
    }
    found.join(" ")
}

/// The last value of a field, as a decoder takes it.
fn value<'a>(message: &'a [u8], path: &[u32]) -> Option<Value<'a>> {
    let (number, rest) = path.split_first()?;
    let fields = Fields::of(message).filter_map(Result::ok);
    let value = fields.filter(|(found, _)| found == number).last()?.1;
    match (rest, value) {
        ([], value) => Some(value),
        (rest, Value::Bytes(inner)) => self::value(inner, rest),
        _ => None,
    }
}

/// Records what a request of HTTP is allowed, before it is done. Services find the witness among the extensions of the request.
///
/// # Errors
///
/// It cannot be recorded, and is not done; or the request cannot be read.
pub(super) async fn before_http(
    identities: &Identities,
    caller: &Arc<Caller>,
    mut request: HttpRequest,
) -> Result<(HttpRequest, Witness), (StatusCode, String)> {
    let Some(audit) = identities.audit() else {
        return Ok((request, Witness::default()));
    };
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let action = http_action(method.as_str(), &path);
    let witness = Witness::new(audit.clone(), Arc::clone(caller), Source::Http, action);
    request.extensions_mut().insert(witness.clone());
    let Some(route) = route_line(method.as_str(), &path) else {
        return Ok((request, witness));
    };
    let rule = |caller: &Caller| route.needs.rule(caller, "", "");
    let mut about = route.segments(&path);
    match route_records(method.as_str(), route) {
        Records::Refusals | Records::InService => {}
        Records::Opening => witness.note(&about, rule),
        Records::Act(members) => {
            if !members.is_empty() {
                let (parts, body) = request.into_parts();
                let read = Limited::new(body, REQUEST).collect().await;
                let read = read.map_err(|error| match error.is::<LengthLimitError>() {
                    true => {
                        let why = format!("the request has more than {REQUEST} bytes: send less");
                        (StatusCode::PAYLOAD_TOO_LARGE, why)
                    }
                    false => {
                        let why = format!("the request cannot be read: {error}");
                        (StatusCode::BAD_REQUEST, why)
                    }
                })?;
                let bytes = read.to_bytes();
                about += &members_of(&bytes, members);
                request = HttpRequest::from_parts(parts, bytes.into());
            }
            let recorded = witness.act(&about, rule).await;
            recorded.map_err(|why| (StatusCode::SERVICE_UNAVAILABLE, why.to_string()))?;
        }
    }
    Ok((request, witness))
}

/// Members of JSON, or of a form, that are switches, numbers or words, as the service decodes them: the last one of a name counts.
fn members_of(bytes: &Bytes, members: &[Field]) -> String {
    let text = |name: &str| -> Option<String> {
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            let pairs = form_urlencoded::parse(bytes);
            let last = pairs.filter(|(found, _)| found == name).last();
            return last.map(|(_, value)| value.into_owned());
        }
        let body: serde_json::Value = serde_json::from_slice(bytes).unwrap_or_default();
        match &body[name] {
            serde_json::Value::Bool(value) => Some(value.to_string()),
            serde_json::Value::Number(value) => Some(value.to_string()),
            serde_json::Value::String(value) => Some(value.clone()),
            _ => None,
        }
    };
    let found = members.iter().filter_map(|field| {
        let text = text(field.name)?;
        Some(format!(" {}={text}", field.name))
    });
    found.collect()
}

/// Records whether an answer of HTTP is a refusal.
pub(super) fn after_http<B>(witness: &Witness, path: &str, answer: &Response<B>) {
    if let Some(Refusal(why)) = answer.extensions().get() {
        witness.refused(path, why);
    } else if [StatusCode::FORBIDDEN, StatusCode::UNAUTHORIZED].contains(&answer.status()) {
        witness.refused(path, "the service refused it");
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        a2a::AgentCard,
        agenthub::{PurgeMailboxRequest, RegisterAgentRequest},
    };
    use prost::Message as _;

    use super::*;

    /// Fields of an act.
    fn fields(rpc: &str) -> &'static [Field] {
        match records(rpc) {
            Records::Act(fields) => fields,
            other => panic!("{rpc} is no act: {other:?}"),
        }
    }

    #[test]
    fn a_request_says_what_it_is_about_and_nothing_else() {
        let purge = PurgeMailboxRequest {
            agent_id: "writer".to_owned(),
            name: "m".to_owned(),
        };
        let of = fields("/agenthub.AgentHub/PurgeMailbox");
        assert_eq!(about(&purge.encode_to_vec(), of), "agent=writer name=m");
        let register = RegisterAgentRequest {
            agent_card: Some(AgentCard {
                name: "agent_x".to_owned(),
                description: "secret".to_owned(),
                ..AgentCard::default()
            }),
            ..RegisterAgentRequest::default()
        };
        let of = fields("/agenthub.AgentHub/RegisterAgent");
        assert_eq!(about(&register.encode_to_vec(), of), "agent=agent_x");
        let of = fields("/cortex.Cortex/DecideApproval");
        assert_eq!(
            about(b"\x0a\x01r\x12\x01a\x18\x01", of),
            "run=r approval=a approved=true"
        );
        assert_eq!(about(b"\x0a\x01r", of), "run=r approved=false");
        assert_eq!(about(b"\xff\xff", of), "approved=false");
    }

    #[test]
    fn words_of_a_caller_are_no_action() {
        assert_eq!(http_action("GET", "/v1/runs/r"), "GET /v1/runs/{id}");
        assert_eq!(http_action("BREW", "/v1/pots"), "* /v1/{*rest}");
        assert_eq!(http_action("GET", "/no/such"), "(no route)");
        assert_eq!(rpc_action("/x.Y/Z"), "(unknown RPC)");
    }

    #[test]
    fn of_a_json_only_the_named_members_are_taken() {
        let Records::Act(members) = route_records(
            "POST",
            route_line("POST", "/v1/runs/r/approvals/a").expect("a route"),
        ) else {
            panic!("approving is an act");
        };
        let body = Bytes::from_static(br#"{"approved": true, "comment": "secret"}"#);
        assert_eq!(members_of(&body, members), " approved=true");
        assert_eq!(members_of(&Bytes::from_static(b"{"), members), "");
        for form in [
            "approved=true&comment=secret",
            "approved=false&comment=secret&%61pprove%64=tru%65",
        ] {
            assert_eq!(members_of(&form.into(), members), " approved=true");
        }
        let spaced = Bytes::from_static(b"\r\n\t {\"approved\": false}");
        assert_eq!(members_of(&spaced, members), " approved=false");
    }
}

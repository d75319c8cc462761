//! What runs over HTTP answer to what cannot be done, and what the document says of it.

use agenthub_sdk::model::Offline;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    harness::World,
    web::{Answer, Web},
};

/// Every answer of these tests is held against the document by [`Web::send`].
#[tokio::test]
async fn whatever_is_wrong_is_a_problem_that_says_so() {
    let world = World::new(Offline).await;
    let web = Web::of(&world.cortex).await;
    let get = |path: &str| web.request(Method::GET, path);
    let post = |body: &str| {
        web.request(Method::POST, "/v1/runs")
            .header("content-type", "application/json")
            .body(body.to_owned())
    };
    let good = r#"{"objective": "hello"}"#;
    let cases = [
        (get("/v1"), 404, "no-such-path", "/v1/docs"),
        (get("/v1/run"), 404, "no-such-path", "/v1/docs"),
        (get("/v1/runs/"), 404, "no-such-path", "/v1/docs"),
        (get("/v1/runs/a/b/c"), 404, "no-such-path", "/v1/docs"),
        (get("/v1/runs/%FF"), 400, "invalid-parameter", "path"),
        (get("/v1/runs/nobody"), 404, "not-found", "nobody"),
        (get("/v1/runs/nobody/plan"), 404, "not-found", "nobody"),
        (get("/v1/runs/nobody/graph"), 404, "not-found", "nobody"),
        (
            get("/v1/runs/nobody/graph?format=png"),
            400,
            "invalid-parameter",
            "`mermaid`",
        ),
        (
            get("/v1/runs/nobody/graph").header("accept", "image/png"),
            406,
            "not-acceptable",
            "text/vnd.mermaid",
        ),
        (get("/v1/runs/nobody/events"), 404, "not-found", "nobody"),
        (
            get("/v1/runs/nobody/events").header("last-event-id", "x"),
            400,
            "invalid-parameter",
            "Last-Event-ID",
        ),
        (
            get("/v1/runs/nobody/events?after=-1"),
            400,
            "invalid-parameter",
            "after",
        ),
        (
            get("/v1/runs/nobody/events").header("accept", "application/json"),
            406,
            "not-acceptable",
            "text/event-stream",
        ),
        (
            get("/v1/runs?limit=many"),
            400,
            "invalid-parameter",
            "limit",
        ),
        (
            get("/v1/runs?state=lost"),
            400,
            "invalid-parameter",
            "`working`",
        ),
        (
            get("/v1/runs?page=2"),
            400,
            "invalid-parameter",
            "unknown field `page`",
        ),
        (
            web.request(Method::DELETE, "/v1/runs/nobody"),
            405,
            "method-not-allowed",
            "Allow",
        ),
        (
            web.request(Method::PUT, "/v1/runs"),
            405,
            "method-not-allowed",
            "Allow",
        ),
        (
            post("{\"objective\": \n oops"),
            400,
            "invalid-json",
            "line 2 column 2",
        ),
        (post(""), 400, "invalid-json", "EOF"),
        (
            post(r#"{"objective": "a", "mood": 1}"#),
            422,
            "invalid-field",
            "unknown field `mood`",
        ),
        (
            post(r#"{"objective": "a", "constraints": {"qualityThreshold": 7}}"#),
            422,
            "invalid-field",
            "constraints.qualityThreshold",
        ),
        (
            post(r#"{"objective": "a", "mode": "chat", "constraints": {"qualityThreshold": 0.9}}"#),
            422,
            "invalid-field",
            "constraints.qualityThreshold",
        ),
        (
            post(r#"{"objective": "a", "constraints": {"approvals": ["content.writ"]}}"#),
            422,
            "invalid-field",
            "constraints.approvals[0]",
        ),
        (
            post(r#"{"objective": ""}"#),
            422,
            "invalid-field",
            "objective",
        ),
        (
            web.request(Method::POST, "/v1/runs")
                .header("content-type", "text/plain")
                .body(good),
            415,
            "unsupported-media-type",
            "application/json",
        ),
        (
            web.request(Method::POST, "/v1/runs").body(good),
            415,
            "unsupported-media-type",
            "application/json",
        ),
        (post(&" ".repeat(1 << 20 | 1)), 413, "too-large", "1048576"),
        (
            post(good).header("accept", "text/html"),
            406,
            "not-acceptable",
            "text/event-stream",
        ),
        (
            post(good).header("idempotency-key", "k".repeat(256)),
            400,
            "invalid-parameter",
            "Idempotency-Key",
        ),
        (
            post(good).header("origin", "https://elsewhere.example"),
            403,
            "foreign-origin",
            "Origin",
        ),
        (
            get("/v1/runs").header("host", "rebound.example"),
            421,
            "foreign-host",
            "localhost",
        ),
        (
            web.posted(
                "/v1/runs/nobody/cancel",
                &json!({"reason": "r".repeat(1001)}),
            ),
            422,
            "invalid-field",
            "reason",
        ),
        (
            web.request(Method::POST, "/v1/runs/nobody/cancel"),
            404,
            "not-found",
            "nobody",
        ),
        (
            web.posted("/v1/runs/nobody/approvals/a", &json!({"by": "me"})),
            422,
            "invalid-field",
            "approved",
        ),
        (
            web.posted("/v1/runs/nobody/approvals/a", &json!({"approved": true})),
            404,
            "not-found",
            "nobody",
        ),
        (
            web.posted(
                "/v1/runs/nobody/resume",
                &json!({"budget": {"tokens": "many"}}),
            ),
            422,
            "invalid-field",
            "budget.tokens",
        ),
        (
            web.request(Method::POST, "/v1/runs/nobody/resume"),
            404,
            "not-found",
            "nobody",
        ),
        (
            web.posted(
                "/v1/runs/nobody/results",
                &json!({"metrics": {"clicks": 3}}),
            ),
            404,
            "not-found",
            "nobody",
        ),
    ];
    for (request, status, name, part) in cases {
        let answer = web.send(request).await;
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(answer.problem(), name, "{answer:?}");
        let detail = answer.json()["detail"].to_string();
        assert!(detail.contains(part), "{part} is not in {detail}");
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
    }
    world.end().await;
}

#[tokio::test]
async fn without_a_cortex_there_are_no_answers_yet() {
    let web = Web::closed().await;
    for path in ["/v1/runs", "/v1/runs/a", "/v1/runs/a/plan"] {
        let answer = web.get(path).await;
        assert_eq!((answer.status, &*answer.problem()), (503, "unavailable"));
        assert_eq!(answer.header("retry-after"), "1");
    }
    assert_eq!(web.get("/v1/docs").await.status, 200);
}

/// Every method of every path, asked for: what the document has is served, and nothing else is.
#[tokio::test]
async fn the_document_has_what_is_served_and_nothing_else() {
    let web = Web::closed().await;
    assert!(
        web.document["openapi"]
            .as_str()
            .is_some_and(|v| v.starts_with("3.1"))
    );
    let paths = web.document["paths"].as_object().expect("paths");
    assert_eq!(paths.len(), 16);
    for (path, item) in paths {
        let path = path.replace(['{', '}'], "");
        let mut documented: Vec<String> =
            item.as_object().expect("methods").keys().cloned().collect();
        documented.sort();
        let asked = web.send(web.request(Method::PATCH, &path)).await;
        assert_eq!(asked.status, 405, "{path}: {asked:?}");
        let allowed = asked.header("allow").to_lowercase();
        let mut allowed: Vec<&str> = allowed.split(',').filter(|m| *m != "head").collect();
        allowed.sort_unstable();
        assert_eq!(allowed, documented, "{path}");
        for method in &documented {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).expect("a method");
            // Events would wait for a Cortex.
            let request = web
                .request(method, &path)
                .header("accept", "application/json");
            let answer = web.send(request).await;
            let is_served = ![404, 405].contains(&answer.status);
            assert!(is_served, "{path}: {answer:?}");
        }
    }
    // What is added to the router has to come with what the document says of it. All of that is behind one service.
    let routes = include_str!("../../src/http/mod.rs").replacen(".nest_service(BASE, ", "", 1);
    for bare in [".route(", ".route_service(", ".nest_service("] {
        assert!(
            !routes.contains(bare),
            "a route that is not in the document"
        );
    }
}

/// A wrong body is documented where a body is read, and a missing Cortex where one is needed: nowhere else.
#[tokio::test]
async fn the_document_says_which_routes_answer_422_and_503() {
    let web = Web::closed().await;
    // Events are answered at once then, too.
    web.http.close();
    let paths = web.document["paths"].as_object().expect("paths");
    let mut found = [0, 0];
    for (path, item) in paths {
        for (method, operation) in item.as_object().expect("methods") {
            let is_documented = |status: u16| {
                let response = &operation["responses"][status.to_string()];
                let problem = &response["content"]["application/problem+json"]["schema"];
                problem["$ref"] == "#/components/schemas/Problem"
            };
            let accepts = match path.ends_with("/events") {
                true => "text/event-stream",
                false => "application/json",
            };
            let path = path.replace(['{', '}'], "");
            let ask = |body: Option<&Value>| {
                let method = Method::from_bytes(method.to_uppercase().as_bytes());
                let method = method.expect("a method");
                let request = match body {
                    Some(body) => web.posted(&path, body),
                    None => web.request(method, &path),
                };
                web.send(request.header("accept", accepts))
            };
            let body = operation.get("requestBody");
            let wrong = ask(body.map(|_| json!([])).as_ref()).await.status;
            let example = body.map(|body| &body["content"]["application/json"]["example"]);
            let right = example.filter(|example| !example.is_null());
            let right = ask(right).await.status;
            assert_eq!(wrong == 422, is_documented(422), "{method} {path}: {wrong}");
            assert_eq!(right == 503, is_documented(503), "{method} {path}: {right}");
            found[0] += usize::from(wrong == 422);
            found[1] += usize::from(right == 503);
        }
    }
    assert_eq!(found, [7, 15]);
}

/// Operations have ids of their own, and every reference leads somewhere.
#[tokio::test]
async fn the_document_is_whole() {
    let web = Web::closed().await;
    let mut ids = Vec::new();
    let paths = web.document["paths"].as_object().expect("paths");
    for operation in paths
        .values()
        .flat_map(|item| item.as_object().expect("methods").values())
    {
        ids.push(operation["operationId"].as_str().expect("an id"));
        assert!(operation["summary"].is_string(), "{operation}");
        let problem = &operation["responses"]["default"]["content"]["application/problem+json"];
        assert_eq!(problem["schema"]["$ref"], "#/components/schemas/Problem");
    }
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
    let mut found = 0;
    references(&web.document, &mut |reference| {
        let place = reference.trim_start_matches('#');
        assert!(web.document.pointer(place).is_some(), "{reference}");
        found += 1;
    });
    assert!(found > 20, "{found}");
    for schema in web.document["components"]["schemas"]
        .as_object()
        .expect("schemas")
        .keys()
    {
        let reference = json!({"$ref": format!("#/components/schemas/{schema}")});
        let mut whole = reference.clone();
        whole["components"] = web.document["components"].clone();
        jsonschema::draft202012::new(&whole).expect("a schema of JSON Schema 2020-12");
    }
}

fn references(value: &Value, found: &mut impl FnMut(&str)) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match (&**key, value.as_str()) {
                    ("$ref", Some(reference)) => found(reference),
                    _ => references(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

/// A page that needs nothing from elsewhere.
#[tokio::test]
async fn people_have_a_page() {
    let web = Web::closed().await;
    let page: Answer = web.get("/v1/docs").await;
    assert_eq!(page.status, 200);
    assert!(
        page.header("content-security-policy")
            .starts_with("default-src 'none'")
    );
    for elsewhere in ["http://", "https://", "src=\"", "@import"] {
        assert!(!page.text.contains(elsewhere), "{elsewhere}");
    }
    assert_eq!(
        web.send(web.request(Method::HEAD, "/v1/docs")).await.text,
        ""
    );
}

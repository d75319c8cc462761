//! What a client makes of what answers it, whatever that is.

use std::time::Duration;

use agenthub_sdk::{
    Client, Error,
    hub::Connection,
    proto::{
        agenthub::{Goodbye, HubFrame, Welcome},
        grpc::header,
    },
};
use prost::Message as _;
use tokio::{net::TcpListener, task::AbortHandle};
use tonic::codegen::http::{HeaderMap, HeaderName, HeaderValue, Response};

use crate::harness::soon;

/// More than is taken.
const TOO_LARGE: usize = 16 * 1024 * 1024 + 1;

/// What a call is answered.
#[derive(Default)]
struct Answer {
    http_status: u16,
    headers: HeaderMap,
    data: Vec<u8>,
    trailers: Option<HeaderMap>,
}

impl Answer {
    fn trailers_only(headers: &[(&'static str, &'static str)]) -> Self {
        Self {
            http_status: 200,
            headers: map(headers),
            ..Self::default()
        }
    }

    fn data(data: impl Into<Vec<u8>>) -> Self {
        Self {
            http_status: 200,
            data: data.into(),
            ..Self::default()
        }
    }

    fn frame(frame: &HubFrame) -> Self {
        let message = frame.encode_to_vec();
        Self::data([&header(message.len())[..], &message].concat())
    }

    fn and_trailers(self, trailers: &[(&'static str, &'static str)]) -> Self {
        Self {
            trailers: Some(map(trailers)),
            ..self
        }
    }

    /// Answers the first call so, and further ones not at all. Returns the address.
    async fn served(self) -> (String, AbortHandle) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound").to_string();
        let serving = tokio::spawn(async move {
            let (socket, _) = listener.accept().await.expect("a peer");
            let mut connection = h2::server::handshake(socket).await.expect("HTTP/2");
            let (_request, mut answer) = connection.accept().await.expect("a call").expect("good");
            let mut response = Response::builder().status(self.http_status);
            response
                .headers_mut()
                .expect("a good status")
                .extend(self.headers);
            let response = response.body(()).expect("a response");
            let is_all = self.data.is_empty() && self.trailers.is_none();
            let sending = answer.send_response(response, is_all);
            let mut sending = sending.expect("it is open");
            if !is_all {
                let is_end = self.trailers.is_none();
                sending
                    .send_data(self.data.into(), is_end)
                    .expect("it is open");
            }
            if let Some(trailers) = self.trailers {
                sending.send_trailers(trailers).expect("it is open");
            }
            let mut unanswered = Vec::new();
            while let Some(call) = connection.accept().await {
                unanswered.push(call);
            }
        });
        (address, serving.abort_handle())
    }
}

fn map(headers: &[(&'static str, &'static str)]) -> HeaderMap {
    let header = |(name, value): &(&'static str, &'static str)| {
        let value = HeaderValue::from_static(value);
        (HeaderName::from_static(name), value)
    };
    headers.iter().map(header).collect()
}

fn welcome() -> Answer {
    Answer::frame(&HubFrame {
        welcome: Some(Welcome::default()),
        ..HubFrame::default()
    })
}

async fn connect(address: &str) -> Result<Client, Error> {
    let builder = Client::builder(address).connect_timeout(Duration::from_secs(5));
    soon(builder.connect()).await
}

#[tokio::test]
async fn an_introduction_fails_as_the_answer_says() {
    let check = async |answer: Answer, expected: fn(&Error) -> bool, says: &str| {
        let (address, serving) = answer.served().await;
        let error = connect(&address).await.expect_err("it is no good answer");
        serving.abort();
        assert!(expected(&error), "{error:?}");
        assert!(error.to_string().contains(says), "{error}");
    };
    let refused = |error: &Error| matches!(error, Error::Refused(_));
    let no_hub = |error: &Error| matches!(error, Error::NoHub { .. });
    let not_a_hub = |error: &Error| matches!(error, Error::NotAHub { .. });

    let unwanted = [("grpc-status", "9"), ("grpc-message", "too%20old%20%C3%A4")];
    check(Answer::trailers_only(&unwanted), refused, "too old ä").await;
    let answer = Answer::data("").and_trailers(&unwanted);
    check(answer, refused, "too old ä").await;
    let busy = [("grpc-status", "14"), ("grpc-message", "it starts")];
    check(Answer::trailers_only(&busy), no_hub, "it starts").await;
    let unknown = [("grpc-status", "12")];
    check(Answer::trailers_only(&unknown), not_a_hub, "").await;
    let ended = [("grpc-status", "0")];
    let says = "the hub ended the stream";
    check(Answer::trailers_only(&ended), no_hub, says).await;
    let answer = Answer::data("").and_trailers(&ended);
    check(answer, no_hub, says).await;
    check(Answer::data(""), no_hub, "without a").await;

    let http = |http_status| Answer {
        http_status,
        ..Answer::default()
    };
    check(http(404), not_a_hub, "404").await;
    check(http(503), no_hub, "503").await;
    let zipped = [("grpc-encoding", "gzip")];
    check(Answer::trailers_only(&zipped), not_a_hub, "ompressed").await;

    check(Answer::data(header(TOO_LARGE)), refused, "16777217").await;
    check(Answer::data(header(7)), no_hub, "").await;
    check(Answer::data([&header(1)[..], &[0xff]].concat()), no_hub, "").await;
    let answer = Answer::frame(&HubFrame::default());
    check(answer, not_a_hub, "no welcome").await;
    let goodbye = |reconnect| HubFrame {
        goodbye: Some(Goodbye {
            reason: "full".to_owned(),
            reconnect,
        }),
        ..HubFrame::default()
    };
    check(Answer::frame(&goodbye(false)), refused, "full").await;
    check(Answer::frame(&goodbye(true)), no_hub, "full").await;
}

#[tokio::test]
async fn a_stream_that_breaks_says_why() {
    let check = async |answer: Answer, says: &str| {
        let (address, serving) = answer.served().await;
        let client = connect(&address).await.expect("it is welcome");
        let mut connection = client.connection();
        let broke = connection.wait_for(|c| matches!(c, Connection::Reconnecting { .. }));
        let broke = soon(broke).await.expect("it is tried again").clone();
        let Connection::Reconnecting { reason } = broke else {
            unreachable!("it was waited for");
        };
        assert!(reason.contains(says), "{reason}");
        client.close().await;
        serving.abort();
    };
    let status = [("grpc-status", "14"), ("grpc-message", "gone%21")];
    check(welcome().and_trailers(&status), "gone!").await;
    let status = [("grpc-status", "0")];
    check(welcome().and_trailers(&status), "the hub ended the stream").await;
    check(welcome(), "without a").await;
    let with = |data: &[u8]| {
        let welcome = welcome();
        let data = [&welcome.data, data].concat();
        Answer { data, ..welcome }
    };
    check(with(&header(TOO_LARGE)), "16777217").await;
    check(with(&header(7)), "").await;
}

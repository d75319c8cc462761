//! Finding the hub and introducing oneself.

use std::time::Duration;

use agenthub_proto::{
    agenthub::{AgentFrame, HubFrame, Welcome},
    grpc::{Messages, Transport, call, framed},
    http2,
    socket::{HubAddress, PING, PONG, without_login},
    tls::{ClientTls, explain, hinted},
};
use bytes::Bytes;
use prost::Message as _;
use tokio::{sync::mpsc, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, transport::Endpoint};

use super::MAX_RECEIVED_BYTES;
use crate::{Error, error::chain};

/// The RPC.
const CONNECT: &str = "/agenthub.AgentHub/Connect";

/// The frames that wait for the network; further ones are merged until there is room.
const FRAMES: usize = 8;

/// A stream that the hub has welcomed.
pub(crate) struct Dialed {
    pub(crate) welcome: Welcome,
    /// Other messages of the first frame.
    pub(super) rest: HubFrame,
    pub(super) frames: Frames,
    /// Takes frames as gRPC sends them.
    pub(super) sender: mpsc::Sender<Bytes>,
}

/// Messages of the hub.
pub(super) struct Frames(Messages);

impl Frames {
    /// The next frame; `None` when the hub has ended the stream as it should. Cancel-safe.
    ///
    /// # Errors
    ///
    /// The reason why the stream broke.
    pub(super) async fn next(&mut self) -> Result<Option<HubFrame>, Status> {
        let Some(message) = self.0.next().await? else {
            return Ok(None);
        };
        let frame = HubFrame::decode(message);
        frame.map(Some).map_err(|e| Status::internal(e.to_string()))
    }
}

/// The address of a hub, with the settings of the connection. A bare `host:port` is taken for `http://host:port`.
pub(crate) fn endpoint(
    url: &str,
    connect_timeout: Duration,
) -> Result<(HubAddress, Endpoint), Error> {
    let address = HubAddress::parse(url).map_err(|reason| Error::InvalidUrl {
        url: without_login(url),
        reason,
    })?;
    let endpoint = address
        .endpoint()
        .connect_timeout(connect_timeout)
        // Whether the hub is still there is told by the socket, also while nothing is to be said.
        .http2_keep_alive_interval(PING)
        .keep_alive_timeout(PONG)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(http2::STREAM_WINDOW)
        .initial_connection_window_size(http2::CONNECTION_WINDOW)
        .max_frame_size(http2::FRAME);
    Ok((address, endpoint))
}

/// The error of a connection that cannot be made.
pub(crate) fn no_connection(
    url: &str,
    error: &(dyn std::error::Error + 'static),
    tls: &ClientTls,
) -> Error {
    let url = url.to_owned();
    match explain(error, tls) {
        Some(reason) => Error::Insecure { url, reason },
        None => Error::NoHub {
            reason: hinted(&url, chain(error)),
            url,
        },
    }
}

/// Opens a stream with `hello`, which must hold one, and waits for the welcome.
pub(crate) async fn dial(
    transport: &Transport,
    url: &str,
    tls: &ClientTls,
    hello: AgentFrame,
    within: Duration,
) -> Result<Dialed, Error> {
    let welcomed = async {
        let (sender, outgoing) = mpsc::channel(FRAMES);
        // There is room: it is the first frame.
        let _ = sender.try_send(framed(&hello));
        let outgoing = ReceiverStream::new(outgoing);
        let messages = call(transport.clone(), CONNECT, outgoing, MAX_RECEIVED_BYTES).await?;
        let mut frames = Frames(messages);
        let mut rest = frames
            .next()
            .await?
            .ok_or_else(|| Status::unavailable("the hub ended the stream"))?;
        if let Some(goodbye) = rest.goodbye {
            return Err(match goodbye.reconnect {
                true => Status::unavailable(goodbye.reason),
                false => Status::failed_precondition(goodbye.reason),
            });
        }
        let welcome = rest
            .welcome
            .take()
            .ok_or_else(|| Status::unimplemented("its first frame is no welcome"))?;
        Ok(Dialed {
            welcome,
            rest,
            frames,
            sender,
        })
    };
    match timeout(within, welcomed).await {
        Ok(Ok(dialed)) => Ok(dialed),
        Ok(Err(status)) => Err(refusal(url, &status, tls)),
        Err(_) => Err(Error::Silent {
            url: url.to_owned(),
            within,
        }),
    }
}

/// The error of a failed introduction.
pub(crate) fn refusal(url: &str, status: &Status, tls: &ClientTls) -> Error {
    let reason = match std::error::Error::source(status) {
        Some(source) => match no_connection(url, source, tls) {
            Error::NoHub { reason, .. } => reason,
            insecure => return insecure,
        },
        None => status.message().to_owned(),
    };
    let is_of_hub = std::error::Error::source(status).is_none();
    let url = url.to_owned();
    match status.code() {
        // What comes from the connection has a cause; what a hub says has none.
        _ if !is_of_hub && status.code() != Code::Unimplemented => Error::NoHub { url, reason },
        Code::InvalidArgument
        | Code::FailedPrecondition
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::Unauthenticated
        | Code::OutOfRange => Error::Refused(status.message().to_owned()),
        Code::Unimplemented => Error::NotAHub { url, reason },
        _ => Error::NoHub { url, reason },
    }
}

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncReadExt as _, net::TcpListener};

    use super::*;

    fn check(url: &str, problem: Option<&str>) {
        match (endpoint(url, Duration::from_secs(1)), problem) {
            (Ok(_), None) => {}
            (Err(error), Some(part)) => assert!(error.to_string().contains(part), "{error}"),
            (result, _) => panic!("{url}: {:?}", result.err()),
        }
    }

    #[test]
    fn addresses() {
        check("http://127.0.0.1:50051", None);
        check("localhost:50051", None);
        check("[::1]:50051", None);
        check("https://example.com", None);
        check("ftp://example.com", Some("http://"));
        check("http://", Some("no address of a hub"));
        check("", Some("no address of a hub"));
        check("not an address", Some("no address of a hub"));
    }

    /// What the hub sends together comes in one frame, and both take much before it is read.
    #[tokio::test]
    async fn the_hub_is_told_what_it_may_send() {
        const PREFACE_AND_HEAD: usize = 24 + 9;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it is bound").to_string();
        let (_, endpoint) = endpoint(&address, Duration::from_secs(5)).expect("an address");
        let connecting = tokio::spawn(async move { endpoint.connect().await });
        let (mut socket, _) = listener.accept().await.expect("it comes");
        let mut head = [0; PREFACE_AND_HEAD];
        socket.read_exact(&mut head).await.expect("the beginning");
        let mut settings = vec![0; usize::from(head[26])];
        socket.read_exact(&mut settings).await.expect("settings");
        let told = |id: u8, value: u32| {
            let setting = [&[0, id][..], &value.to_be_bytes()].concat();
            settings.chunks_exact(6).any(|s| s == setting)
        };
        // RFC 9113 section 6.5.2: SETTINGS_INITIAL_WINDOW_SIZE and SETTINGS_MAX_FRAME_SIZE.
        assert!(told(4, http2::STREAM_WINDOW), "{settings:?}");
        assert!(told(5, http2::FRAME), "{settings:?}");
        connecting.abort();
    }

    #[test]
    fn refusals() {
        let of = |status: Status| refusal("http://h", &status, &ClientTls::new());
        assert!(matches!(
            of(Status::failed_precondition("v2")),
            Error::Refused(_)
        ));
        assert!(matches!(
            of(Status::unimplemented("")),
            Error::NotAHub { .. }
        ));
        assert!(of(Status::unavailable("tcp connect error")).is_retryable());
    }
}

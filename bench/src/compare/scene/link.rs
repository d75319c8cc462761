//! A connection to the hub with one `Connect` stream, which is read only on demand.

use std::{net::SocketAddr, time::Duration};

use agenthub_sdk::proto::{
    agenthub::{AgentFrame, Heartbeat, Hello},
    grpc::{MessageBuffer, framed},
    http2,
    socket::{HubAddress, connect},
    tls::ClientTls,
};
use anyhow::{Context as _, bail};
use bytes::Bytes;
use h2::{RecvStream, SendStream, client};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpSocket, TcpStream},
    time::interval,
};
use tokio_util::task::AbortOnDropHandle;
use tonic::{
    Code, Status,
    codegen::http::{HeaderMap, Request},
};

/// Heartbeat interval: the hub disconnects a silent peer after 10 s.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(3);

/// Timeout of a connection with TLS.
const LONGEST: Duration = Duration::from_secs(30);

/// Kernel buffer of a slow peer, in bytes.
const SMALL: u32 = 4096;

/// Receive window of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// The window of the SDK.
    Wide,
    /// HTTP/2's default, and a small kernel buffer.
    Narrow,
}

/// The stream. Its connection answers pings until this is dropped, whether or not the stream is read. Sent frames are
/// buffered without limit if the hub does not read.
#[derive(Debug)]
pub(super) struct Link {
    to_hub: SendStream<Bytes>,
    from_hub: RecvStream,
    buffer: MessageBuffer,
    _connection: AbortOnDropHandle<()>,
}

impl Link {
    /// Connects, sends the hello, and waits for the hub's welcome.
    ///
    /// # Errors
    ///
    /// The hub refuses it.
    pub(super) async fn open(hub: SocketAddr, hello: Hello, room: Room) -> anyhow::Result<Self> {
        let stream = match room {
            Room::Wide => TcpStream::connect(hub).await?,
            Room::Narrow => {
                let socket = TcpSocket::new_v4()?;
                socket.set_recv_buffer_size(SMALL)?;
                socket.connect(hub).await?
            }
        };
        stream.set_nodelay(true)?;
        Self::over(stream, hub, hello, room).await
    }

    /// The same with TLS and this process's certificate.
    ///
    /// # Errors
    ///
    /// The hub refuses it.
    pub(super) async fn open_secured(hub: SocketAddr, hello: Hello) -> anyhow::Result<Self> {
        let address = HubAddress::parse(&format!("https://{hub}")).map_err(anyhow::Error::msg)?;
        let stream = connect(&address, ClientTls::of_process(), LONGEST).await;
        let stream = stream.map_err(anyhow::Error::from_boxed)?.into_inner();
        Self::over(stream, hub, hello, Room::Wide).await
    }

    async fn over<S>(stream: S, hub: SocketAddr, hello: Hello, room: Room) -> anyhow::Result<Self>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let mut builder = client::Builder::new();
        if room == Room::Wide {
            builder.initial_window_size(http2::STREAM_WINDOW);
            builder.initial_connection_window_size(http2::CONNECTION_WINDOW);
            builder.max_frame_size(http2::FRAME);
        }
        let (requests, connection) = builder.handshake(stream).await?;
        let driving = tokio::spawn(async move {
            // The user of the stream sees how it ended.
            let _ = connection.await;
        });
        let connection = AbortOnDropHandle::new(driving);
        let request = Request::post(format!("http://{hub}/agenthub.AgentHub/Connect"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(())?;
        let (response, mut to_hub) = requests.ready().await?.send_request(request, false)?;
        let first = AgentFrame {
            hello: Some(hello),
            ..AgentFrame::default()
        };
        to_hub.send_data(framed(&first), false)?;
        let response = response.await?;
        check(response.headers())?;
        let mut link = Self {
            to_hub,
            from_hub: response.into_body(),
            buffer: MessageBuffer::default(),
            _connection: connection,
        };
        link.message().await.context("the hub says no welcome")?;
        Ok(link)
    }

    /// The next message. Cancel-safe.
    ///
    /// # Errors
    ///
    /// The hub has ended the stream.
    pub(super) async fn message(&mut self) -> anyhow::Result<Bytes> {
        loop {
            if let Some(message) = self.buffer.cut(usize::MAX)? {
                return Ok(message);
            }
            let Some(data) = self.from_hub.data().await else {
                if let Some(trailers) = self.from_hub.trailers().await? {
                    check(&trailers)?;
                }
                bail!("the hub has ended the stream");
            };
            let data = data?;
            self.from_hub.flow_control().release_capacity(data.len())?;
            self.buffer.put(data);
        }
    }

    /// Sends a frame.
    ///
    /// # Errors
    ///
    /// The hub has ended the stream.
    pub(super) fn say(&mut self, frame: &AgentFrame) -> anyhow::Result<()> {
        Ok(self.to_hub.send_data(framed(frame), false)?)
    }

    /// Sends heartbeats, and reads nothing, until the hub ends the stream.
    pub(super) async fn stay(mut self) {
        let mut beats = interval(HEARTBEAT);
        while self.heartbeat().is_ok() {
            beats.tick().await;
        }
    }

    /// Sends a heartbeat.
    ///
    /// # Errors
    ///
    /// The hub has ended the stream.
    pub(super) fn heartbeat(&mut self) -> anyhow::Result<()> {
        self.say(&AgentFrame {
            heartbeat: Some(Heartbeat {}),
            ..AgentFrame::default()
        })
    }
}

/// Checks the status of a call, if it is there already.
fn check(headers: &HeaderMap) -> anyhow::Result<()> {
    match Status::from_header_map(headers) {
        Some(status) if status.code() != Code::Ok => Err(status.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::proto::grpc::HEADER;
    use prost::Message as _;

    use super::*;

    #[test]
    fn messages_come_whole_and_one_after_the_other() {
        let frame = AgentFrame {
            heartbeat: Some(Heartbeat {}),
            ..AgentFrame::default()
        };
        let mut sent = Bytes::from([framed(&frame), framed(&AgentFrame::default())].concat());
        let last = sent.split_off(sent.len() - HEADER);
        let mut buffer = MessageBuffer::default();
        buffer.put(sent);
        let first = buffer.cut(100).expect("a message").expect("it is whole");
        assert_eq!(AgentFrame::decode(first), Ok(frame));
        assert_eq!(buffer.cut(100).expect("good so far"), None);
        buffer.put(last);
        let last = buffer.cut(100).expect("a message").expect("it is whole");
        assert_eq!(last.len(), 0);
    }
}

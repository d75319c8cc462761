//! The hub over raw HTTP/2 frames: a client of one call that parses no header and keeps no state but the flow-control
//! windows.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use agenthub_sdk::proto::http2;
use anyhow::{Context as _, bail};
use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{Mutex, Semaphore},
    time::timeout,
};

use super::{
    Readers,
    frames::{
        ACK, CALL, DATA, END_HEADERS, FIRST_WINDOW, FRAME, GOAWAY, HEAD, HEADERS, INITIAL_WINDOW,
        MAX_FRAME, PING, PREFACE, RST_STREAM, SETTINGS, WINDOW_UPDATE, frame, headers, next,
    },
    hub::{self, CONNECT, Deliveries},
};
use crate::compare::tally::Tally;

/// Receive window, and the bytes after which it is renewed.
const WINDOW: u32 = 16 << 20;
const AGAIN: u32 = 4 << 20;

/// Timeout of the hub's welcome.
const WELCOME: Duration = Duration::from_secs(5);

/// Starts a subscriber; reads from the return on.
pub(super) async fn subscribe(
    server: SocketAddr,
    number: usize,
    mut deliveries: Deliveries,
    readers: &mut Readers,
) -> anyhow::Result<()> {
    let mut call = Call::open(server, hub::subscriber(number)).await?;
    readers.spawn(async move {
        while let Ok(()) = call.read().await {
            while let Some(message) = call.message() {
                deliveries.take(&message);
            }
            if let Some(answer) = deliveries.answer()
                && call.writer.message(&answer).await.is_err()
            {
                return;
            }
        }
    });
    Ok(())
}

/// Sender of frames with publishes. Their results are counted.
pub(super) async fn publisher(
    server: SocketAddr,
    tally: Arc<Tally>,
    readers: &mut Readers,
) -> anyhow::Result<Arc<Writer>> {
    let mut call = Call::open(server, hub::publisher()).await?;
    let writer = Arc::clone(&call.writer);
    readers.spawn(async move {
        while let Ok(()) = call.read().await {
            while let Some(message) = call.message() {
                hub::results(&message, &tally);
            }
        }
    });
    Ok(writer)
}

/// The response of the call.
struct Call {
    reader: OwnedReadHalf,
    writer: Arc<Writer>,
    buffer: BytesMut,
    body: BytesMut,
    /// Received bytes of the body for which the window was not renewed.
    taken: u32,
}

impl Call {
    /// Makes the call, and waits for the welcome.
    async fn open(server: SocketAddr, hello: Bytes) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        let (reader, writer) = stream.into_split();
        let mut call = Self {
            reader,
            writer: Arc::new(Writer {
                stream: Mutex::new(writer),
                connection_window: Semaphore::new(FIRST_WINDOW as usize),
                call_window: Semaphore::new(FIRST_WINDOW as usize),
            }),
            buffer: BytesMut::new(),
            body: BytesMut::new(),
            taken: 0,
        };
        let mut opening = BytesMut::from(PREFACE);
        let mut settings = BytesMut::new();
        settings.put_u16(INITIAL_WINDOW);
        settings.put_u32(WINDOW);
        settings.put_u16(MAX_FRAME);
        settings.put_u32(http2::FRAME);
        frame(SETTINGS, 0, 0, &settings, &mut opening);
        let more = (WINDOW - FIRST_WINDOW).to_be_bytes();
        frame(WINDOW_UPDATE, 0, 0, &more, &mut opening);
        let headers = headers(CONNECT, &server.to_string());
        frame(HEADERS, END_HEADERS, CALL, &headers, &mut opening);
        call.writer.write(&opening).await?;
        call.writer.message(&hello).await?;
        let welcome = async {
            while call.message().is_none() {
                call.read().await?;
            }
            anyhow::Ok(())
        };
        timeout(WELCOME, welcome)
            .await
            .context("the hub says no welcome")??;
        Ok(call)
    }

    /// The next message, if complete.
    fn message(&mut self) -> Option<Bytes> {
        // A flag for compression, and four bytes of length.
        let head = self.body.first_chunk::<5>()?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if self.body.len() < 5 + length {
            return None;
        }
        self.body.advance(5);
        Some(self.body.split_to(length).freeze())
    }

    /// Reads available frames, and answers those that need it.
    async fn read(&mut self) -> anyhow::Result<()> {
        self.buffer.reserve(http2::FRAME as usize);
        if self.reader.read_buf(&mut self.buffer).await? == 0 {
            bail!("the hub is gone");
        }
        let mut answers = BytesMut::new();
        while let Some((kind, flags, stream, whole)) = next(&self.buffer) {
            let payload = &self.buffer[HEAD..whole];
            match kind {
                DATA => {
                    self.body.put_slice(payload);
                    self.taken += u32::try_from(payload.len()).unwrap_or(u32::MAX);
                }
                SETTINGS if flags & ACK == 0 => {
                    self.writer.allowed_at_first(payload);
                    frame(SETTINGS, ACK, 0, &[], &mut answers);
                }
                PING if flags & ACK == 0 => frame(PING, ACK, 0, payload, &mut answers),
                WINDOW_UPDATE => self.writer.allowed(stream, payload),
                RST_STREAM | GOAWAY => bail!("the hub ends the call"),
                // Headers need no processing.
                _ => {}
            }
            self.buffer.advance(whole);
        }
        if self.taken >= AGAIN {
            let more = std::mem::take(&mut self.taken).to_be_bytes();
            frame(WINDOW_UPDATE, 0, 0, &more, &mut answers);
            frame(WINDOW_UPDATE, 0, CALL, &more, &mut answers);
        }
        if !answers.is_empty() {
            self.writer.write(&answers).await?;
        }
        Ok(())
    }
}

/// The request of the call.
#[derive(Debug)]
pub(super) struct Writer {
    stream: Mutex<OwnedWriteHalf>,
    /// The hub's windows, in bytes: of the connection, and of this call.
    connection_window: Semaphore,
    call_window: Semaphore,
}

impl Writer {
    /// Sends one message in gRPC encoding, when the window permits. One at a time.
    ///
    /// # Errors
    ///
    /// The connection is closed.
    pub(super) async fn message(&self, message: &[u8]) -> anyhow::Result<()> {
        let mut out = BytesMut::new();
        for part in message.chunks(FRAME) {
            let bytes = u32::try_from(part.len())?;
            self.connection_window.acquire_many(bytes).await?.forget();
            self.call_window.acquire_many(bytes).await?.forget();
            frame(DATA, 0, CALL, part, &mut out);
            self.write(&out.split()).await?;
        }
        Ok(())
    }

    async fn write(&self, bytes: &[u8]) -> anyhow::Result<()> {
        // Frames are written whole, one after the other: that is what the lock is for.
        Ok(self.stream.lock().await.write_all(bytes).await?)
    }

    /// Applies the hub's initial window, which differs from the default.
    fn allowed_at_first(&self, settings: &[u8]) {
        for setting in settings.chunks_exact(6) {
            let value = u32::from_be_bytes([setting[2], setting[3], setting[4], setting[5]]);
            if setting[..2] == INITIAL_WINDOW.to_be_bytes() {
                let more = value.saturating_sub(FIRST_WINDOW) as usize;
                let less = FIRST_WINDOW.saturating_sub(value) as usize;
                self.call_window.add_permits(more);
                self.call_window.forget_permits(less);
            }
        }
    }

    fn allowed(&self, stream: u32, payload: &[u8]) {
        let more = payload.first_chunk().map_or(0, |b| u32::from_be_bytes(*b));
        let window = match stream {
            0 => &self.connection_window,
            _ => &self.call_window,
        };
        window.add_permits(more as usize);
    }
}

//! NATS, core and JetStream, in its client protocol.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::{Context as _, bail};
use bytes::{BufMut as _, BytesMut};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    time::timeout,
};

use super::{
    Readers,
    scan::{self, Piece, line, number},
};
use crate::compare::{message::TOPIC, tally::Tally};

/// Timeout of an answer.
const ANSWER: Duration = Duration::from_secs(5);

/// Prefix of the delivery subjects, before the consumer's number.
const DELIVERIES: &str = "deliveries";

pub(super) async fn subscribe(
    server: SocketAddr,
    tally: Arc<Tally>,
    readers: &mut Readers,
) -> anyhow::Result<()> {
    let mut link = Link::open(server).await?;
    link.say(&format!("SUB {TOPIC} 1\r\nPING\r\n")).await?;
    link.until("PONG").await?;
    link.read_only(readers, tally);
    Ok(())
}

/// Starts a push consumer without acknowledgements.
pub(super) async fn consume(
    server: SocketAddr,
    index: usize,
    tally: Arc<Tally>,
    readers: &mut Readers,
) -> anyhow::Result<()> {
    let mut link = Link::open(server).await?;
    if index == 0 {
        link.make_stream().await?;
    }
    let subject = format!("{DELIVERIES}.{index}");
    let consumer = format!(
        r#"{{"stream_name":"BENCH","config":{{"deliver_subject":"{subject}","deliver_policy":"new","ack_policy":"none","replay_policy":"instant"}}}}"#
    );
    link.say(&format!("SUB {subject} 1\r\n")).await?;
    link.request("$JS.API.CONSUMER.CREATE.BENCH", &consumer)
        .await?;
    link.read_only(readers, tally);
    Ok(())
}

pub(super) async fn publisher(
    server: SocketAddr,
    tally: Arc<Tally>,
    readers: &mut Readers,
) -> anyhow::Result<OwnedWriteHalf> {
    let link = Link::open(server).await?;
    let (writer, reader) = (link.writer, link.reader);
    // Its pings are not answered: a measurement is shorter than the timeout.
    readers.spawn(scan::read(reader, link.buffer, piece, tally, |_, _| {}));
    Ok(writer)
}

/// Publishes into a stream, which acknowledges.
pub(super) async fn stream_publisher(
    server: SocketAddr,
    tally: Arc<Tally>,
    readers: &mut Readers,
) -> anyhow::Result<OwnedWriteHalf> {
    let mut link = Link::open(server).await?;
    link.make_stream().await?;
    link.say("SUB acks 1\r\n").await?;
    Ok(link.count(readers, tally, Tally::acknowledged))
}

pub(super) fn frame(message: &[u8], buffer: &mut BytesMut) {
    put(
        &format!("PUB {TOPIC} {}\r\n", message.len()),
        message,
        buffer,
    );
}

pub(super) fn stream_frame(message: &[u8], buffer: &mut BytesMut) {
    put(
        &format!("PUB {TOPIC} acks {}\r\n", message.len()),
        message,
        buffer,
    );
}

fn put(head: &str, message: &[u8], buffer: &mut BytesMut) {
    buffer.put_slice(head.as_bytes());
    buffer.put_slice(message);
    buffer.put_slice(b"\r\n");
}

/// A connection after the handshake.
struct Link {
    reader: OwnedReadHalf,
    writer: OwnedWriteHalf,
    buffer: BytesMut,
}

impl Link {
    async fn open(server: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        let (reader, writer) = stream.into_split();
        let mut link = Self {
            reader,
            writer,
            buffer: BytesMut::with_capacity(64 * 1024),
        };
        link.say("CONNECT {\"verbose\":false,\"pedantic\":false,\"echo\":false}\r\nPING\r\n")
            .await?;
        link.until("PONG").await?;
        Ok(link)
    }

    async fn say(&mut self, text: &str) -> anyhow::Result<()> {
        Ok(self.writer.write_all(text.as_bytes()).await?)
    }

    /// Reads until this text, and discards everything read.
    async fn until(&mut self, text: &str) -> anyhow::Result<String> {
        loop {
            let said = String::from_utf8_lossy(&self.buffer).into_owned();
            if said.contains("-ERR") {
                bail!("the NATS server says {said}");
            }
            if said.contains(text) {
                self.buffer.clear();
                return Ok(said);
            }
            let read = timeout(ANSWER, self.reader.read_buf(&mut self.buffer)).await;
            if read.context("the NATS server does not answer")?? == 0 {
                bail!("the NATS server is gone");
            }
        }
    }

    async fn request(&mut self, subject: &str, body: &str) -> anyhow::Result<()> {
        let length = body.len();
        self.say(&format!(
            "SUB answers 9\r\nUNSUB 9 1\r\nPUB {subject} answers {length}\r\n{body}\r\n"
        ))
        .await?;
        let said = self.until("}\r\n").await?;
        if said.contains("\"error\"") {
            bail!("JetStream refuses {subject}: {said}");
        }
        Ok(())
    }

    /// Creates the stream, which may exist already.
    async fn make_stream(&mut self) -> anyhow::Result<()> {
        let stream = format!(
            r#"{{"name":"BENCH","subjects":["{TOPIC}"],"storage":"file","retention":"limits","max_msgs":1000000}}"#
        );
        self.request("$JS.API.STREAM.CREATE.BENCH", &stream).await
    }

    /// Counts the received messages.
    fn read_only(self, readers: &mut Readers, tally: Arc<Tally>) {
        readers.spawn(async move {
            // Without the writing half the server would close the connection.
            let _writer = self.writer;
            scan::read(self.reader, self.buffer, piece, tally, Tally::delivered).await;
        });
    }

    /// Counts the received messages, and returns the writing half.
    fn count(
        self,
        readers: &mut Readers,
        tally: Arc<Tally>,
        add: fn(&Tally, u64),
    ) -> OwnedWriteHalf {
        let reading = scan::read(self.reader, self.buffer, piece, tally, add);
        readers.spawn(reading);
        self.writer
    }
}

/// Parses `MSG subject sid [reply] length`, and the body; other lines are no message.
fn piece(buffer: &[u8]) -> Option<Piece> {
    let (head, body) = line(buffer)?;
    if !head.starts_with(b"MSG ") {
        return Some(Piece { whole: body, body });
    }
    let length = head.rsplit(|b| *b == b' ').next().and_then(number)?;
    let whole = body + length + 2;
    (buffer.len() >= whole).then_some(Piece { whole, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cut_as_they_say() {
        let sent = b"MSG bench 1 5\r\nhello\r\nPING\r\nMSG bench 1 acks 2\r\nhi\r\nMSG be";
        let first = piece(sent).expect("it is whole");
        assert_eq!(&sent[first.body..first.whole], b"hello\r\n");
        let rest = &sent[first.whole..];
        let ping = piece(rest).expect("it is whole");
        assert_eq!(ping.whole, ping.body);
        let rest = &rest[ping.whole..];
        let second = piece(rest).expect("it is whole");
        assert_eq!(&rest[second.body..second.whole], b"hi\r\n");
        assert_eq!(piece(&rest[second.whole..]), None);
        assert_eq!(piece(b"MSG bench 1 5\r\nhel"), None);
    }
}

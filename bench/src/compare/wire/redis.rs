//! Redis: PUBLISH and SUBSCRIBE, and streams.

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

/// Approximate entries that a stream retains.
const KEPT: usize = 100_000;

pub(super) async fn subscribe(
    server: SocketAddr,
    tally: Arc<Tally>,
    readers: &mut Readers,
) -> anyhow::Result<()> {
    let (mut reader, mut writer) = open(server).await?;
    writer
        .write_all(format!("SUBSCRIBE {TOPIC}\r\n").as_bytes())
        .await?;
    let mut buffer = BytesMut::new();
    let confirmed = async {
        while piece(&buffer).is_none() {
            if reader.read_buf(&mut buffer).await? == 0 {
                bail!("the Redis server is gone");
            }
        }
        Ok(())
    };
    timeout(ANSWER, confirmed)
        .await
        .context("the Redis server does not answer")??;
    readers.spawn(async move {
        let _writer = writer;
        scan::read(reader, buffer, piece, tally, Tally::delivered).await;
    });
    Ok(())
}

/// Reads a stream from its beginning, block by block.
pub(super) async fn read(
    server: SocketAddr,
    tally: Arc<Tally>,
    readers: &mut Readers,
) -> anyhow::Result<()> {
    let (reader, writer) = open(server).await?;
    readers.spawn(async move {
        // An error ends the reading: a measurement without deliveries fails.
        let _ = blocks(reader, writer, &tally).await;
    });
    Ok(())
}

async fn blocks(
    mut reader: OwnedReadHalf,
    mut writer: OwnedWriteHalf,
    tally: &Tally,
) -> std::io::Result<()> {
    let mut last = "0".to_owned();
    let mut buffer = BytesMut::new();
    loop {
        let ask = format!("XREAD COUNT 256 BLOCK 0 STREAMS {TOPIC} {last}\r\n");
        writer.write_all(ask.as_bytes()).await?;
        loop {
            if reader.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
            if let Some(entries) = entries(&buffer) {
                for entry in &entries.bodies {
                    tally.message(&buffer[entry.clone()]);
                }
                tally.delivered(entries.bodies.len() as u64);
                last = entries.last;
                buffer.clear();
                break;
            }
        }
    }
}

/// Result of XREAD.
struct Entries {
    bodies: Vec<std::ops::Range<usize>>,
    last: String,
}

/// The entries of one stream, if the answer is complete: a nested array with the stream's name, and for each entry its
/// id, field and value.
fn entries(buffer: &[u8]) -> Option<Entries> {
    let mut at = 0;
    let mut open = 1_usize;
    let mut texts = Vec::new();
    while open > 0 {
        let (head, length) = line(&buffer[at..])?;
        at += length;
        open -= 1;
        match head.split_first()? {
            (b'*', count) => open += number(count).unwrap_or_default(),
            (b'$', count) => {
                let end = at + number(count)?;
                if buffer.len() < end + 2 {
                    return None;
                }
                texts.push(at..end);
                at = end + 2;
            }
            _ => {}
        }
    }
    let (ids, bodies): (Vec<_>, Vec<_>) = texts
        .get(1..)?
        .chunks_exact(3)
        .map(|entry| (entry[0].clone(), entry[2].clone()))
        .unzip();
    let last = String::from_utf8_lossy(&buffer[ids.last()?.clone()]).into_owned();
    Some(Entries { bodies, last })
}

pub(super) async fn publisher(
    server: SocketAddr,
    tally: Arc<Tally>,
    readers: &mut Readers,
) -> anyhow::Result<OwnedWriteHalf> {
    let (reader, writer) = open(server).await?;
    let next = |bytes: &[u8]| answer(bytes).map(|piece| Piece { body: 0, ..piece });
    let reading = scan::read(reader, BytesMut::new(), next, tally, Tally::acknowledged);
    readers.spawn(reading);
    Ok(writer)
}

pub(super) fn publish_frame(message: &[u8], buffer: &mut BytesMut) {
    put(&["PUBLISH", TOPIC], message, buffer);
}

pub(super) fn add_frame(message: &[u8], buffer: &mut BytesMut) {
    let kept = KEPT.to_string();
    put(
        &["XADD", TOPIC, "MAXLEN", "~", &kept, "*", "m"],
        message,
        buffer,
    );
}

fn put(words: &[&str], message: &[u8], buffer: &mut BytesMut) {
    buffer.put_slice(format!("*{}\r\n", words.len() + 1).as_bytes());
    let words = words.iter().map(|word| word.as_bytes());
    for word in words.chain([message]) {
        buffer.put_slice(format!("${}\r\n", word.len()).as_bytes());
        buffer.put_slice(word);
        buffer.put_slice(b"\r\n");
    }
}

async fn open(server: SocketAddr) -> anyhow::Result<(OwnedReadHalf, OwnedWriteHalf)> {
    let stream = TcpStream::connect(server).await?;
    stream.set_nodelay(true)?;
    Ok(stream.into_split())
}

/// A number or bulk string: the answer to a publish.
fn answer(buffer: &[u8]) -> Option<Piece> {
    let (head, body) = line(buffer)?;
    let whole = match head.split_first()? {
        (b'$', length) => body + number(length)? + 2,
        _ => body,
    };
    (buffer.len() >= whole).then_some(Piece { whole, body })
}

/// `message`, the topic and the message, each a bulk string. The confirmation of the subscription has a number instead.
fn piece(buffer: &[u8]) -> Option<Piece> {
    let (_, mut at) = line(buffer)?;
    let mut body = at;
    for _ in 0..3 {
        let part = answer(&buffer[at..])?;
        body = at + part.body;
        at += part.whole;
    }
    Some(Piece { whole: at, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cut_as_they_say() {
        let confirmed = b"*3\r\n$9\r\nsubscribe\r\n$5\r\nbench\r\n:1\r\n";
        let piece_of = |bytes: &[u8]| piece(bytes).expect("it is whole");
        let first = piece_of(confirmed);
        assert_eq!(
            (first.whole, first.body),
            (confirmed.len(), confirmed.len())
        );
        let sent = b"*3\r\n$7\r\nmessage\r\n$5\r\nbench\r\n$2\r\nhi\r\n*3\r\n$7";
        let second = piece_of(sent);
        assert_eq!(&sent[second.body..second.whole], b"hi\r\n");
        assert_eq!(piece(&sent[second.whole..]), None);
    }

    #[test]
    fn entries_of_a_stream_have_an_id_and_a_body() {
        let sent = b"*1\r\n*2\r\n$5\r\nbench\r\n*2\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\nm\r\n$2\r\nhi\r\n*2\r\n$3\r\n2-0\r\n*2\r\n$1\r\nm\r\n$3\r\nyou\r\n";
        let found = entries(sent).expect("it is whole");
        assert_eq!(found.last, "2-0");
        let bodies: Vec<&[u8]> = found.bodies.iter().map(|b| &sent[b.clone()]).collect();
        assert_eq!(bodies, [&b"hi"[..], b"you"]);
        assert!(entries(&sent[..sent.len() - 1]).is_none());
    }
}

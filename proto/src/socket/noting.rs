//! Notes the alert that ends a connection with TLS.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll},
};

use rustls::Error;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::tls::ClientTls;

/// A stream of TLS whose alerts are noted. One may have come when a write fails, and would not be read any more.
#[derive(Debug)]
pub struct Noting<T> {
    stream: T,
    tls: ClientTls,
}

impl<T: AsyncRead + Unpin> Noting<T> {
    pub(super) fn new(stream: T, tls: ClientTls) -> Self {
        Self { stream, tls }
    }

    fn note(&self, error: &io::Error) {
        let error = error.get_ref().and_then(|error| error.downcast_ref());
        if let Some(Error::AlertReceived(alert)) = error {
            self.tls.note(Some(*alert));
        }
    }

    fn wrote<R>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        if let Poll::Ready(Err(_)) = written {
            let mut rest = [0; 256];
            let mut rest = ReadBuf::new(&mut rest);
            let read = Pin::new(&mut self.stream).poll_read(context, &mut rest);
            if let Poll::Ready(Err(error)) = read {
                self.note(&error);
            }
        }
        written
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Noting<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if let Poll::Ready(Err(error)) = &read {
            self.note(error);
        }
        read
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Noting<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.wrote(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.wrote(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

//! Options of TCP sockets that the standard library lacks.

use tokio::net::TcpStream;

/// Maximum unsent bytes of a connection in the kernel. A ping waits behind these. Room for two frames, as a write that
/// is cut short costs another one.
const UNSENT: u32 = 2 * crate::http2::FRAME;

/// Limits the unsent bytes in the kernel, if the system supports that.
pub(super) fn bound_unsent(socket: &TcpStream) {
    #[cfg(target_os = "linux")]
    // Without the option, pings wait longer, and are answered later.
    let _ = linux::bound_unsent(socket);
}

/// Bytes that the peer's system has acknowledged; `None` if unknown.
pub(super) fn acknowledged(socket: &TcpStream) -> Option<u64> {
    #[cfg(target_os = "linux")]
    return linux::acknowledged(socket);
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(target_os = "linux")]
mod linux {
    use nix::{
        libc,
        sys::socket::{
            getsockopt, setsockopt,
            sockopt::{GetStruct, SetStruct},
        },
    };
    use tokio::net::TcpStream;

    /// The beginning of Linux's `struct tcp_info`; later versions only append to it.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    struct Info {
        _state: [u8; 8],
        _counts: [u32; 24],
        _pacing_rates: [u64; 2],
        bytes_acked: u64,
    }

    #[derive(Clone, Copy, Debug)]
    struct TcpInfo;
    nix::getsockopt_impl!(
        TcpInfo,
        libc::IPPROTO_TCP,
        libc::TCP_INFO,
        Info,
        GetStruct<Info>
    );

    #[derive(Clone, Copy, Debug)]
    struct NotSentLowAt;
    nix::setsockopt_impl!(
        NotSentLowAt,
        libc::IPPROTO_TCP,
        libc::TCP_NOTSENT_LOWAT,
        u32,
        SetStruct<u32>
    );

    pub(super) fn bound_unsent(socket: &TcpStream) -> nix::Result<()> {
        setsockopt(socket, NotSentLowAt, &super::UNSENT)
    }

    pub(super) fn acknowledged(socket: &TcpStream) -> Option<u64> {
        Some(getsockopt(socket, TcpInfo).ok()?.bytes_acked)
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn what_the_peer_has_taken_is_known() {
        const SENT: usize = 10_000;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let mut peer = TcpStream::connect(address).await.expect("it listens");
        let (mut socket, _) = listener.accept().await.expect("it comes");
        linux::bound_unsent(&socket).expect("Linux can do that");
        assert_eq!(acknowledged(&socket), Some(0));
        socket.write_all(&[7; SENT]).await.expect("it is open");
        peer.read_exact(&mut [0; SENT]).await.expect("it comes");
        while acknowledged(&socket) != Some(SENT as u64) {
            tokio::task::yield_now().await;
        }
    }
}

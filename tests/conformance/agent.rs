//! The agent that scripts/conformance tests behind the hub: `conformance HUB [EXTENSION]`.

use agenthub_sdk::Error;

mod behaviours;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let mut args = std::env::args().skip(1);
    let Some(hub) = args.next() else {
        eprintln!("usage: conformance HUB [EXTENSION], such as http://127.0.0.1:50051");
        std::process::exit(2);
    };
    behaviours::agent(args.next()).run(hub).await
}

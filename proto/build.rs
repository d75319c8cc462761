//! Compiles the `.proto` files with protox, so that no `protoc` is needed.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message;

const FILES: [&str; 7] = [
    "proto/a2a_core.proto",
    "proto/events.proto",
    "proto/connect.proto",
    "proto/mailboxes.proto",
    "proto/eventbus.proto",
    "proto/cortex.proto",
    "proto/access.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    for file in FILES {
        println!("cargo:rerun-if-changed=../{file}");
    }
    let descriptors = protox::compile(FILES, [".."])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;

    let mut config = prost_build::Config::new();
    config.enable_type_names();
    tonic_prost_build::configure()
        // The generated `connect` constructor would conflict with the call `Connect`.
        .build_transport(false)
        .compile_fds_with_config(descriptors, config)?;
    Ok(())
}

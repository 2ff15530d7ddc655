//! TLS with as much verification as libpq's sslmode of the same name.

use plimsoll_engine::error::Result;
use plimsoll_engine::server::tls::{self, Trust};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::url::SslMode;

/// Makes the TLS side of connections. A root certificate makes `require` verify the authority, as in libpq.
pub(super) fn connector(mode: SslMode, root_cert: Option<&str>) -> Result<MakeRustlsConnect> {
    let trust = match (mode, root_cert) {
        (SslMode::VerifyFull, _) => Trust::Host,
        (SslMode::VerifyCa, _) | (SslMode::Require, Some(_)) => Trust::Authority,
        (SslMode::Require | SslMode::Prefer | SslMode::Disable, _) => Trust::Anybody,
    };
    tls::config(trust, root_cert, "sslrootcert").map(MakeRustlsConnect::new)
}

//! Servers for tests; used by tests and `xtask` only, never by the product. [`tds`] has one that answers by a script, and refuses
//! what the [`grammar`] refuses. The rest are private servers, PostgreSQL, MariaDB and MySQL: made in a directory of their own,
//! gone when their value is dropped.
//!
//! ```no_run
//! let server = plimsoll_testbed::Postgres::builder().shared_buffers_mb(64).start()?;
//! assert_eq!(server.psql("select 1")?, "1");
//! # Ok::<(), plimsoll_testbed::TestbedError>(())
//! ```
//!
//! They are those of the machine's distribution, or of the versions that [`CHOICE`] names.
//!
//! Servers refuse to run as root; then the server and everything that touches its files runs as the user of its package
//! (`postgres`, `mysql`) or `nobody`. A guard process waits for the end of the test process, however it ends, and then
//! stops the server and removes its directory. So nothing stays behind a killed test, nor behind a server that sits in
//! a `static`.

mod account;
mod between;
mod binaries;
mod builder;
mod error;
pub mod grammar;
mod guard;
pub mod hostile;
mod installation;
mod mariadb;
mod postgres;
mod programs;
mod server;
mod stub;
pub mod tds;

pub use between::{Between, Manner};
pub use binaries::Binaries;
pub use builder::Builder;
pub use error::TestbedError;
pub use installation::{CHOICE, FOLDER, Installation, Product, fetched};
pub use mariadb::MariaDb;
pub use postgres::Postgres;
pub use server::Server;
pub use stub::Stub;

//! Peers that mean harm, or are broken: they speak a protocol as a server does up to some stage of it, and then do something that
//! no server does. What they do is data ([`Act`]), so that each is tried at each stage of each protocol.

mod acts;
mod bytes;
mod lead;
mod mysql;
mod peer;
mod postgres;
mod tds;
mod what;

pub use rustls::ServerConfig as Tls;

pub use self::acts::cases;
pub use self::bytes::encoded;
pub use self::peer::Peer;
pub use self::what::{Act, Case, Protocol, Stage};

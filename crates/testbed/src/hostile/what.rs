//! What a peer speaks, how far it behaves, and what it does then.

/// What a peer seems to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// PostgreSQL's.
    Postgres,
    /// That of MySQL and MariaDB.
    MySql,
    /// SQL Server's.
    Tds,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Postgres, Self::MySql, Self::Tds];
}

/// How far a peer behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Not at all.
    First,
    /// It has promised TLS.
    Handshake,
    /// It knows who wants to log in.
    Authentication,
    /// It has begun to let us in.
    LogIn,
    /// It has let us in, and was asked something.
    Answer,
}

impl Stage {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::First, Self::Handshake, Self::Authentication, Self::LogIn, Self::Answer];
}

/// What a peer does from some stage on.
#[derive(Debug, Clone)]
pub enum Act {
    /// Nothing, for ever.
    Nothing,
    /// It goes.
    Close,
    /// It breaks the connection.
    Reset,
    /// It says this, and nothing more.
    Once(Vec<u8>),
    /// It says this, and goes.
    Last(Vec<u8>),
    /// It says this, byte after byte and again and again.
    Trickle(Vec<u8>),
    /// It says the first once and then the second without end.
    Endless(Vec<u8>, Vec<u8>),
    /// It says this to everything that it hears.
    Reply(Vec<u8>),
    /// It says what makes no sense, without end.
    Noise(u64),
}

/// Something that a peer does.
#[derive(Debug, Clone)]
pub struct Case {
    /// What it seems to speak.
    pub protocol: Protocol,
    /// From when on.
    pub stage: Stage,
    /// What, in a few words.
    pub name: &'static str,
    /// What.
    pub act: Act,
}

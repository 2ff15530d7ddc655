//! No cryptography at all: the SQL Server driver asks for the crate `openssl` for columns that the client encrypts
//! ("Always Encrypted"), which nobody here has. The real crate would need the C library, or perl, make and minutes to
//! build it.
//!
//! So the workspace puts this crate in its place (`[patch.crates-io]`): the names that the driver uses, where everything
//! that would have to compute refuses with one sentence. A connection never asks for such columns, so nobody comes here;
//! TLS is rustls's (`crates/native-tls`).

pub mod error {
    //! The one error.

    use std::fmt;

    /// Client-side encryption was asked for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct ErrorStack;

    impl fmt::Display for ErrorStack {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("columns that the client encrypts are not supported")
        }
    }

    impl std::error::Error for ErrorStack {}
}

pub mod rand {
    //! Random numbers for keys.

    use crate::error::ErrorStack;

    /// Refuses.
    pub const fn rand_bytes(_: &mut [u8]) -> Result<(), ErrorStack> {
        Err(ErrorStack)
    }
}

pub mod hash {
    //! Names of hashes.

    /// The name of a hash.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct MessageDigest;

    impl MessageDigest {
        /// SHA-1.
        pub const fn sha1() -> Self {
            Self
        }

        /// SHA-256.
        pub const fn sha256() -> Self {
            Self
        }
    }
}

pub mod symm {
    //! Encryption by one key.

    use crate::error::ErrorStack;

    /// The name of a cipher.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Cipher;

    impl Cipher {
        /// AES-256 in CBC mode.
        pub const fn aes_256_cbc() -> Self {
            Self
        }
    }

    /// Refuses.
    pub const fn encrypt(_: Cipher, _: &[u8], _: Option<&[u8]>, _: &[u8]) -> Result<Vec<u8>, ErrorStack> {
        Err(ErrorStack)
    }

    pub use encrypt as decrypt;
}

pub mod rsa {
    //! RSA keys, of which there are none.

    use crate::error::ErrorStack;
    use crate::pkey::{PKey, Private};

    /// The name of a padding.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Padding;

    impl Padding {
        /// OAEP.
        pub const PKCS1_OAEP: Self = Self;
        /// PKCS #1, version 1.5.
        pub const PKCS1: Self = Self;
    }

    /// A key.
    #[derive(Debug)]
    pub struct Rsa<T>(pub(crate) PKey<T>);

    impl Rsa<Private> {
        /// Refuses.
        pub const fn private_key_from_pem(_: &[u8]) -> Result<Self, ErrorStack> {
            Err(ErrorStack)
        }
    }
}

pub mod pkey {
    //! Keys, of which there are none.

    use std::marker::PhantomData;

    use crate::error::ErrorStack;
    use crate::rsa::Rsa;

    /// A key has its private part.
    #[derive(Debug)]
    pub struct Private;

    #[derive(Debug)]
    pub(crate) enum Never {}

    /// A key.
    #[derive(Debug)]
    pub struct PKey<T>(pub(crate) Never, PhantomData<T>);

    impl PKey<Private> {
        /// Refuses.
        pub const fn hmac(_: &[u8]) -> Result<Self, ErrorStack> {
            Err(ErrorStack)
        }

        /// Refuses.
        pub const fn private_key_from_pem(_: &[u8]) -> Result<Self, ErrorStack> {
            Err(ErrorStack)
        }
    }

    impl<T> PKey<T> {
        /// The same key; never called.
        pub fn from_rsa(rsa: Rsa<T>) -> Result<Self, ErrorStack> {
            Ok(rsa.0)
        }
    }
}

pub mod sign {
    //! Signatures by keys of which there are none: nothing here is ever called.

    use crate::error::ErrorStack;
    use crate::hash::MessageDigest;
    use crate::pkey::PKey;
    use crate::rsa::Padding;

    /// Signs and verifies.
    #[derive(Debug)]
    pub struct Signatures<'a>(&'a crate::pkey::Never);

    pub use {Signatures as Signer, Signatures as Verifier};

    impl<'a> Signatures<'a> {
        /// By this key.
        pub const fn new<T>(_: MessageDigest, key: &'a PKey<T>) -> Result<Self, ErrorStack> {
            Ok(Self(&key.0))
        }

        /// Sets the padding.
        pub const fn set_rsa_padding(&mut self, _: Padding) -> Result<(), ErrorStack> {
            match *self.0 {}
        }

        /// Takes data.
        pub const fn update(&mut self, _: &[u8]) -> Result<(), ErrorStack> {
            match *self.0 {}
        }

        /// Signs.
        pub const fn sign_to_vec(&self) -> Result<Vec<u8>, ErrorStack> {
            match *self.0 {}
        }

        /// Verifies.
        pub const fn verify(&self, _: &[u8]) -> Result<bool, ErrorStack> {
            match *self.0 {}
        }
    }
}

pub mod encrypt {
    //! Encryption by keys of which there are none: nothing here is ever called.

    use crate::error::ErrorStack;
    use crate::hash::MessageDigest;
    use crate::pkey::PKey;
    use crate::rsa::Padding;

    /// Encrypts and decrypts.
    #[derive(Debug)]
    pub struct Encryption<'a>(&'a crate::pkey::Never);

    pub use {Encryption as Decrypter, Encryption as Encrypter};

    impl<'a> Encryption<'a> {
        /// By this key.
        pub const fn new<T>(key: &'a PKey<T>) -> Result<Self, ErrorStack> {
            Ok(Self(&key.0))
        }

        /// Sets the padding.
        pub const fn set_rsa_padding(&mut self, _: Padding) -> Result<(), ErrorStack> {
            match *self.0 {}
        }

        /// Sets the hash of the padding.
        pub const fn set_rsa_oaep_md(&mut self, _: MessageDigest) -> Result<(), ErrorStack> {
            match *self.0 {}
        }

        /// Sets the hash of the mask.
        pub const fn set_rsa_mgf1_md(&mut self, _: MessageDigest) -> Result<(), ErrorStack> {
            match *self.0 {}
        }

        /// Bytes that encrypting takes.
        pub const fn encrypt_len(&self, _: &[u8]) -> Result<usize, ErrorStack> {
            match *self.0 {}
        }

        /// Encrypts.
        pub const fn encrypt(&self, _: &[u8], _: &mut [u8]) -> Result<usize, ErrorStack> {
            match *self.0 {}
        }

        /// Bytes that decrypting takes.
        pub const fn decrypt_len(&self, _: &[u8]) -> Result<usize, ErrorStack> {
            match *self.0 {}
        }

        /// Decrypts.
        pub const fn decrypt(&self, _: &[u8], _: &mut [u8]) -> Result<usize, ErrorStack> {
            match *self.0 {}
        }
    }
}

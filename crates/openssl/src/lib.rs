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
    ///
    /// # Errors
    /// Always.
    pub const fn rand_bytes(_: &mut [u8]) -> Result<(), ErrorStack> {
        Err(ErrorStack)
    }
}

pub mod hash {
    //! Names of hashes.

    /// The name of a hash.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct MessageDigest(&'static str);

    impl MessageDigest {
        /// SHA-1.
        pub const fn sha1() -> Self {
            Self("sha1")
        }

        /// SHA-256.
        pub const fn sha256() -> Self {
            Self("sha256")
        }
    }
}

pub mod symm {
    //! Encryption by one key.

    use crate::error::ErrorStack;

    /// The name of a cipher.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Cipher(&'static str);

    impl Cipher {
        /// AES-256 in CBC mode.
        pub const fn aes_256_cbc() -> Self {
            Self("aes-256-cbc")
        }
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub const fn encrypt(_: Cipher, _: &[u8], _: Option<&[u8]>, _: &[u8]) -> Result<Vec<u8>, ErrorStack> {
        Err(ErrorStack)
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub const fn decrypt(_: Cipher, _: &[u8], _: Option<&[u8]>, _: &[u8]) -> Result<Vec<u8>, ErrorStack> {
        Err(ErrorStack)
    }
}

pub mod rsa {
    //! RSA keys, of which there are none.

    use std::marker::PhantomData;

    use crate::Never;
    use crate::error::ErrorStack;
    use crate::pkey::Private;

    /// A key.
    #[derive(Debug)]
    pub struct Rsa<T>(pub(crate) Never, PhantomData<T>);

    impl Rsa<Private> {
        /// Refuses.
        ///
        /// # Errors
        /// Always.
        pub const fn private_key_from_pem(_: &[u8]) -> Result<Self, ErrorStack> {
            Err(ErrorStack)
        }
    }

    /// The name of a padding.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Padding(&'static str);

    impl Padding {
        /// OAEP.
        pub const PKCS1_OAEP: Self = Self("oaep");
        /// PKCS #1, version 1.5.
        pub const PKCS1: Self = Self("pkcs1");
    }
}

pub mod pkey {
    //! Keys, of which there are none.

    use std::marker::PhantomData;

    use crate::Never;
    use crate::error::ErrorStack;
    use crate::rsa::Rsa;

    /// A key has its private part.
    #[derive(Debug)]
    pub struct Private;

    /// A key.
    #[derive(Debug)]
    pub struct PKey<T>(pub(crate) Never, PhantomData<T>);

    impl PKey<Private> {
        /// Refuses.
        ///
        /// # Errors
        /// Always.
        pub const fn hmac(_: &[u8]) -> Result<Self, ErrorStack> {
            Err(ErrorStack)
        }

        /// Refuses.
        ///
        /// # Errors
        /// Always.
        pub const fn private_key_from_pem(_: &[u8]) -> Result<Self, ErrorStack> {
            Err(ErrorStack)
        }
    }

    impl<T> PKey<T> {
        /// Never called, as there are no keys.
        ///
        /// # Errors
        /// None.
        #[expect(clippy::needless_pass_by_value, reason = "the driver gives its key away")]
        pub const fn from_rsa(rsa: Rsa<T>) -> Result<Self, ErrorStack> {
            match rsa.0 {}
        }
    }
}

pub mod sign {
    //! Signatures by keys of which there are none.

    use crate::error::ErrorStack;
    use crate::hash::MessageDigest;
    use crate::pkey::PKey;
    use crate::rsa::Padding;

    /// Signs.
    #[derive(Debug)]
    pub struct Signer<'a>(crate::Nobody<'a>);

    impl<'a> Signer<'a> {
        /// Never called, as there are no keys.
        ///
        /// # Errors
        /// None.
        pub const fn new<T>(_: MessageDigest, key: &'a PKey<T>) -> Result<Self, ErrorStack> {
            match key.0 {}
        }

        /// Never called.
        ///
        /// # Errors
        /// None.
        pub const fn set_rsa_padding(&mut self, _: Padding) -> Result<(), ErrorStack> {
            match self.0.0 {}
        }

        /// Never called.
        ///
        /// # Errors
        /// None.
        pub const fn update(&mut self, _: &[u8]) -> Result<(), ErrorStack> {
            match self.0.0 {}
        }

        /// Never called.
        ///
        /// # Errors
        /// None.
        pub const fn sign_to_vec(&self) -> Result<Vec<u8>, ErrorStack> {
            match self.0.0 {}
        }
    }

    /// Verifies.
    #[derive(Debug)]
    pub struct Verifier<'a>(crate::Nobody<'a>);

    impl<'a> Verifier<'a> {
        /// Never called, as there are no keys.
        ///
        /// # Errors
        /// None.
        pub const fn new<T>(_: MessageDigest, key: &'a PKey<T>) -> Result<Self, ErrorStack> {
            match key.0 {}
        }

        /// Never called.
        ///
        /// # Errors
        /// None.
        pub const fn set_rsa_padding(&mut self, _: Padding) -> Result<(), ErrorStack> {
            match self.0.0 {}
        }

        /// Never called.
        ///
        /// # Errors
        /// None.
        pub const fn update(&mut self, _: &[u8]) -> Result<(), ErrorStack> {
            match self.0.0 {}
        }

        /// Never called.
        ///
        /// # Errors
        /// None.
        pub const fn verify(&self, _: &[u8]) -> Result<bool, ErrorStack> {
            match self.0.0 {}
        }
    }
}

pub mod encrypt {
    //! Encryption by keys of which there are none.

    use crate::error::ErrorStack;
    use crate::hash::MessageDigest;
    use crate::pkey::PKey;
    use crate::rsa::Padding;

    macro_rules! never {
        ($name:ident, $work:ident, $length:ident) => {
            /// Never made, as there are no keys.
            #[derive(Debug)]
            pub struct $name<'a>(crate::Nobody<'a>);

            impl<'a> $name<'a> {
                /// Never called, as there are no keys.
                ///
                /// # Errors
                /// None.
                pub const fn new<T>(key: &'a PKey<T>) -> Result<Self, ErrorStack> {
                    match key.0 {}
                }

                /// Never called.
                ///
                /// # Errors
                /// None.
                pub const fn set_rsa_padding(&mut self, _: Padding) -> Result<(), ErrorStack> {
                    match self.0.0 {}
                }

                /// Never called.
                ///
                /// # Errors
                /// None.
                pub const fn set_rsa_oaep_md(&mut self, _: MessageDigest) -> Result<(), ErrorStack> {
                    match self.0.0 {}
                }

                /// Never called.
                ///
                /// # Errors
                /// None.
                pub const fn set_rsa_mgf1_md(&mut self, _: MessageDigest) -> Result<(), ErrorStack> {
                    match self.0.0 {}
                }

                /// Never called.
                ///
                /// # Errors
                /// None.
                pub const fn $length(&self, _: &[u8]) -> Result<usize, ErrorStack> {
                    match self.0.0 {}
                }

                /// Never called.
                ///
                /// # Errors
                /// None.
                pub const fn $work(&self, _: &[u8], _: &mut [u8]) -> Result<usize, ErrorStack> {
                    match self.0.0 {}
                }
            }
        };
    }

    never!(Encrypter, encrypt, encrypt_len);
    never!(Decrypter, decrypt, decrypt_len);
}

/// What nobody can make.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Never {}

/// What nobody can make, for as long as a key would live.
#[derive(Debug)]
pub(crate) struct Nobody<'a>(pub(crate) Never, std::marker::PhantomData<&'a ()>);

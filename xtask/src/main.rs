//! The tasks of the repository: `cargo xtask test`, `cargo xtask bench`.
fn main() {}

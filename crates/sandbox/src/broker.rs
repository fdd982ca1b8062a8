//! The loopback interface of the host, connection by connection.

mod program;

pub use program::program;

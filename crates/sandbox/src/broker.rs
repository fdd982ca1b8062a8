//! The loopback interface of the host, connection by connection.

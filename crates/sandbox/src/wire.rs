//! What the host, the supervisor and its workers say to each other.

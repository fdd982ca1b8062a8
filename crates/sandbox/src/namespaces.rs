//! Entering namespaces of one's own.

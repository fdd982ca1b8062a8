//! Bounds on processes, memory, processor time and file size.

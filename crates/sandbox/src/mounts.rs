//! The tree of files a command sees.

//! File rules by Landlock.

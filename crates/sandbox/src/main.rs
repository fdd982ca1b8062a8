//! The sandbox program: a supervisor for each plan, with a pool of workers.

fn main() {}

//! Servers of the host, which nobody may reach.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, accept, bind, listen, socket};

/// Counts who comes.
pub(crate) struct Host(Arc<AtomicUsize>);

impl Host {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    pub(crate) fn at(&self, path: &Path) {
        self.serve(SocketType::STREAM, &SocketAddrUnix::new(path).unwrap());
        // Whoever is in the sandbox may connect as far as modes go.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(path, mode).unwrap();
    }

    pub(crate) fn serve(&self, kind: SocketType, address: &SocketAddrUnix) {
        let server: OwnedFd = socket(AddressFamily::UNIX, kind, None).unwrap();
        bind(&server, address).unwrap();
        if kind != SocketType::DGRAM {
            listen(&server, 4096).unwrap();
        }
        let count = self.0.clone();
        thread::spawn(move || {
            loop {
                if kind == SocketType::DGRAM {
                    let _ = rustix::io::read(&server, &mut [0; 8]).unwrap();
                } else {
                    drop(accept(&server).unwrap());
                }
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.0.load(Ordering::SeqCst) == 0
    }

    #[track_caller]
    pub(crate) fn assert_alone(&self) {
        assert!(self.is_alone(), "a server of the host was reached");
    }
}

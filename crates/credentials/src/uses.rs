//! What became of the requests of one command, without a value.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// How many rows there are. What comes beyond is counted in one more.
const MAX_ROWS: usize = 200;
/// How long a path may be.
const MAX_PATH: usize = 300;

/// Why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// No rule allows it.
    Rule,
    /// Who decides about uses has refused it.
    Rejected,
    /// The host program gave no value.
    NoValue,
    /// It is not understood.
    Unclear,
    /// The client speaks HTTP/2 alone.
    OnlyHttp2,
}

/// Requests of a command that are alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// The variables of the credentials, with a comma between them. Empty: the request was not understood.
    pub credential: String,
    /// The host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The method.
    pub method: String,
    /// The path, without its query. `*`: further ones, which are not listed one by one.
    pub path: String,
    /// What the host answered. None: nothing, because the request was refused, or for another reason.
    pub status: Option<u16>,
    /// Why it was refused.
    pub refused: Option<Why>,
    /// How often.
    pub count: u32,
    /// The bytes of the bodies to the host.
    pub sent: u64,
    /// The bytes of the bodies from the host.
    pub received: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    host: String,
    port: u16,
    credential: String,
    method: String,
    path: String,
    status: Option<u16>,
    refused: Option<Why>,
}

/// The uses of one command.
#[derive(Debug, Default)]
pub struct Uses(Mutex<BTreeMap<Key, (u32, Arc<Meter>)>>);

impl Uses {
    /// All until now.
    #[must_use]
    pub fn list(&self) -> Vec<Use> {
        let rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let row = |(key, (count, meter)): (&Key, &(u32, Arc<Meter>))| {
            let Key { host, port, credential, method, path, status, refused } = key.clone();
            let (sent, received) = meter.read();
            let (count, port) = (*count, port);
            Use { credential, host, port, method, path, status, refused, count, sent, received }
        };
        rows.iter().map(row).collect()
    }

    pub(crate) fn note(&self, request: &Noted, outcome: Result<Option<u16>, Why>, meter: &Meter) {
        let Noted { host, port, credential, method, path } = request.clone();
        let (status, refused) = match outcome {
            Ok(status) => (status, None),
            Err(why) => (None, Some(why)),
        };
        let mut key = Key { host, port, credential, method, path, status, refused };
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if rows.len() >= MAX_ROWS && !rows.contains_key(&key) {
            "*".clone_into(&mut key.path);
            "*".clone_into(&mut key.method);
        }
        let (count, all) = rows.entry(key).or_default();
        *count = count.saturating_add(1);
        meter.count_for(all);
    }
}

/// A request as it is noted.
#[derive(Debug, Clone)]
pub(crate) struct Noted {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) credential: String,
    pub(crate) method: String,
    pub(crate) path: String,
}

impl Noted {
    /// It has this credential too.
    pub(crate) fn add(&mut self, credential: &str) {
        if !self.credential.is_empty() {
            self.credential.push_str(", ");
        }
        self.credential.push_str(credential);
    }

    pub(crate) fn new(host: &str, port: u16, method: &str, path: &str) -> Self {
        let path: String = path.escape_debug().take(MAX_PATH).collect();
        let method = method.chars().take(32).collect();
        Self { host: host.to_owned(), port, credential: String::new(), method, path }
    }
}

/// Counts bytes of bodies.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    sent: AtomicU64,
    received: AtomicU64,
    of_row: OnceLock<Arc<Meter>>,
}

impl Meter {
    pub(crate) fn sent(&self, bytes: usize) {
        let own = self.of_row.get().map_or(self, |row| row);
        own.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn received(&self, bytes: usize) {
        let own = self.of_row.get().map_or(self, |row| row);
        own.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn read(&self) -> (u64, u64) {
        (self.sent.load(Ordering::Relaxed), self.received.load(Ordering::Relaxed))
    }

    /// From now on it counts for a row, also what it has counted until now.
    fn count_for(&self, row: &Arc<Self>) {
        if self.of_row.set(Arc::clone(row)).is_ok() {
            row.sent.fetch_add(self.sent.swap(0, Ordering::Relaxed), Ordering::Relaxed);
            row.received.fetch_add(self.received.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}

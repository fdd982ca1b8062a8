//! The credentials of one session.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ServerConfig};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use zeroize::Zeroizing;

use crate::authority::Authority;
use crate::credential::{self, Credential, Options};
use crate::error::CredentialError;
use crate::hosts::CredentialHost;
use crate::restore::Searches;
use crate::runtime;
use crate::secret::Secret;
use crate::ssh::{SshCredential, SshOptions};
use crate::swap::Written;
use crate::transform::{Transform, TransformOptions};
use crate::trust;
use crate::values::{ValueAnswer, Values};

/// How many connections there are at once. A further one is closed.
const MAX_CONNECTIONS: usize = 256;
/// How many values are kept out of what hosts answer. Each credential has one at a time.
const MAX_KNOWN: usize = 256;
/// How many searches are kept for the next answer. Each has a table of 64 KiB.
const MAX_SEARCHES: usize = 8;
/// How long the host program may take to give a value, or to decide about a use.
pub(crate) const MAX_ASKING: Duration = Duration::from_secs(120);

#[derive(Debug)]
struct Known {
    variable: String,
    placeholder: String,
    value: Secret,
}

/// The credentials of one session, with its certificate authority.
#[derive(Debug)]
pub struct Broker {
    credentials: Vec<Credential>,
    transforms: Vec<Transform>,
    ssh: Vec<SshCredential>,
    authority: Authority,
    provider: Arc<CryptoProvider>,
    trusted: Vec<CertificateDer<'static>>,
    client: OnceCell<Arc<ClientConfig>>,
    source: Arc<dyn Values>,
    /// For each credential, once it is known.
    values: Vec<tokio::sync::Mutex<Option<Secret>>>,
    /// All that were ever known.
    known: Mutex<Vec<Known>>,
    /// What answers were searched for lately, by what was written.
    searches: Mutex<Vec<(Vec<Written>, Arc<Searches>)>>,
    slots: Arc<Semaphore>,
}

impl Broker {
    /// Reads a list, headers that requests get, and SSH keys. `authorities` are certificates in PEM form that hosts are verified by, besides the system's.
    pub fn open(
        credentials: Vec<Options>,
        transforms: &[TransformOptions],
        ssh: Vec<SshOptions>,
        authorities: &[String],
        source: Arc<dyn Values>,
    ) -> Result<Arc<Self>, CredentialError> {
        let credentials = credential::read_all(credentials)?;
        let transforms = transforms.iter().enumerate();
        let transforms = transforms
            .map(|(index, options)| Transform::read(index, options))
            .collect::<Result<Vec<_>, _>>()?;
        let ssh = SshCredential::read_all(ssh)?;
        let trusted = trust::read_authorities(authorities)?;
        let provider = Arc::new(ring::default_provider());
        let hosts = credentials.iter().flat_map(|credential| &credential.hosts);
        let hosts = hosts.chain(transforms.iter().map(|transform| &transform.host));
        let authority =
            Authority::new(hosts.map(CredentialHost::constraint), Arc::clone(&provider))?;
        let values = credentials.iter().map(|one| one.value.clone());
        let values = values.map(tokio::sync::Mutex::new).collect();
        let broker = Self {
            credentials,
            transforms,
            ssh,
            authority,
            provider,
            trusted,
            client: OnceCell::new(),
            source,
            values,
            known: Mutex::default(),
            searches: Mutex::default(),
            slots: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
        };
        for (index, credential) in broker.credentials.iter().enumerate() {
            if let Some(value) = &credential.value {
                broker.know(index, value);
            }
        }
        let mut known = Vec::new();
        for transform in &broker.transforms {
            let variable = transform.names().collect::<Vec<_>>().join(", ");
            known.extend(transform.secrets()?.into_iter().map(|(value, placeholder)| Known {
                variable: variable.clone(),
                placeholder,
                value,
            }));
        }
        broker.known.lock().unwrap_or_else(PoisonError::into_inner).extend(known);
        Ok(Arc::new(broker))
    }

    /// The certificate that commands trust, in PEM form. Only this session's hosts can be signed by it.
    #[must_use]
    pub fn authority(&self) -> &str {
        self.authority.pem()
    }

    /// The variables of commands, with their placeholders; each once.
    #[must_use]
    pub fn placeholders(&self) -> Vec<(&str, &str)> {
        let mut all: Vec<(&str, &str)> = Vec::new();
        for credential in &self.credentials {
            if all.iter().all(|(variable, _)| *variable != credential.variable) {
                all.push((&credential.variable, &credential.placeholder));
            }
        }
        all
    }

    /// The values that are known until now, by the name of their variable: for those who keep them out of texts.
    #[must_use]
    pub fn known(&self) -> Vec<(String, Secret)> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().map(|one| (one.variable.clone(), one.value.clone())).collect()
    }

    /// Whether TLS ends here for a host.
    #[must_use]
    pub fn ends_tls(&self, host: &str, port: u16) -> bool {
        self.credentials.iter().any(|credential| credential.is_for(host, port))
            || self.transforms_of(host, port).next().is_some()
    }

    /// Room for one more connection. `None`: there are too many.
    pub(crate) fn slot(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.slots).try_acquire_owned().ok()
    }

    pub(crate) fn transforms_of(&self, host: &str, port: u16) -> impl Iterator<Item = &Transform> {
        self.transforms.iter().filter(move |one| one.host.is(host, port))
    }

    pub(crate) fn credential(&self, index: usize) -> &Credential {
        &self.credentials[index]
    }

    pub(crate) fn of_host(
        &self,
        host: &str,
        port: u16,
    ) -> impl Iterator<Item = (usize, &Credential)> {
        self.credentials.iter().enumerate().filter(move |(_, one)| one.is_for(host, port))
    }

    pub(crate) fn server(&self, host: &str) -> Option<Arc<ServerConfig>> {
        self.authority.server(host).ok()
    }

    pub(crate) async fn client(&self) -> Result<Arc<ClientConfig>, CredentialError> {
        let make = || async {
            let (trusted, provider) = (self.trusted.clone(), Arc::clone(&self.provider));
            let made = runtime::blocking(move || trust::client(&trusted, provider)).await;
            made.unwrap_or_else(|| Err(CredentialError::NoRoots("the reader failed".to_owned())))
        };
        self.client.get_or_try_init(make).await.map(Arc::clone)
    }

    /// The value of a credential, which is asked for once. `None`: there is none now.
    pub(crate) async fn value(&self, index: usize) -> Option<Secret> {
        // Whoever comes meanwhile waits for the same answer.
        let mut known = self.values.get(index)?.lock().await;
        if let Some(value) = &*known {
            return Some(value.clone());
        }
        let value = Secret::new(self.ask(index).await?)?;
        *known = Some(value.clone());
        self.know(index, &value);
        Some(value)
    }

    async fn ask(&self, index: usize) -> Option<Zeroizing<String>> {
        let (answer, given) = ValueAnswer::new();
        self.source.ask(index, answer);
        timeout(MAX_ASKING, given).await.ok()?.ok()
    }

    pub(crate) fn ssh(&self) -> &[SshCredential] {
        &self.ssh
    }

    /// The text of an SSH key.
    pub(crate) async fn asked_key(&self, index: usize) -> Option<Zeroizing<String>> {
        self.ask(self.credentials.len() + index).await
    }

    fn know(&self, index: usize, value: &Secret) {
        let credential = &self.credentials[index];
        // In the order in which they are read.
        let mut searches = self.searches.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.iter().any(|one| one.value == *value) {
            return;
        }
        if known.len() >= MAX_KNOWN {
            // Of a value that was replaced long ago no host should make use.
            known.remove(0);
        }
        let (variable, placeholder) = (credential.variable.clone(), credential.placeholder.clone());
        known.push(Known { variable, placeholder, value: value.clone() });
        searches.clear();
    }

    /// The host has refused a value: the next use asks for another one, if the host program gives values.
    pub(crate) async fn forget(&self, index: usize) {
        if self.credentials[index].value.is_none() {
            *self.values[index].lock().await = None;
        }
    }

    /// All values until now, and what was written of them.
    pub(crate) fn searches(&self, written: Vec<Written>) -> Arc<Searches> {
        let mut searches = self.searches.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, made)) = searches.iter().find(|(other, _)| *other == written) {
            return Arc::clone(made);
        }
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let pairs = known.iter().map(|one| (one.value.expose(), &*one.placeholder));
        let own = written.iter().map(|(sent, own)| (&***sent, &**own));
        let made = Arc::new(Searches::new(own.chain(pairs)));
        if searches.len() >= MAX_SEARCHES {
            searches.remove(0);
        }
        searches.push((written, Arc::clone(&made)));
        made
    }
}

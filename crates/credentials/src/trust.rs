//! What the host process trusts when it connects to the host of a credential.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore, crypto};

use crate::error::CredentialError;

/// Reads the certificates of the host program.
pub(crate) fn read_authorities(
    texts: &[String],
) -> Result<Vec<CertificateDer<'static>>, CredentialError> {
    let mut all = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
        let read = read.ok().filter(|read| !read.is_empty());
        let read = read.ok_or(CredentialError::Authority { index })?;
        let mut store = RootCertStore::empty();
        if store.add_parsable_certificates(read.iter().cloned()).0 < read.len() {
            return Err(CredentialError::Authority { index });
        }
        all.extend(read);
    }
    Ok(all)
}

/// Verifies hosts by the certificates of the system, and these.
pub(crate) fn client(
    authorities: &[CertificateDer<'static>],
    provider: Arc<crypto::CryptoProvider>,
) -> Result<Arc<ClientConfig>, CredentialError> {
    let mut roots = RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    // A file of them often has one that no reader takes.
    roots.add_parsable_certificates(native.certs);
    roots.add_parsable_certificates(authorities.iter().cloned());
    if roots.is_empty() {
        let error = native.errors.first().map_or("none were found".to_owned(), ToString::to_string);
        return Err(CredentialError::NoRoots(error));
    }
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| CredentialError::Certificate(error.to_string()))?
        .with_root_certificates(roots);
    let mut config = config.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

//! The certificate authority of a session. Its key is in this memory and nowhere else, and it can sign for the
//! hosts of the credentials alone.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DnType, ExtendedKeyUsagePurpose,
    GeneralSubtree, IsCa, Issuer, KeyPair, KeyUsagePurpose, NameConstraints,
    PKCS_ECDSA_P256_SHA256,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{CipherSuite, ServerConfig, crypto};

use crate::error::CredentialError;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long it is valid. The host process ends before.
const LIFE: Duration = DAY.saturating_mul(730);
/// How long a host's certificate is valid, and when another one is made.
const LIFE_OF_HOST: Duration = DAY.saturating_mul(90);
const RENEWED_AFTER: Duration = DAY.saturating_mul(30);

pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    certificate: CertificateDer<'static>,
    provider: Arc<crypto::CryptoProvider>,
    hosts: Mutex<HashMap<String, (Instant, Arc<ServerConfig>)>>,
}

impl fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Authority")
    }
}

impl Authority {
    /// One that signs for these names, and what is below them.
    pub(crate) fn new<'n>(
        names: impl Iterator<Item = &'n str>,
        provider: Arc<crypto::CryptoProvider>,
    ) -> Result<Self, CredentialError> {
        let mut permitted: Vec<String> = names.map(str::to_owned).collect();
        permitted.sort_unstable();
        permitted.dedup();
        if permitted.is_empty() {
            // A list of none would permit all.
            permitted.push("invalid".to_owned());
        }
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(|e| failed(&e))?;
        let mut params = params(LIFE)?;
        params
            .distinguished_name
            .push(DnType::CommonName, "toolwright: credentials of one session");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.name_constraints = Some(NameConstraints {
            permitted_subtrees: permitted.into_iter().map(GeneralSubtree::DnsName).collect(),
            // A kind of name without a constraint would be permitted, so every address is excluded.
            excluded_subtrees: vec![
                GeneralSubtree::IpAddress(CidrSubnet::V4([0; 4], [0; 4])),
                GeneralSubtree::IpAddress(CidrSubnet::V6([0; 16], [0; 16])),
            ],
        });
        let certificate = params.self_signed(&key).map_err(|error| failed(&error))?;
        let (pem, certificate) = (certificate.pem(), certificate.der().clone());
        let issuer = Issuer::new(params, key);
        Ok(Self { issuer, pem, certificate, provider, hosts: Mutex::default() })
    }

    /// Its certificate.
    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// What ends TLS for a host.
    pub(crate) fn server(&self, host: &str) -> Result<Arc<ServerConfig>, CredentialError> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((made, config)) = hosts.get(host)
            && made.elapsed() < RENEWED_AFTER
        {
            return Ok(Arc::clone(config));
        }
        let config = Arc::new(self.make_server(host)?);
        hosts.insert(host.to_owned(), (Instant::now(), Arc::clone(&config)));
        Ok(config)
    }

    fn make_server(&self, host: &str) -> Result<ServerConfig, CredentialError> {
        // Each has a key of its own, so that no two of one issuer have one serial number.
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(|e| failed(&e))?;
        let mut params = params(LIFE_OF_HOST)?;
        let name = host.to_owned().try_into().map_err(|error| failed(&error))?;
        params.subject_alt_names = vec![rcgen::SanType::DnsName(name)];
        params.distinguished_name.push(DnType::CommonName, "toolwright: a host of one session");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let signed = params.signed_by(&key, &self.issuer).map_err(|error| failed(&error))?;
        let chain = vec![signed.der().clone(), self.certificate.clone()];
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let key =
            CertifiedKey::from_der(chain, key, &self.provider).map_err(|error| failed(&error))?;
        let names = OneName { host: host.to_owned(), key: Arc::new(key) };
        // Between two processes of one machine the cheapest cipher is as good as any.
        let mut provider = crypto::CryptoProvider::clone(&self.provider);
        provider.cipher_suites.sort_by_key(|suite| !is_cheapest(suite.suite()));
        let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(&error))?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(names));
        config.ignore_client_order = true;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

fn is_cheapest(suite: CipherSuite) -> bool {
    use CipherSuite as Suite;
    matches!(
        suite,
        Suite::TLS13_AES_128_GCM_SHA256
            | Suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
            | Suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
    )
}

fn params(life: Duration) -> Result<CertificateParams, CredentialError> {
    let mut params = CertificateParams::new(Vec::new()).map_err(|error| failed(&error))?;
    let now = SystemTime::now();
    (params.not_before, params.not_after) = ((now - DAY).into(), (now + life).into());
    params.distinguished_name = rcgen::DistinguishedName::new();
    Ok(params)
}

fn failed(error: &dyn fmt::Display) -> CredentialError {
    CredentialError::Certificate(error.to_string())
}

/// Has a certificate for the name that was connected to, and for no other that TLS may ask for.
#[derive(Debug)]
struct OneName {
    host: String,
    key: Arc<CertifiedKey>,
}

impl ResolvesServerCert for OneName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let is_own = hello.server_name().is_none_or(|name| name.eq_ignore_ascii_case(&self.host));
        is_own.then(|| Arc::clone(&self.key))
    }
}

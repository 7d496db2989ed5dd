//! TLS 1.2/1.3: an acceptor from a certificate and its key, and a self-signed certificate for servers
//! without another one.

use crate::{StartError, TlsConfig};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
use sha2::{Digest, Sha256};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::ServerCertVerifier;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{self, RootCertStore, ServerConfig};

/// Reads the certificate and key files of a configuration.
///
/// # Errors
/// [`StartError::Tls`], with the path of the file.
pub(crate) fn acceptor(config: &TlsConfig) -> Result<TlsAcceptor, StartError> {
    let wrong = |file: &Path, why: String| StartError::Tls { file: file.to_owned(), why };
    let in_cert = |e: &dyn std::fmt::Display| wrong(&config.cert, e.to_string());
    let chain = CertificateDer::pem_file_iter(&config.cert)
        .map_err(|e| in_cert(&e))?
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| in_cert(&e))?;
    if chain.is_empty() {
        return Err(in_cert(&"no certificate in PEM form (-----BEGIN CERTIFICATE-----)"));
    }
    if is_of_authority(&chain) {
        return Err(in_cert(&AUTHORITY));
    }
    let key = PrivateKeyDer::from_pem_file(&config.key).map_err(|e| wrong(&config.key, e.to_string()))?;
    accept(chain, key).map_err(|e| wrong(&config.key, e.to_string()))
}

/// Error text for a certificate as `openssl req -x509` makes it, and the fix.
const AUTHORITY: &str = "this is the certificate of an authority (CA:TRUE), which clients refuse for a server; make \
     a server certificate with `openssl req -x509 -newkey rsa:2048 -nodes -days 365 -keyout key.pem -out cert.pem \
     -subj /CN=localhost -addext basicConstraints=critical,CA:FALSE -addext \
     subjectAltName=DNS:localhost,IP:127.0.0.1`, or let `sotto serve --self-signed` make one";

/// The acceptor for a self-signed certificate of the server.
///
/// # Errors
/// [`StartError::Settings`], which does not happen for a certificate that the server has made.
pub(crate) fn own(own: &SelfSignedCertificate) -> Result<TlsAcceptor, StartError> {
    let wrong = |e: &dyn std::fmt::Display| StartError::Settings(format!("the self-signed certificate: {e}"));
    let (cert, key) = own.parts();
    let chain = vec![CertificateDer::from_pem_slice(cert).map_err(|e| wrong(&e))?];
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|e| wrong(&e))?;
    accept(chain, key).map_err(|e| wrong(&e))
}

fn accept(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<TlsAcceptor, rustls::Error> {
    // The provider is named, not looked up: another crate may choose another process-wide default.
    let mut server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(server)))
}

/// Whether clients will refuse the certificate because it is an authority's, which a client that
/// trusts this very certificate decides. Other faults are left to real clients.
fn is_of_authority(chain: &[CertificateDer<'static>]) -> bool {
    let Some((own, others)) = chain.split_first() else { return false };
    let mut roots = RootCertStore::empty();
    if roots.add(own.clone()).is_err() {
        return false;
    }
    let client =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::new(ring::default_provider()));
    let (Ok(client), Ok(name)) = (client.build(), ServerName::try_from("localhost")) else { return false };
    let verdict = client.verify_server_cert(own, others, &name, &[], UnixTime::now());
    verdict.is_err_and(|error| format!("{error:?}").contains("CaUsedAsEndEntity"))
}

/// A self-signed certificate of the server, which a client trusts by its PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelfSignedCertificate {
    /// PEM text with which a client trusts the certificate, with `--trust-root FILE`.
    pub pem: String,
    /// SHA-256 of the certificate, as `openssl x509 -fingerprint -sha256` prints it.
    pub fingerprint: String,
    /// Files of the certificate, if it is stored.
    pub files: Option<TlsConfig>,
    key: String,
}

impl SelfSignedCertificate {
    /// Makes a certificate for `names` and this machine's own names, or loads the one in `state`,
    /// where a new one is stored too.
    ///
    /// # Errors
    /// [`StartError::Settings`] for an invalid name, [`StartError::State`].
    pub(crate) fn have(names: &[String], listen: IpAddr, state: Option<&Path>) -> Result<Self, StartError> {
        let files =
            state.map(|dir| TlsConfig { cert: dir.join("own-cert.pem"), key: dir.join("own-key.pem") });
        if let Some(files) = files.as_ref().filter(|files| files.cert.exists() && files.key.exists()) {
            let read = |path: &Path| std::fs::read_to_string(path).map_err(|error| lost(path, &error));
            return SelfSignedCertificate::of(read(&files.cert)?, read(&files.key)?, Some(files.clone()));
        }
        let wrong = |error: rcgen::Error| {
            let fix = "give names and addresses as clients write them, separated by commas";
            StartError::Settings(format!(
                "no certificate can be made for {}: {error}; {fix}",
                names.join(", ")
            ))
        };
        let mut all = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
        all.extend((!listen.is_unspecified()).then(|| listen.to_string()));
        all.extend(names.iter().cloned());
        all.sort_unstable();
        all.dedup();
        let mut params = CertificateParams::new(all).map_err(wrong)?;
        params.distinguished_name.push(DnType::CommonName, "sotto serve");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate().map_err(wrong)?;
        let (pem, key) = (params.self_signed(&key).map_err(wrong)?.pem(), key.serialize_pem());
        if let (Some(files), Some(dir)) = (&files, state) {
            let write = |path: &Path, text: &str, mode| {
                let open =
                    std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path);
                open.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| lost(path, &error))
            };
            sotto_private_folder::create_private(dir).map_err(|error| lost(dir, &error))?;
            write(&files.key, &key, 0o600)?;
            write(&files.cert, &pem, 0o644)?;
        }
        SelfSignedCertificate::of(pem, key, files)
    }

    fn of(pem: String, key: String, files: Option<TlsConfig>) -> Result<Self, StartError> {
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| {
            let path = files.as_ref().map(|files| files.cert.clone()).unwrap_or_default();
            lost(&path, &io::Error::other(error.to_string()))
        })?;
        let bytes: Vec<_> = Sha256::digest(&der).iter().map(|byte| format!("{byte:02X}")).collect();
        Ok(SelfSignedCertificate { pem, fingerprint: bytes.join(":"), files, key })
    }

    /// Certificate and private key, in PEM.
    pub(super) fn parts(&self) -> (&[u8], &[u8]) {
        (self.pem.as_bytes(), self.key.as_bytes())
    }
}

fn lost(path: &Path, error: &io::Error) -> StartError {
    let fix =
        "delete own-cert.pem and own-key.pem there to have a new certificate made, and give it to clients";
    StartError::State { path: path.to_owned(), why: error.to_string(), fix }
}

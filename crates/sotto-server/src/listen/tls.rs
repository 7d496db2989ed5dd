//! A TLS 1.2/1.3 acceptor from a certificate and its key.

use super::self_signed::SelfSignedCertificate;
use crate::{StartError, TlsConfig};
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::ServerCertVerifier;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{self, RootCertStore, ServerConfig, crypto::ring};

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
    let said = client.verify_server_cert(own, others, &name, &[], UnixTime::now());
    said.is_err_and(|error| format!("{error:?}").contains("CaUsedAsEndEntity"))
}

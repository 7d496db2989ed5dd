//! Certificate and key, and a TLS 1.2/1.3 acceptor from them.

use crate::{StartError, TlsConfig};
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto::ring};

/// Reads the files of a configuration.
///
/// # Errors
/// [`StartError::Tls`], naming the file.
pub(crate) fn acceptor(config: &TlsConfig) -> Result<TlsAcceptor, StartError> {
    let wrong = |file: &Path, why: String| StartError::Tls { file: file.to_owned(), why };
    let in_cert = |e: &dyn std::fmt::Display| wrong(&config.cert, e.to_string());
    let chain = CertificateDer::pem_file_iter(&config.cert)
        .map_err(|e| in_cert(&e))?
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| in_cert(&e))?;
    if chain.is_empty() {
        return Err(in_cert(&"there is no certificate in it; it should be PEM, -----BEGIN CERTIFICATE-----"));
    }
    let key = PrivateKeyDer::from_pem_file(&config.key).map_err(|e| wrong(&config.key, e.to_string()))?;
    // The provider is named, not looked up: another crate's choice of a process-wide default is not ours.
    let mut server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| in_cert(&e))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|e| wrong(&config.key, e.to_string()))?;
    server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(server)))
}

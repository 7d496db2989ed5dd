//! A self-signed certificate, for servers without another one.

use crate::StartError;
use crate::config::TlsConfig;
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
use sha2::{Digest, Sha256};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

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

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};
use rustls::{ClientConfig, RootCertStore};

/// A file of own certificates that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CaFileError {
    #[error("`{path}` cannot be read as certificates in PEM form")]
    Unreadable {
        path: PathBuf,
        #[source]
        source: pem::Error,
    },
    #[error("`{path}` holds no certificate")]
    Empty { path: PathBuf },
    #[error("`{path}` holds a certificate that cannot be trusted")]
    Unusable {
        path: PathBuf,
        #[source]
        source: rustls::Error,
    },
}

/// Trusts the roots of Mozilla, compiled in, so that a machine without certificates of its own works; and those of the
/// file besides.
pub(super) fn client_config(ca_file: Option<&Path>) -> Result<ClientConfig, CaFileError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cloned());
    if let Some(path) = ca_file {
        let certificates = read(path).map_err(|source| CaFileError::Unreadable { path: path.to_owned(), source })?;
        if certificates.is_empty() {
            return Err(CaFileError::Empty { path: path.to_owned() });
        }
        for certificate in certificates {
            roots.add(certificate).map_err(|source| CaFileError::Unusable { path: path.to_owned(), source })?;
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring serves the default protocol versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, pem::Error> {
    CertificateDer::pem_file_iter(path)?.collect()
}

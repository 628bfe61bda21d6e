//! TLS: the certificate by which clients on other machines know the daemon.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cmux_core::settings::TlsFiles;
pub use tokio_rustls::Accept;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::ServerConfig;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{Error, InconsistentKeys};
pub use tokio_rustls::server::TlsStream;

use crate::private::{self, PrivateError};

/// The longest certificate with its chain that is read, in bytes.
const CHAIN_MAX: u64 = 1 << 20;

/// The one protocol that is spoken inside.
const HTTP: &[u8] = b"http/1.1";

/// Why the daemon cannot be known by its certificate.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("the certificate {} cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(
        "there is no certificate in {}: it must be PEM, the daemon's own first and then those above it",
        path.display()
    )]
    NoCertificate { path: PathBuf },
    #[error("the key of the certificate: {0}")]
    Key(#[from] PrivateError),
    #[error(
        "there is no private key in {}: it must be PEM, and not be locked by a passphrase",
        path.display()
    )]
    NoKey { path: PathBuf },
    #[error(
        "the key {} does not fit the certificate {}: one of them is another's",
        key.display(),
        cert.display()
    )]
    Mismatch { cert: PathBuf, key: PathBuf },
    #[error("the certificate {} cannot be used: {why}", path.display())]
    Unusable { path: PathBuf, why: String },
}

/// Takes what a client of another machine says under TLS.
#[derive(Clone)]
pub struct Acceptor {
    acceptor: TlsAcceptor,
}

impl fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Acceptor(…)")
    }
}

impl Acceptor {
    /// Reads the certificate and its key.
    pub fn load(files: &TlsFiles) -> Result<Acceptor, TlsError> {
        let config = server_config(files)?;
        Ok(Acceptor { acceptor: TlsAcceptor::from(Arc::new(config)) })
    }

    /// Shakes hands with the client behind `stream`. Whoever waits for it sets how long it may take.
    pub fn accept<S>(&self, stream: S) -> Accept<S>
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    {
        self.acceptor.accept(stream)
    }
}

/// Returns how TLS is spoken: 1.2 or 1.3, and HTTP/1.1 inside.
pub fn server_config(files: &TlsFiles) -> Result<ServerConfig, TlsError> {
    let (chain, key) = (read_chain(&files.cert)?, read_key(&files.key)?);
    let unusable = |why: String| TlsError::Unusable { path: files.cert.clone(), why };
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13, &TLS12])
        .map_err(|error| unusable(error.to_string()))?;
    let mut config =
        builder.with_no_client_auth().with_single_cert(chain, key).map_err(|error| {
            if error == Error::InconsistentKeys(InconsistentKeys::KeyMismatch) {
                TlsError::Mismatch { cert: files.cert.clone(), key: files.key.clone() }
            } else {
                unusable(error.to_string())
            }
        })?;
    config.alpn_protocols = vec![HTTP.to_vec()];
    Ok(config)
}

/// Returns the certificates in the file at `path`, the daemon's own first.
fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let unreadable = |source| TlsError::Unreadable { path: path.to_owned(), source };
    if fs::metadata(path).map_err(unreadable)?.len() > CHAIN_MAX {
        return Err(unreadable(io::Error::other("it is longer than 1 MiB")));
    }
    let pem = fs::read(path).map_err(unreadable)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    chain
        .ok()
        .filter(|chain| !chain.is_empty())
        .ok_or_else(|| TlsError::NoCertificate { path: path.to_owned() })
}

/// Returns the key in the file at `path`, which nobody else may be able to read.
fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let pem = private::read(path)?;
    PrivateKeyDer::from_pem_slice(pem.as_bytes())
        .map_err(|_| TlsError::NoKey { path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use tokio::net::UnixStream;
    use tokio_rustls::TlsConnector;
    use tokio_rustls::rustls::{
        ClientConfig, ProtocolVersion, RootCertStore, SupportedProtocolVersion,
    };

    use super::*;

    /// Of `localhost`, signed by itself, for a hundred years; and its key, and another.
    const CERT: &str = include_str!("../tests/tls/cert.pem");
    const KEY: &str = include_str!("../tests/tls/key.pem");
    const OTHER_KEY: &str = include_str!("../tests/tls/other-key.pem");

    #[test]
    fn a_client_that_knows_the_certificate_shakes_hands() {
        let folder = tempfile::tempdir().unwrap();
        let acceptor = Acceptor::load(&files(folder.path(), CERT, KEY)).unwrap();
        for (version, expected) in
            [(&TLS13, ProtocolVersion::TLSv1_3), (&TLS12, ProtocolVersion::TLSv1_2)]
        {
            let (alpn, spoken) = shake(&acceptor, &[b"h2", HTTP], version).unwrap();
            assert_eq!((alpn.as_deref(), spoken), (Some(HTTP), Some(expected)));
        }
        assert!(shake(&acceptor, &[b"h2"], &TLS13).is_err(), "only HTTP/1.1 is spoken");
        assert_eq!(format!("{acceptor:?}"), "Acceptor(…)");
    }

    #[test]
    fn what_is_wrong_with_the_files_is_told() {
        check(CERT, OTHER_KEY, "key.pem does not fit the certificate");
        check("", KEY, "there is no certificate in");
        check(KEY, KEY, "there is no certificate in");
        check(&CERT.replace('M', "%"), KEY, "there is no certificate in");
        check(CERT, "", "there is no private key in");
        check(CERT, CERT, "there is no private key in");
        check(CERT, &KEY.replace("PRIVATE", "ENCRYPTED PRIVATE"), "there is no private key in");
        let nonsense = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        check(nonsense, KEY, "cert.pem cannot be used: ");
    }

    #[test]
    fn files_that_are_not_there_or_not_private_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path(), CERT, KEY);
        fs::set_permissions(&files.key, Permissions::from_mode(0o644)).unwrap();
        told(&files, "key.pem can be read by others (mode 644)");
        fs::remove_file(&files.key).unwrap();
        told(&files, "key.pem cannot be read: No such file");
        fs::remove_file(&files.cert).unwrap();
        told(&files, "cert.pem cannot be read: No such file");
        fs::write(&files.cert, vec![b'x'; 2 << 20]).unwrap();
        told(&files, "it is longer than 1 MiB");
    }

    #[track_caller]
    fn check(cert: &str, key: &str, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        told(&files(folder.path(), cert, key), expected);
    }

    #[track_caller]
    fn told(files: &TlsFiles, expected: &str) {
        let told = Acceptor::load(files).unwrap_err().to_string();
        assert!(told.contains(expected), "{told}");
    }

    fn files(folder: &Path, cert: &str, key: &str) -> TlsFiles {
        let files = TlsFiles { cert: folder.join("cert.pem"), key: folder.join("key.pem") };
        fs::write(&files.cert, cert).unwrap();
        fs::write(&files.key, key).unwrap();
        fs::set_permissions(&files.key, Permissions::from_mode(0o600)).unwrap();
        files
    }

    type Spoken = (Option<Vec<u8>>, Option<ProtocolVersion>);

    /// Shakes hands as a client that offers `protocols` and speaks only `version`, and returns what
    /// was agreed on.
    fn shake(
        acceptor: &Acceptor,
        protocols: &[&[u8]],
        version: &'static SupportedProtocolVersion,
    ) -> io::Result<Spoken> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(CERT.as_bytes()).unwrap()).unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|it| it.to_vec()).collect();
        let connector = TlsConnector::from(Arc::new(config));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let name = "localhost".try_into().unwrap();
            let (server, client) =
                tokio::join!(acceptor.accept(ours), connector.connect(name, theirs));
            let (_, client) = (server?, client?);
            let (_, session) = client.get_ref();
            Ok((session.alpn_protocol().map(<[u8]>::to_vec), session.protocol_version()))
        })
    }
}

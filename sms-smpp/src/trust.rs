//! The certificate authorities that a TLS connection trusts.

use std::fmt;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, TrustAnchor};

/// Root certificates. The SMSC's certificate must chain to one of them.
#[derive(Clone, PartialEq, Eq)]
pub struct Roots(Vec<TrustAnchor<'static>>);

/// Why a file does not hold root certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.problem())]
pub enum BadRoots {
    /// It holds no certificate.
    Empty,
    /// It holds a certificate that cannot be parsed.
    Unreadable,
}

impl BadRoots {
    /// What is wrong with the file, as the rest of a sentence that names it.
    pub fn problem(self) -> &'static str {
        match self {
            Self::Empty => "holds no certificate in PEM",
            Self::Unreadable => "holds a certificate that cannot be read",
        }
    }
}

impl Roots {
    /// The public authorities, which websites use.
    pub fn public() -> Self {
        Self(webpki_roots::TLS_SERVER_ROOTS.to_vec())
    }

    /// Only the authorities in a PEM file.
    ///
    /// # Errors
    ///
    /// When the file holds no certificate, or one that cannot be parsed.
    pub fn from_pem(file: &[u8]) -> Result<Self, BadRoots> {
        let mut store = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(file) {
            let certificate = certificate.map_err(|_| BadRoots::Unreadable)?;
            store.add(certificate).map_err(|_| BadRoots::Unreadable)?;
        }
        if store.is_empty() { Err(BadRoots::Empty) } else { Ok(Self(store.roots)) }
    }

    /// The roots, as rustls takes them.
    pub(crate) fn store(&self) -> RootCertStore {
        RootCertStore { roots: self.0.clone() }
    }
}

impl fmt::Debug for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Roots({})", self.0.len())
    }
}

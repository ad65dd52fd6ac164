//! Which authorities may vouch for a peer over TLS.

use std::fmt;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, TrustAnchor};

/// The certificates of authorities: one of them must stand behind the peer's own.
#[derive(Clone, PartialEq, Eq)]
pub struct Roots(Vec<TrustAnchor<'static>>);

/// Why a file is none of authorities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.problem())]
pub enum BadRoots {
    /// There is none in it.
    Empty,
    /// One cannot be read.
    Unreadable,
}

impl BadRoots {
    /// What is wrong with the file, for people.
    pub fn problem(self) -> &'static str {
        match self {
            Self::Empty => "holds no certificate in PEM",
            Self::Unreadable => "holds a certificate that cannot be read",
        }
    }
}

impl Roots {
    /// The public ones, which vouch for websites.
    pub fn public() -> Self {
        Self(webpki_roots::TLS_SERVER_ROOTS.to_vec())
    }

    /// Those in a PEM file, and no others.
    ///
    /// # Errors
    ///
    /// When there is none in it, or one that cannot be read.
    pub fn from_pem(file: &[u8]) -> Result<Self, BadRoots> {
        let mut store = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(file) {
            let certificate = certificate.map_err(|_| BadRoots::Unreadable)?;
            store.add(certificate).map_err(|_| BadRoots::Unreadable)?;
        }
        if store.is_empty() { Err(BadRoots::Empty) } else { Ok(Self(store.roots)) }
    }

    /// What a connection needs to know of them.
    pub(crate) fn store(&self) -> RootCertStore {
        RootCertStore { roots: self.0.clone() }
    }
}

impl fmt::Debug for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Roots({})", self.0.len())
    }
}

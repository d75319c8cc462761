//! Identities of a running server: who presents what, whose rights are gone, and whether there are identities at all.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::Path,
    sync::{
        Arc, LazyLock, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Instant, SystemTime},
};

use crate::{
    Caller, DEFAULT_NAMESPACE, Grants, InvalidPrincipal, Issuer, Loan, Policy, Principal, Quota,
    QuotaExceeded, StreamEnd, StreamPermit, Token, TokenHash, TokenRecord, TokenStore,
    audit::Audit,
    meter::{Meter, Meters},
    oidc::{VerifiedToken, VerifiedTokens},
    private_files::{make_folder, write_private},
    sessions::{SessionKey, Sessions},
    store::{Mark, now},
    streams::{Ending, Streams},
};

mod admitting;
mod presenting;
mod reading;
mod rights;
mod sources;
mod unknown;

use self::reading::{own_token, read, reread, stamps};
pub use self::{
    reading::ReadError,
    sources::{NameSources, Sources},
};

/// Principal of the server's own parts, and of the processes that it starts.
const SELF: &str = "agenthub";

/// Principal of a caller that has presented nothing where nothing is needed.
const NOBODY_NAME: &str = "nobody";

/// The credential that a caller presents.
#[derive(Clone, Copy, Debug)]
pub enum Credential<'a> {
    /// Nothing.
    None,
    /// The value of an `authorization` header.
    Authorization(&'a str),
    /// The name in a client certificate that was verified.
    Certificate(&'a str),
    /// The session of somebody who has logged in with a browser.
    Session(&'a str),
    /// A caller that was let in before, in whose name a part of the server's own process calls.
    Admitted(&'a Admitted),
    /// A call of the server's own process, from a part of this namespace.
    ThisProcess(&'a str),
}

/// A call that is refused before it is looked at.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// Nobody is known by what was presented.
    #[error("{0}")]
    Unauthenticated(String),
    /// The caller may not do this.
    #[error("{0}")]
    PermissionDenied(String),
    /// Nothing can be said of what was presented now; it can soon.
    #[error("{0}")]
    Unavailable(String),
}

/// A caller that was let in, with what it was let in with.
#[derive(Clone, Debug)]
pub struct Admitted {
    /// The caller.
    pub caller: Arc<Caller>,
    pub(crate) shown: Shown,
    pub(crate) session: Option<SessionKey>,
}

/// The credential that a caller was let in with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// None, where none is needed, or as a part of the server.
    Nothing,
    /// A certificate, whose rights are those of its name.
    Certificate,
    /// A token of the hub.
    Issued { id: Arc<str>, hash: TokenHash },
    /// A token of an issuer elsewhere.
    Verified(Arc<VerifiedToken>),
}

impl Admitted {
    /// A caller without any right, for what needs none.
    pub fn nobody() -> Self {
        static NOBODY: LazyLock<Arc<Caller>> = LazyLock::new(|| {
            Arc::new(Caller::with(
                NOBODY_NAME,
                DEFAULT_NAMESPACE,
                Grants::default(),
            ))
        });
        Self::new(Arc::clone(&NOBODY), Shown::Nothing)
    }

    fn new(caller: Arc<Caller>, shown: Shown) -> Self {
        Self {
            caller,
            shown,
            session: None,
        }
    }
}

/// Identities of a server. Clones are the same.
#[derive(Clone, Debug)]
pub struct Identities(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Nobody needs an identity.
    is_open: AtomicBool,
    /// A quota of the policy limits what waits in mailboxes.
    limits_mailboxes: AtomicBool,
    sources: Sources,
    own_token: Token,
    own_hash: TokenHash,
    own: Arc<Caller>,
    known: RwLock<Arc<Known>>,
    /// Stamps of the files that were read last.
    stamps: Mutex<[Stamp; 2]>,
    streams: Streams,
    issuers: Vec<Issuer>,
    verified: VerifiedTokens,
    sessions: Sessions,
    audit: Option<Audit>,
    meters: Meters,
}

/// All that was read from the sources.
#[derive(Debug, Default)]
struct Known {
    by_head: HashMap<u64, Vec<Bearer>>,
    /// Heads of the tokens of each principal.
    heads: HashMap<Principal, Vec<u64>>,
    policy: Policy,
    /// Rights of principals on whose behalf others act, and when they were computed.
    rights: Mutex<HashMap<String, RightsByName>>,
}

#[derive(Debug)]
struct Bearer {
    record: TokenRecord,
    id: Arc<str>,
    caller: Arc<Caller>,
}

/// Rights of principals by name, each with the time at which they were looked up.
type RightsByName = HashMap<String, (Instant, Arc<Caller>)>;

/// The mark that tells one version of a file from another without reading it.
type Stamp = Option<(SystemTime, u64, u64)>;

impl Identities {
    /// Identities of these sources. A server without sources never has any.
    ///
    /// # Errors
    ///
    /// One of them cannot be read, or is wrong: it would not be safe to begin without it.
    pub fn open(sources: Sources) -> Result<Self, ReadError> {
        let own_token = own_token(sources.own_token.as_deref()).map_err(ReadError::OwnToken)?;
        let stamps = stamps(&sources);
        let (known, is_open) = read(&sources, None)?;
        let issuers = sources.issuers.iter().cloned().map(Issuer::new);
        let issuers = issuers.collect::<Result<_, _>>()?;
        let audit = sources.audit.as_ref().map(|settings| {
            Audit::open(settings.clone()).map_err(|why| ReadError::Audit {
                folder: settings.folder.clone(),
                why,
            })
        });
        let audit = audit.transpose()?;
        Ok(Self(Arc::new(Inner {
            audit,
            meters: Meters::default(),
            is_open: AtomicBool::new(is_open),
            limits_mailboxes: AtomicBool::new(known.policy.quotas.limit_mailboxes()),
            own_hash: own_token.hash(),
            own_token,
            own: Arc::new(Caller::unrestricted(SELF)),
            known: RwLock::new(Arc::new(known)),
            stamps: Mutex::new(stamps),
            streams: Streams::default(),
            issuers,
            verified: VerifiedTokens::default(),
            sessions: Sessions::default(),
            sources,
        })))
    }

    /// No identities, for ever.
    ///
    /// # Panics
    ///
    /// Panics if the system has no randomness.
    pub fn none() -> Self {
        Self::open(Sources::default()).expect("without files nothing can fail but randomness")
    }

    /// True while nobody needs an identity: no token was ever issued, and no policy is set.
    pub fn is_open(&self) -> bool {
        self.0.is_open.load(Ordering::Acquire)
    }

    /// The token of the server's own parts and of processes that it starts. While nobody needs an identity it is not looked at.
    pub fn own_token(&self) -> &Token {
        &self.0.own_token
    }

    /// Writes it into its file, if it is not there yet, and keeps beside the tokens that there are identities. Only the server whose folder it is
    /// may do that.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn keep_own_token(&self) -> std::io::Result<()> {
        self.keep_mark()?;
        let Some(file) = self.own_token_file() else {
            return Ok(());
        };
        let token = self.own_token().secret();
        if fs::read_to_string(file).is_ok_and(|kept| kept.trim() == token) {
            return Ok(());
        }
        if let Some(folder) = file.parent() {
            make_folder(folder)?;
        }
        write_private(file, format!("{token}\n").as_bytes())
    }

    fn keep_mark(&self) -> std::io::Result<()> {
        let Some(tokens) = self.0.sources.tokens.as_ref().filter(|_| !self.is_open()) else {
            return Ok(());
        };
        let mark = match self.known().by_head.is_empty() {
            true => Mark::Others,
            false => Mark::Tokens,
        };
        let marked = TokenStore::at(tokens).mark(mark);
        marked.map_err(std::io::Error::other)
    }

    /// The file that holds it, for processes that the server starts.
    pub fn own_token_file(&self) -> Option<&Path> {
        self.0.sources.own_token.as_deref()
    }

    /// Use of the caller's quotas.
    pub fn meter(&self, caller: &Caller) -> Meter {
        self.0.meters.of(caller)
    }

    /// True if some quota limits what waits in mailboxes; it costs a load.
    pub fn limits_mailboxes(&self) -> bool {
        self.0.limits_mailboxes.load(Ordering::Acquire)
    }

    /// Quota of all principals of a namespace together.
    pub fn namespace_quota(&self, namespace: &str) -> Quota {
        let known = self.known();
        let mut quotas = known.policy.quotas.namespaces.iter();
        let found = quotas.find(|(name, _)| name.as_str() == namespace);
        found.map_or(Quota::NONE, |(_, quota)| *quota)
    }

    /// The audit, if one is written.
    pub fn audit(&self) -> Option<&Audit> {
        self.0.audit.as_ref()
    }

    /// The caller that a part of the server in the same process is.
    pub fn own_caller(&self) -> Arc<Caller> {
        match self.is_open() {
            true => Caller::shared_anonymous(),
            false => Arc::clone(&self.0.own),
        }
    }

    /// The caller that a part of the server in the same process is that belongs to this namespace.
    pub fn own_caller_in(&self, namespace: &str) -> Arc<Caller> {
        match namespace {
            DEFAULT_NAMESPACE => self.own_caller(),
            other => Arc::new(Caller::unrestricted_in(SELF, other)),
        }
    }

    /// The agents that the policy shares.
    pub fn loans(&self) -> BTreeSet<Loan> {
        self.known().policy.loans()
    }

    /// The policy.
    pub fn policy(&self) -> Policy {
        self.known().policy.clone()
    }

    /// The early end of a stream that this caller opens.
    ///
    /// # Errors
    ///
    /// The caller has as many streams as its quotas allow.
    pub fn open_stream(&self, admitted: &Admitted) -> Result<StreamEnd, QuotaExceeded> {
        self.open_stream_with(admitted, None)
    }

    /// As [`open_stream`](Self::open_stream), with a permit that was acquired before, if any.
    ///
    /// # Errors
    ///
    /// There is no permit, and the caller has as many streams as its quotas allow.
    pub fn open_stream_with(
        &self,
        admitted: &Admitted,
        permit: Option<StreamPermit>,
    ) -> Result<StreamEnd, QuotaExceeded> {
        let permit = match permit {
            Some(permit) => permit,
            None => self.meter(&admitted.caller).stream()?,
        };
        Ok(self.0.streams.add(admitted.clone(), Some(permit)))
    }

    /// The early end of a call that waits, or of a long answer. Counts for no quota.
    pub fn waiting(&self, admitted: &Admitted) -> StreamEnd {
        self.0.streams.add(admitted.clone(), None)
    }

    /// Rereads what has changed, and ends the streams whose callers have other rights now, or none. Call it several times a second. What cannot be
    /// read is as it was, and an identity that existed once is needed until the end.
    ///
    /// # Errors
    ///
    /// A file that has changed cannot be read or is wrong; it is not looked at again until it changes.
    pub fn refresh(&self) -> Result<(), ReadError> {
        let inner = &*self.0;
        let found = stamps(&inner.sources);
        let before = {
            let mut stamps = inner.stamps.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *stamps, found)
        };
        let has_changed = before != found;
        let read = match has_changed {
            false => Ok(()),
            true => read(&inner.sources, Some(&self.known().policy)).map(|(known, is_open)| {
                let mut current = inner.known.write().unwrap_or_else(PoisonError::into_inner);
                // Whatever is gone, that is no reason to let everybody in.
                if !is_open || inner.is_open.load(Ordering::Acquire) {
                    let limits = known.policy.quotas.limit_mailboxes();
                    inner.limits_mailboxes.store(limits, Ordering::Release);
                    *current = Arc::new(known);
                    inner.verified.forget();
                    inner.is_open.store(is_open, Ordering::Release);
                }
            }),
        };
        if let Some(audit) = &inner.audit
            && has_changed
        {
            let which = match before[0] != found[0] {
                true => "tokens",
                false => "policy",
            };
            audit.note(reread(which, read.is_ok()));
        }
        self.end_streams();
        read
    }

    /// Ends the streams of the callers of a namespace that is about to be gone. Parts of the server itself end by themselves.
    pub fn end_streams_of(&self, namespace: &str) {
        let gone = format!("the namespace {namespace} is not served here any more");
        self.0.streams.end(|admitted| {
            let caller = &admitted.caller;
            let is_its = caller.namespace == namespace && !caller.is_unrestricted();
            is_its.then(|| Ending::Unauthenticated(gone.clone()))
        });
    }

    fn end_streams(&self) {
        if self.is_open() {
            return;
        }
        self.0.streams.end(|admitted| self.ending(admitted));
    }

    fn known(&self) -> Arc<Known> {
        let known = self.0.known.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&known)
    }
}

#[cfg(test)]
mod tests;

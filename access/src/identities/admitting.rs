//! The principal behind what a caller presents, and whether it still counts.

use super::{
    Admitted, Arc, Caller, Credential, Denied, Ending, Grants, Identities, InvalidPrincipal, Known,
    Principal, Shown, TokenHash, VerifiedToken, VerifiedTokens, now,
};
use crate::oidc::{Refusal, claimed_issuer, looks_like_one};

/// Words for a caller whose rights have changed are in [`Ending::Changed`]; these are for one who is nobody any more.
const SESSION_ENDED: &str = "the session has ended: log in again";

impl Identities {
    /// The caller that presents this.
    ///
    /// # Errors
    ///
    /// [`Denied::Unauthenticated`] says what to do. It does not tell an unknown token from a wrong one.
    pub fn authenticate(&self, credential: Credential<'_>) -> Result<Admitted, Denied> {
        if let Credential::ThisProcess(namespace) = credential {
            let own = self.own_caller_in(namespace);
            return Ok(Admitted::new(own, Shown::Nothing));
        }
        if self.is_open() {
            let anonymous = Caller::shared_anonymous();
            return Ok(Admitted::new(anonymous, Shown::Nothing));
        }
        match credential {
            Credential::Authorization(header) => self.bearer(header),
            Credential::Certificate(name) => self.certified(name),
            Credential::Session(id) => self.of_session(id),
            Credential::Admitted(admitted) => self.again(admitted),
            Credential::None | Credential::ThisProcess(_) => refused(
                "this hub needs to know who calls: set AGENTHUB_TOKEN or --token-file, or send `authorization: Bearer TOKEN`; `agenthub tokens issue` on the hub's machine makes a token",
            ),
        }
    }

    fn bearer(&self, header: &str) -> Result<Admitted, Denied> {
        let is_bearer = |scheme: &str| scheme.eq_ignore_ascii_case("bearer");
        let token = header
            .split_once(' ')
            .filter(|(scheme, _)| is_bearer(scheme));
        let Some((_, token)) = token else {
            return refused("the header `authorization` has to be `Bearer TOKEN`");
        };
        let token = token.trim();
        let unknown = "the token is not known to this hub: ask for another one, or see `agenthub tokens list` on the hub's machine";
        let Some(hash) = TokenHash::of_presented(token) else {
            return match !self.0.issuers.is_empty() && looks_like_one(token) {
                true => self.of_issuer(token),
                false => refused(unknown),
            };
        };
        if hash.is(&self.0.own_hash) {
            return Ok(Admitted::new(Arc::clone(&self.0.own), Shown::Nothing));
        }
        match self.issued(&hash) {
            Some(admitted) => admitted,
            None => refused(unknown),
        }
    }

    /// The bearer of a token of the hub with this hash.
    fn issued(&self, hash: &TokenHash) -> Option<Result<Admitted, Denied>> {
        let known = self.known();
        let bearers = known.by_head.get(&hash.head())?;
        let bearer = bearers.iter().find(|bearer| bearer.record.hash.is(hash))?;
        if let Some(ended) = bearer.record.ended(now()) {
            return Some(refused(&said_of(&bearer.record.id, ended)));
        }
        let shown = Shown::Issued {
            id: Arc::clone(&bearer.id),
            hash: bearer.record.hash,
        };
        Some(Ok(Admitted::new(Arc::clone(&bearer.caller), shown)))
    }

    /// The bearer of a token of an issuer elsewhere.
    fn of_issuer(&self, token: &str) -> Result<Admitted, Denied> {
        let key = VerifiedTokens::key(token);
        if let Some((verified, caller)) = self.0.verified.get(&key) {
            self.check(&verified)?;
            return Ok(Admitted::new(caller, Shown::Verified(verified)));
        }
        let generation = self.0.verified.generation();
        let claimed = claimed_issuer(token);
        let mut issuers = self.0.issuers.iter();
        let issuer = issuers.find(|issuer| Some(&issuer.settings().issuer) == claimed.as_ref());
        let Some(issuer) = issuer else {
            return refused("the token is of no issuer that this hub trusts: see [access.oidc]");
        };
        let verified = issuer.verify(token, &issuer.settings().audience);
        let verified = Arc::new(verified.map_err(|refusal| self.denied(issuer, &refusal))?);
        let caller = Arc::new(caller_of(&self.known(), &verified));
        let admitted = Admitted::new(Arc::clone(&caller), Shown::Verified(Arc::clone(&verified)));
        self.0.verified.insert(generation, key, verified, caller);
        Ok(admitted)
    }

    /// Lets in who has just logged in with an issuer, by the token about the person that it gave to the hub's pages.
    ///
    /// # Errors
    ///
    /// The token is not one of that issuer for its `client_id`, or does not answer the question with this nonce.
    pub fn logged_in(&self, issuer: &str, id_token: &str, nonce: &str) -> Result<Admitted, Denied> {
        let mut issuers = self.0.issuers.iter();
        let issuer = issuers.find(|known| known.settings().name == issuer);
        let client = issuer.and_then(|issuer| issuer.settings().client_id.clone());
        let (Some(issuer), Some(client)) = (issuer, client) else {
            return refused("nobody logs in with this issuer");
        };
        let generation = self.0.verified.generation();
        let verified = issuer.verify(id_token, std::slice::from_ref(&client));
        let verified = verified.map_err(|refusal| self.denied(issuer, &refusal))?;
        if let Some(fault) = verified.meaning.fault_of_login(&client) {
            let name = &issuer.settings().name;
            return refused(&format!("the token of {name} is not taken: {fault}"));
        }
        if verified.meaning.nonce.as_deref() != Some(nonce) {
            return refused("the token of the issuer answers another question: log in again");
        }
        let verified = Arc::new(verified);
        let caller = Arc::new(caller_of(&self.known(), &verified));
        let admitted = Admitted::new(Arc::clone(&caller), Shown::Verified(Arc::clone(&verified)));
        // Agents act in this person's name with these rights.
        let key = VerifiedTokens::key_of_login(id_token);
        self.0.verified.insert(generation, key, verified, caller);
        Ok(admitted)
    }

    fn denied(&self, issuer: &crate::Issuer, refusal: &Refusal) -> Denied {
        let name = &issuer.settings().name;
        let is_soon = match refusal {
            Refusal::NoKeys => true,
            Refusal::UnknownKey => issuer.is_due(),
            _ => false,
        };
        match is_soon {
            true => Denied::Unavailable(format!(
                "the token of {name} cannot be checked yet: {refusal}, and they are being fetched; try again"
            )),
            false => {
                Denied::Unauthenticated(format!("the token of {name} is not taken: {refusal}"))
            }
        }
    }

    /// Checks whether a token that was taken before is worth something now.
    pub(super) fn check(&self, verified: &VerifiedToken) -> Result<(), Denied> {
        let name = &verified.issuer;
        if verified.ends <= now() {
            return refused(&format!("the token of {name} has expired: get another one"));
        }
        let mut issuers = self.0.issuers.iter();
        let issuer = issuers.find(|issuer| issuer.settings().name == *name);
        match issuer.is_some_and(|issuer| issuer.still_has(&verified.key)) {
            true => Ok(()),
            false => refused(&format!(
                "the key of the token of {name} is not one of its issuer any more: get another one"
            )),
        }
    }

    /// The caller whose certificate was verified. Its rights are those that the policy gives its name.
    fn certified(&self, name: &str) -> Result<Admitted, Denied> {
        let principal: Principal = name
            .parse()
            .map_err(|error: InvalidPrincipal| Denied::Unauthenticated(error.to_string()))?;
        let known = self.known();
        if known.policy.revoked_certificates.contains(name) {
            return refused("the certificate was revoked: ask for one of another name");
        }
        let namespace = known.policy.namespace_of(&principal);
        let caller = known.policy.caller(&principal, &namespace, &[], &[]);
        Ok(Admitted::new(Arc::new(caller), Shown::Certificate))
    }

    /// The person of a session.
    fn of_session(&self, id: &str) -> Result<Admitted, Denied> {
        let Some(admitted) = self.0.sessions.find(id, now()) else {
            return refused(SESSION_ENDED);
        };
        self.again(&admitted)
    }

    /// Lets in again who was let in before, with the rights of now.
    fn again(&self, admitted: &Admitted) -> Result<Admitted, Denied> {
        if let Some(session) = &admitted.session
            && !self.0.sessions.has(session, now())
        {
            return refused(SESSION_ENDED);
        }
        let caller = match &admitted.shown {
            Shown::Nothing if admitted.caller.is_anonymous() => {
                return refused("this hub needs to know who calls now");
            }
            Shown::Nothing => Arc::clone(&admitted.caller),
            Shown::Certificate => self.certified(&admitted.caller.principal)?.caller,
            Shown::Issued { id, hash } => match self.issued(hash) {
                None => return refused(&said_of(id, "is gone")),
                Some(admitted) => admitted?.caller,
            },
            Shown::Verified(verified) => {
                self.check(verified)?;
                let caller = caller_of(&self.known(), verified);
                match caller == *admitted.caller {
                    true => Arc::clone(&admitted.caller),
                    false => Arc::new(caller),
                }
            }
        };
        Ok(Admitted {
            caller,
            shown: admitted.shown.clone(),
            session: admitted.session,
        })
    }

    /// The reason why a stream of this caller ends, if there is one.
    pub(super) fn ending(&self, admitted: &Admitted) -> Option<Ending> {
        if admitted.shown == Shown::Nothing && admitted.session.is_none() {
            return admitted.caller.is_anonymous().then_some(Ending::Changed);
        }
        match self.again(admitted) {
            Ok(current) if current.caller == admitted.caller => None,
            Ok(_) => Some(Ending::Changed),
            Err(denied) => Some(Ending::Unauthenticated(denied.to_string())),
        }
    }
}

/// The caller that a token makes, with the rights of now.
fn caller_of(known: &Known, verified: &VerifiedToken) -> Caller {
    let meaning = &verified.meaning;
    let principal = &meaning.principal;
    let namespace = match &meaning.namespace {
        None => known.policy.namespace_of(principal),
        Some(claimed) => match claimed.parse() {
            Ok(namespace) => namespace,
            // There is none of such a name, and so nothing in which it has rights.
            Err(_) => return Caller::with(principal.as_str(), claimed, Grants::default()),
        },
    };
    known
        .policy
        .caller(principal, &namespace, &meaning.roles, &[])
}

fn refused<T>(why: &str) -> Result<T, Denied> {
    Err(Denied::Unauthenticated(why.to_owned()))
}

fn said_of(id: &str, ended: impl std::fmt::Display) -> String {
    format!("the token {id} {ended}: ask for another one")
}

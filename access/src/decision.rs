//! May this caller do this? And which rule says so? The only place where rights are weighed.

use crate::{Action, Caller, caller::Granted};

/// The outcome, and the rule that decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// True if the action is allowed.
    pub is_allowed: bool,
    /// The rule, in words.
    pub rule: String,
}

/// Decides, in this order: an id that belongs to another principal is nobody else's; what a rule denies is denied; what a rule allows is allowed;
/// everything else is denied.
///
/// # Errors
///
/// The sentence for a caller who is refused: it names the right that is missing, or the rule that denies.
pub fn decide(caller: &Caller, action: &Action<'_>) -> Result<(), String> {
    // The way of every call of a hub without identities.
    let Some(grants) = caller.grants() else {
        return Ok(());
    };
    let is_of_another = owner_elsewhere(caller, action).is_some();
    if !is_of_another
        && !grants.deny.iter().any(|g| g.permit.covers(action))
        && grants.allow.iter().any(|g| g.permit.covers(action))
    {
        return Ok(());
    }
    let rule = explain(caller, action).rule;
    Err(format!("\"{}\" may not {action}: {rule}", caller.principal))
}

/// Decides for a caller that acts on behalf of a principal: both have to be allowed. Without such a principal, the caller acts for itself.
///
/// # Errors
///
/// As [`decide`]; the sentence names both.
pub fn decide_for(
    caller: &Caller,
    initiator: Option<&Caller>,
    action: &Action<'_>,
) -> Result<(), String> {
    let Some(initiator) = initiator else {
        return decide(caller, action);
    };
    if decide(caller, action).is_ok() && decide(initiator, &action.of_initiator()).is_ok() {
        return Ok(());
    }
    let rule = Decision::of(caller, Some(initiator), action).rule;
    let (caller, initiator) = (&caller.principal, &initiator.principal);
    Err(format!(
        "\"{caller}\" may not {action} on behalf of \"{initiator}\": {rule}"
    ))
}

/// Decides whether what is sent may go to whoever subscribes. Any agent may be among them, so nobody may do it to whom some agent is denied.
///
/// # Errors
///
/// The sentence for a caller who is refused.
pub fn decide_everyone(caller: &Caller, initiator: Option<&Caller>) -> Result<(), String> {
    for one in [Some(caller), initiator].into_iter().flatten() {
        let denies = one.grants().into_iter().flat_map(|grants| &grants.deny);
        if let Some(denied) = denies.into_iter().find(|g| g.permit.is_of_sending()) {
            return Err(format!(
                "\"{}\" may not send to whoever subscribes: {} denies {}, so that the receiver has to be named",
                one.principal, denied.from, denied.written
            ));
        }
    }
    Ok(())
}

/// The decision of [`decide`] with the rule that decides.
fn explain(caller: &Caller, action: &Action<'_>) -> Decision {
    let decided = |is_allowed, rule| Decision { is_allowed, rule };
    let Some(grants) = caller.grants() else {
        let rule = match caller.is_anonymous() {
            true => "without identities everyone may do everything".to_owned(),
            false => "it is a part of the hub's own process".to_owned(),
        };
        return decided(true, rule);
    };
    if let Some(owner) = owner_elsewhere(caller, action) {
        return decided(
            false,
            format!("the id belongs to \"{owner}\", who registered it first"),
        );
    }
    let speaks = |granted: &&Granted| granted.permit.covers(action);
    if let Some(denied) = grants.deny.iter().find(speaks) {
        return decided(false, format!("{} denies {}", denied.from, denied.written));
    }
    if let Some(allowed) = grants.allow.iter().find(speaks) {
        return decided(true, format!("{} allows {}", allowed.from, allowed.written));
    }
    let roles = match grants.roles.is_empty() {
        true => "no roles".to_owned(),
        false => format!("roles: {}", grants.roles.join(", ")),
    };
    let right = action.right();
    decided(false, format!("no rule allows {right} ({roles})"))
}

impl Decision {
    /// Decides as [`decide_for`], and says by which rule: of the one who is refused, else of both.
    pub fn of(caller: &Caller, initiator: Option<&Caller>, action: &Action<'_>) -> Self {
        let own = explain(caller, action);
        let Some(initiator) = initiator.filter(|_| own.is_allowed) else {
            return own;
        };
        let of_initiator = explain(initiator, &action.of_initiator());
        let of = |who: &Caller, rule: &str| format!("of \"{}\": {rule}", who.principal);
        let of_both = [of(caller, &own.rule), of(initiator, &of_initiator.rule)].join("; ");
        Self {
            is_allowed: of_initiator.is_allowed,
            rule: match of_initiator.is_allowed {
                true => of_both,
                false => of(initiator, &of_initiator.rule),
            },
        }
    }
}

/// The principal that has the id, if it is another one.
fn owner_elsewhere<'a>(caller: &Caller, action: &Action<'a>) -> Option<&'a str> {
    match action {
        Action::Be {
            owner: Some(owner), ..
        } if *owner != caller.principal => Some(owner),
        _ => None,
    }
}

//! Whether what goes into a step fits what an agent takes.

use super::{Fault, Offer, Terms};

/// Whether what goes into the step fits what this offer takes, as far as that is known before the step is ready.
///
/// # Errors
///
/// What does not fit.
pub fn fits(
    plan: &super::Plan,
    step: &str,
    offer: &Offer,
    terms: &Terms,
) -> Result<(), Vec<Fault>> {
    let _ = (plan, step, offer, terms);
    Ok(())
}

use crate::model::outcome::{Scope, Trouble, TroubleKind};

/// How far beyond its call a trouble reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    Call,
    /// Its API, for the rest of the run, once so many in a row say the same: the definition is at fault, not a partition.
    InARow,
    /// Its API, until one more call has shown whether the refusal was a mistake.
    Doubt,
    /// Its API, until the day is over.
    Day,
    /// Its API, for the rest of the run.
    Api,
    /// Its provider, for the rest of the run.
    Provider,
}

impl Reach {
    /// `refusals` are those its call has met with, this one among them: one is no proof, gateways hand them out by
    /// mistake.
    pub(super) fn of(trouble: &Trouble, refusals: u32) -> Self {
        match (trouble.kind, trouble.scope) {
            (TroubleKind::Spent, _) => Self::Day,
            (TroubleKind::Refused, _) if refusals < 2 => Self::Doubt,
            (TroubleKind::Refused | TroubleKind::Invalid, Scope::Run) => Self::Provider,
            (TroubleKind::Refused | TroubleKind::Invalid, Scope::Api) => Self::Api,
            (TroubleKind::Invalid, Scope::Attempt | Scope::Job) => Self::InARow,
            (TroubleKind::Refused, Scope::Attempt | Scope::Job)
            | (
                TroubleKind::Retry
                | TroubleKind::Misfit
                | TroubleKind::Uneven
                | TroubleKind::SlowDown
                | TroubleKind::TooBig
                | TroubleKind::Restart
                | TroubleKind::Later
                | TroubleKind::Garbled,
                _,
            ) => Self::Call,
        }
    }
}

/// Whether such an answer can only come to a key that is let in: it clears a refusal as a page does.
pub(super) fn is_let_in(kind: TroubleKind) -> bool {
    match kind {
        TroubleKind::Misfit
        | TroubleKind::Uneven
        | TroubleKind::Spent
        | TroubleKind::TooBig
        | TroubleKind::Restart
        | TroubleKind::Later => true,
        TroubleKind::Retry | TroubleKind::SlowDown | TroubleKind::Refused | TroubleKind::Invalid | TroubleKind::Garbled => false,
    }
}

/// Whether such an answer, or the lack of one, says that the server is not well. What a well server says of one request,
/// and what nobody understands, does not.
pub(super) fn is_ill(kind: TroubleKind) -> bool {
    match kind {
        TroubleKind::Retry => true,
        TroubleKind::Misfit
        | TroubleKind::Uneven
        | TroubleKind::SlowDown
        | TroubleKind::Spent
        | TroubleKind::Refused
        | TroubleKind::Invalid
        | TroubleKind::TooBig
        | TroubleKind::Restart
        | TroubleKind::Later
        | TroubleKind::Garbled => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_reaches_as_far_as_its_scope_once_it_is_confirmed() {
        let check = |kind, scope, refusals, reach| {
            let trouble = Trouble::plain(kind, scope, "why");
            assert_eq!(Reach::of(&trouble, refusals), reach, "{kind:?} {scope} after {refusals}");
        };
        check(TroubleKind::Refused, Scope::Api, 1, Reach::Doubt);
        check(TroubleKind::Refused, Scope::Run, 1, Reach::Doubt);
        check(TroubleKind::Refused, Scope::Job, 2, Reach::Call);
        check(TroubleKind::Refused, Scope::Api, 2, Reach::Api);
        check(TroubleKind::Refused, Scope::Run, 2, Reach::Provider);
        check(TroubleKind::Invalid, Scope::Job, 0, Reach::InARow);
        check(TroubleKind::Invalid, Scope::Api, 0, Reach::Api);
        check(TroubleKind::Invalid, Scope::Run, 0, Reach::Provider);
        check(TroubleKind::Spent, Scope::Attempt, 0, Reach::Day);
        check(TroubleKind::Spent, Scope::Run, 0, Reach::Day);
        check(TroubleKind::Retry, Scope::Run, 0, Reach::Call);
    }
}

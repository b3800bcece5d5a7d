//! What a walk over pages came to: when it ends, when it begins again, what its verdict is, and whether the snapshot may take
//! the place of the one before. Values in, values out.

pub mod due;
pub mod echo;
pub mod ending;
pub mod guard;
pub mod step;
pub mod verification;
pub mod walk;

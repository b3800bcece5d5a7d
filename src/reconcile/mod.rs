//! What a walk over pages came to: when it ends, when it begins again, and what its verdict is. Values in, values out.

pub mod due;
pub mod echo;
pub mod ending;
pub mod step;
pub mod verification;
pub mod walk;

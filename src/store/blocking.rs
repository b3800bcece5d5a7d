use tokio::runtime::{Handle, RuntimeFlavor};

/// Tells the runtime, where it has other threads, to move its other work to them.
pub fn blocking<T>(work: impl FnOnce() -> T) -> T {
    if Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread { tokio::task::block_in_place(work) } else { work() }
}

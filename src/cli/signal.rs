use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::caller::Caller;
use crate::report::exit::Exit;

/// How long pages in flight may take to land after the first signal.
const DRAIN: Duration = Duration::from_secs(8);

/// Why a run is to end early.
#[derive(Clone, Debug, Default)]
pub struct Ending(Arc<AtomicU8>);

impl Ending {
    const INTERRUPTED: u8 = 1;
    const TERMINATED: u8 = 2;

    /// The exit a signal asks for; none came yet when there is none.
    pub fn exit(&self) -> Option<Exit> {
        match self.0.load(Ordering::Acquire) {
            Self::INTERRUPTED => Some(Exit::Interrupted),
            Self::TERMINATED => Some(Exit::Terminated),
            _ => None,
        }
    }

    fn set(&self, code: u8) {
        self.0.store(code, Ordering::Release);
    }
}

/// Watches for SIGINT, SIGTERM and SIGHUP, and for the end of the time allowed.
///
/// First: nothing new is begun, and what is in flight may land for a while. A second signal leaves at once; the store
/// needs no farewell.
pub async fn watch(caller: Caller, stop: CancellationToken, ending: Ending, max_runtime: Option<Duration>, say: impl Fn(&str)) {
    let (Ok(mut interrupts), Ok(mut terminations), Ok(mut hangups)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()), signal(SignalKind::hangup()))
    else {
        // Without handlers a signal ends the process at once, which the store survives.
        return;
    };
    let mut next = async || {
        tokio::select! {
            Some(()) = interrupts.recv() => Ending::INTERRUPTED,
            Some(()) = terminations.recv() => Ending::TERMINATED,
            Some(()) = hangups.recv() => Ending::TERMINATED,
            else => std::future::pending().await,
        }
    };
    let deadline = async {
        match max_runtime {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        code = next() => {
            ending.set(code);
            say("stopping: pages in flight may land; a second signal leaves at once");
        }
        () = deadline => say("the time allowed is over: pages in flight may land"),
        () = stop.cancelled() => {}
    }
    stop.cancel();
    caller.stop_claiming();
    tokio::select! {
        code = next() => {
            ending.set(code);
            let exit = if code == Ending::INTERRUPTED { Exit::Interrupted } else { Exit::Terminated };
            std::process::exit(i32::from(exit.code()));
        }
        () = tokio::time::sleep(DRAIN) => caller.stop_now(),
    }
    let code = next().await;
    let exit = if code == Ending::INTERRUPTED { Exit::Interrupted } else { Exit::Terminated };
    std::process::exit(i32::from(exit.code()));
}

//! A store across a network: sessions in the memory of a server, behind a connection that is slow and
//! breaks. It uses nothing of the crate but what anybody can, and proves that this is enough.

mod client;
mod server;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

pub(crate) use client::RemoteStore;
pub(crate) use server::Server;

/// What every call costs, and how often the connection breaks.
#[derive(Debug)]
pub(crate) struct Network {
    delay: AtomicU64,
    /// Every so many calls a request is lost, or the answer to one; 0 for never.
    loses_every: usize,
    calls: AtomicUsize,
    lost: AtomicUsize,
    is_down: AtomicBool,
    /// Calls from which on all answers are lost.
    loses_answers_from: AtomicUsize,
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Arrives,
    RequestIsLost,
    AnswerIsLost,
}

impl Network {
    /// A network where each call takes `delay`, and where every `loses_every`th is lost in turn on its way
    /// there and on its way back.
    pub(crate) fn new(delay: Duration, loses_every: usize) -> Arc<Self> {
        Arc::new(Self {
            delay: AtomicU64::new(delay.as_micros() as u64),
            loses_every,
            calls: AtomicUsize::new(0),
            lost: AtomicUsize::new(0),
            is_down: AtomicBool::new(false),
            loses_answers_from: AtomicUsize::new(usize::MAX),
        })
    }

    /// From now on every call takes this long.
    pub(crate) fn set_delay(&self, delay: Duration) {
        self.delay.store(delay.as_micros() as u64, Ordering::SeqCst);
    }

    /// From behind the next `calls` calls on, requests arrive and their answers do not.
    pub(crate) fn lose_answers_from_now(&self, calls: usize) {
        self.loses_answers_from.store(self.calls().0 + calls + 1, Ordering::SeqCst);
    }

    /// Whether nothing arrives any more; everything does else.
    pub(crate) fn set_down(&self, is_down: bool) {
        self.loses_answers_from.store(usize::MAX, Ordering::SeqCst);
        self.is_down.store(is_down, Ordering::SeqCst);
    }

    /// Calls so far, and how many of them were lost.
    pub(crate) fn calls(&self) -> (usize, usize) {
        (self.calls.load(Ordering::SeqCst), self.lost.load(Ordering::SeqCst))
    }

    fn fate(&self) -> Fate {
        match self.delay.load(Ordering::SeqCst) {
            0 => {}
            delay => std::thread::sleep(Duration::from_micros(delay)),
        }
        let number = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        let fate = match number.checked_rem(self.loses_every) {
            _ if self.is_down.load(Ordering::SeqCst) => Fate::RequestIsLost,
            _ if number >= self.loses_answers_from.load(Ordering::SeqCst) => Fate::AnswerIsLost,
            Some(0) if (number / self.loses_every).is_multiple_of(2) => Fate::AnswerIsLost,
            Some(0) => Fate::RequestIsLost,
            _ => Fate::Arrives,
        };
        self.lost.fetch_add(usize::from(fate != Fate::Arrives), Ordering::SeqCst);
        fate
    }
}

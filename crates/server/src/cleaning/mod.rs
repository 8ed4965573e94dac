//! Removes what nobody needs any more, now and then: who does it, what it does, and who hears of it.

mod crew;
mod observer;
mod sweeping;

pub use sweeping::Cleaning;

pub(crate) use observer::Observer;

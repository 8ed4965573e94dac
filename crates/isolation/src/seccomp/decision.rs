//! The decision about one system call: an answer, or a check of one of its arguments that leads to one.
//!
//! The rules are data, because three readers need them: the compiler that turns them into a filter for the kernel,
//! the supervisor that must give the same answer to a call that the filter reported, and the tests.

/// Answer that the calling process gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeccompAnswer {
    /// The kernel executes the call.
    Allow,
    /// The supervisor decides, if there is one; otherwise the kernel executes the call.
    Ask,
    /// The call fails with `ENOSYS`, as on a kernel that does not know it, without a report: libraries try such calls
    /// and have a fallback.
    Absent,
    /// The call fails with this error number and is reported to the supervisor, if there is one.
    Refuse(i32),
}

/// Decision about a system call.
#[derive(Clone, Copy, Debug)]
pub enum SeccompDecision {
    /// The answer does not depend on the arguments.
    Give(SeccompAnswer),
    /// An argument decides.
    Look(&'static SyscallArgumentCheck),
}

/// A check of one argument.
///
/// Only the low 32 bits are compared. Every argument that the table checks is an `int`, an `unsigned int` or smaller
/// in the kernel, which discards the upper half; a filter that compared 64 bits would let `ioctl(fd, TIOCSTI | 1 <<
/// 32)` pass (CVE-2019-10063).
#[derive(Debug)]
pub struct SyscallArgumentCheck {
    /// Index of the argument, from 0.
    pub argument: u8,
    /// Bits that are compared.
    pub mask: u32,
    /// Decision for each value of those bits; the first equal value decides.
    pub cases: &'static [(u32, SeccompDecision)],
    /// Decision when no case has the value.
    pub otherwise: SeccompDecision,
}

/// Mask that compares every bit of an argument.
pub(super) const WHOLE: u32 = u32::MAX;

pub(super) const ALLOW: SeccompDecision = SeccompDecision::Give(SeccompAnswer::Allow);
pub(super) const ABSENT: SeccompDecision = SeccompDecision::Give(SeccompAnswer::Absent);
pub(super) const REFUSE: SeccompDecision = SeccompDecision::Give(SeccompAnswer::Refuse(libc::EPERM));

impl SeccompDecision {
    /// The answer to a call with these arguments.
    pub fn answer(&self, arguments: &[u64; 6]) -> SeccompAnswer {
        match self {
            Self::Give(answer) => *answer,
            Self::Look(look) => look.decide(arguments).answer(arguments),
        }
    }
}

impl SyscallArgumentCheck {
    #[expect(clippy::cast_possible_truncation, reason = "the kernel reads the low half only, see the type")]
    fn decide(&self, arguments: &[u64; 6]) -> &SeccompDecision {
        let value = arguments[usize::from(self.argument)] as u32 & self.mask;
        self.cases.iter().find(|(case, _)| *case == value).map_or(&self.otherwise, |(_, decision)| decision)
    }
}

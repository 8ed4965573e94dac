//! Compiles the table to a classic BPF program and installs it.
//!
//! The kernel runs a new filter once for every system call number, to learn which ones it always allows. A chain of
//! comparisons would take milliseconds, so numbers are found by binary search.

use std::{
    io,
    os::fd::{FromRawFd, OwnedFd, RawFd},
    sync::OnceLock,
};

use libc::sock_filter;

use super::decision::{ABSENT, ALLOW, SeccompAnswer, SeccompDecision, SyscallArgumentCheck, WHOLE};
use super::table;

/// Compiles both filters now, so that the processes that are forked from this one inherit them.
pub fn prepare() {
    compiled(DenialRecipient::Nobody);
    compiled(DenialRecipient::Listener);
}

/// Restricts this thread, and all that it starts, to the calls of the table. Denied calls fail.
///
/// It cannot be undone. The thread must have `no_new_privs`, or `CAP_SYS_ADMIN` over its user namespace.
pub fn install() -> io::Result<()> {
    install_program(compiled(DenialRecipient::Nobody), 0)?;
    Ok(())
}

/// Restricts the interpreter of a zygote to the calls of the table and those with which its copies create sandboxes
/// for calls. The copies restrict themselves further.
pub fn install_for_zygote() -> io::Result<()> {
    install_program(&compile(&ranges(table::SANDBOX_SETUP, &[]), DenialRecipient::Nobody), 0)?;
    Ok(())
}

/// As [`install`], but every denied call waits for the answer of a supervisor.
///
/// The supervisor also decides about the calls in `asked`. It has to deny those that the table denies, and may let
/// the kernel continue the others: the arguments that the table checks are numbers, which cannot change meanwhile.
///
/// The descriptor must reach the supervisor and must not stay here: its holder could answer its own calls. When it is
/// closed everywhere, denied calls fail with `ENOSYS`.
pub fn install_with_listener(asked: &[u32]) -> io::Result<OwnedFd> {
    let own;
    let program = if asked.is_empty() {
        compiled(DenialRecipient::Listener)
    } else {
        own = compile(&ranges(&[], asked), DenialRecipient::Listener);
        &own
    };
    let listen = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // A signal that arrives while the supervisor handles a call would restart the call, and it would be counted
    // twice. Linux 5.19 and later can wait for the supervisor instead.
    let answer = match install_program(program, listen | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => install_program(program, listen),
        answer => answer,
    }?;
    // SAFETY: with the flag for a listener the kernel answers with a new descriptor that nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(answer) })
}

/// Recipient of denied calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DenialRecipient {
    Nobody,
    Listener,
}

/// The program for this architecture; the first call compiles it.
pub(super) fn compiled(reporting: DenialRecipient) -> &'static [sock_filter] {
    static SILENT: OnceLock<Vec<sock_filter>> = OnceLock::new();
    static REPORTED: OnceLock<Vec<sock_filter>> = OnceLock::new();
    let program = match reporting {
        DenialRecipient::Nobody => &SILENT,
        DenialRecipient::Listener => &REPORTED,
    };
    program.get_or_init(|| compile(&ranges(&[], &[]), reporting))
}

fn install_program(program: &[sock_filter], flags: libc::c_ulong) -> io::Result<RawFd> {
    let program = libc::sock_fprog {
        len: program
            .len()
            .try_into()
            .expect("the table has a few hundred rows, and a program two steps a row"),
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel reads `len` instructions at `filter`, both of which describe the slice above, and
    // writes nothing there despite the `*mut` in its declaration.
    let answer =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(RawFd::try_from(answer).expect("the kernel's descriptors are ints"))
}

/// The `AUDIT_ARCH_*` value of system calls on the target architecture.
#[cfg(target_arch = "x86_64")]
pub(super) const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
pub(super) const ARCHITECTURE: u32 = 0xc000_00b7;

/// Offsets into `struct seccomp_data`.
pub(super) const OFFSET_OF_NUMBER: u32 = 0;
pub(super) const OFFSET_OF_ARCHITECTURE: u32 = 4;
pub(super) const OFFSET_OF_ARGUMENTS: u32 = 16;

/// Compiles ranges to a program. A process that switches to another architecture's calls (`int 0x80` on `x86_64`) is
/// killed: their numbers mean other calls, and no compiler generates such code by accident.
pub(super) fn compile(ranges: &[SyscallRange], reporting: DenialRecipient) -> Vec<sock_filter> {
    let mut assembler = FilterAssembler::new(reporting);
    let search = assembler.search(ranges);
    let native = assembler.load(OFFSET_OF_NUMBER, search);
    let foreign = assembler.answer_with(libc::SECCOMP_RET_KILL_PROCESS);
    let compare = assembler.branch(libc::BPF_JEQ, ARCHITECTURE, native, foreign);
    assembler.load(OFFSET_OF_ARCHITECTURE, compare);
    assembler.finish()
}

/// The decision for all numbers from `first` up to the next range.
pub(super) struct SyscallRange {
    pub(super) first: u32,
    pub(super) decision: SeccompDecision,
}

/// All possible numbers, with neighbours of equal answer joined. `allowed` numbers are allowed independently of the
/// table, and the supervisor decides about those of `asked` that the table allows.
pub(super) fn ranges(allowed: &[u32], asked: &[u32]) -> Vec<SyscallRange> {
    let mut rows: Vec<_> = table::rows().collect();
    rows.sort_by_key(|row| row.number);
    let mut ranges = vec![SyscallRange { first: 0, decision: ABSENT }];
    let mut next = 0;
    for row in rows {
        if row.number > next {
            extend(&mut ranges, next, ABSENT);
        }
        let decision = match row.decision {
            _ if allowed.contains(&row.number) => ALLOW,
            SeccompDecision::Give(SeccompAnswer::Absent | SeccompAnswer::Refuse(_)) => row.decision,
            _ if asked.contains(&row.number) => SeccompDecision::Give(SeccompAnswer::Ask),
            decision => decision,
        };
        extend(&mut ranges, row.number, decision);
        next = row.number + 1;
    }
    extend(&mut ranges, next, ABSENT);
    ranges
}

fn extend(ranges: &mut Vec<SyscallRange>, first: u32, decision: SeccompDecision) {
    if let Some(last) = ranges.last_mut() {
        if let (SeccompDecision::Give(before), SeccompDecision::Give(now)) = (last.decision, decision)
            && before == now
        {
            return;
        }
        if last.first == first {
            last.decision = decision;
            return;
        }
    }
    ranges.push(SyscallRange { first, decision });
}

fn action(answer: SeccompAnswer, reporting: DenialRecipient) -> u32 {
    match (answer, reporting) {
        (SeccompAnswer::Allow, _) | (SeccompAnswer::Ask, DenialRecipient::Nobody) => libc::SECCOMP_RET_ALLOW,
        (SeccompAnswer::Absent, _) => fail_with(libc::ENOSYS),
        (SeccompAnswer::Refuse(error), DenialRecipient::Nobody) => fail_with(error),
        (SeccompAnswer::Refuse(_) | SeccompAnswer::Ask, DenialRecipient::Listener) => {
            libc::SECCOMP_RET_USER_NOTIF
        }
    }
}

fn fail_with(error: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | error.cast_unsigned()
}

fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: code.try_into().expect("operation codes have 16 bits"), jt, jf, k }
}

/// Writes the program from its end to its start.
///
/// Jumps of classic BPF lead forward only, so their targets are always written already, and all jumps to one answer
/// can share one instruction. The kernel takes about a third of a microsecond for each instruction.
struct FilterAssembler {
    reporting: DenialRecipient,
    /// Instructions in reverse order.
    reversed: Vec<sock_filter>,
}

/// Position of an instruction, counted from the end of the program.
#[derive(Clone, Copy)]
struct InstructionLabel(usize);

impl FilterAssembler {
    fn new(reporting: DenialRecipient) -> Self {
        Self { reporting, reversed: Vec::new() }
    }

    fn finish(mut self) -> Vec<sock_filter> {
        self.reversed.reverse();
        self.reversed
    }

    /// Searches the range of the call number, which is in the accumulator.
    fn search(&mut self, ranges: &[SyscallRange]) -> InstructionLabel {
        if let [range] = ranges {
            return self.decide(range.decision);
        }
        let (lower, upper) = ranges.split_at(ranges.len() / 2);
        let first_of_upper = upper[0].first;
        let upper = self.search(upper);
        let lower = self.search(lower);
        self.branch(libc::BPF_JGE, first_of_upper, upper, lower)
    }

    fn decide(&mut self, decision: SeccompDecision) -> InstructionLabel {
        match decision {
            SeccompDecision::Give(answer) => self.answer_with(action(answer, self.reporting)),
            SeccompDecision::Look(look) => self.check_argument(look),
        }
    }

    fn check_argument(&mut self, look: &SyscallArgumentCheck) -> InstructionLabel {
        let mut next = self.decide(look.otherwise);
        for (value, decision) in look.cases.iter().rev() {
            let then = self.decide(*decision);
            next = self.branch(libc::BPF_JEQ, *value, then, next);
        }
        if look.mask != WHOLE {
            self.jump_unless_next(next);
            next = self.write(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, look.mask, 0, 0);
        }
        // Both architectures are little-endian: the low half of an argument comes first.
        self.load(OFFSET_OF_ARGUMENTS + 8 * u32::from(look.argument), next)
    }

    fn load(&mut self, offset: u32, next: InstructionLabel) -> InstructionLabel {
        self.jump_unless_next(next);
        self.write(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0)
    }

    /// Compares the accumulator with a value.
    fn branch(
        &mut self,
        comparison: u32,
        value: u32,
        when_true: InstructionLabel,
        when_false: InstructionLabel,
    ) -> InstructionLabel {
        let (when_true, when_false) = (self.within_reach(when_true), self.within_reach(when_false));
        let (jump_true, jump_false) = (self.distance_to(when_true), self.distance_to(when_false));
        let short = |distance: usize| u8::try_from(distance).expect("both targets were brought within reach");
        self.write(libc::BPF_JMP | comparison | libc::BPF_K, value, short(jump_true), short(jump_false))
    }

    /// The instruction that ends the program with an action; an existing one if a branch can reach it.
    fn answer_with(&mut self, action: u32) -> InstructionLabel {
        let nearest = self.reversed.iter().rposition(|known| is_answer(*known) && known.k == action);
        match nearest.map(InstructionLabel) {
            Some(label) if self.distance_to(label) <= REACH => label,
            _ => self.write(libc::BPF_RET | libc::BPF_K, action, 0, 0),
        }
    }

    /// A label that a branch written next, or after one more instruction, can reach.
    fn within_reach(&mut self, target: InstructionLabel) -> InstructionLabel {
        if self.distance_to(target) <= REACH { target } else { self.jump(target) }
    }

    fn jump_unless_next(&mut self, target: InstructionLabel) {
        if self.distance_to(target) > 0 {
            self.jump(target);
        }
    }

    fn jump(&mut self, target: InstructionLabel) -> InstructionLabel {
        let distance =
            u32::try_from(self.distance_to(target)).expect("a program has at most 4096 instructions");
        self.write(libc::BPF_JMP | libc::BPF_JA, distance, 0, 0)
    }

    /// Number of instructions that the next written one would have to skip.
    fn distance_to(&self, target: InstructionLabel) -> usize {
        self.reversed.len() - target.0 - 1
    }

    fn write(&mut self, code: u32, k: u32, jt: u8, jf: u8) -> InstructionLabel {
        self.reversed.push(instruction(code, k, jt, jf));
        InstructionLabel(self.reversed.len() - 1)
    }
}

/// A branch skips at most 255 instructions, and one more may come between it and its target.
const REACH: usize = 254;

fn is_answer(instruction: sock_filter) -> bool {
    u32::from(instruction.code) == libc::BPF_RET | libc::BPF_K
}

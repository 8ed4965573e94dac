//! Probe of KVM with a guest of two instructions: on some hosts the device opens and a machine can be created, but no
//! guest runs.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libc::{_IO, _IOR, _IOW, Ioctl};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous};

use super::failure::{ProbeFailure, step_failed, syscall_failed};
use super::process::last_errno;

const KVM: u32 = 0xae;
const KVM_GET_API_VERSION: Ioctl = _IO(KVM, 0x00);
const KVM_CREATE_VM: Ioctl = _IO(KVM, 0x01);
const KVM_GET_VCPU_MMAP_SIZE: Ioctl = _IO(KVM, 0x04);
const KVM_CREATE_VCPU: Ioctl = _IO(KVM, 0x41);
const KVM_SET_USER_MEMORY_REGION: Ioctl = _IOW::<KvmMemoryRegion>(KVM, 0x46);
const KVM_SET_TSS_ADDR: Ioctl = _IO(KVM, 0x47);
const KVM_RUN: Ioctl = _IO(KVM, 0x80);
const KVM_GET_REGS: Ioctl = _IOR::<KvmRegisters>(KVM, 0x81);
const KVM_SET_REGS: Ioctl = _IOW::<KvmRegisters>(KVM, 0x82);
const KVM_GET_SREGS: Ioctl = _IOR::<KvmSegmentRegisters>(KVM, 0x83);
const KVM_SET_SREGS: Ioctl = _IOW::<KvmSegmentRegisters>(KVM, 0x84);

/// API version of every kernel since 2.6.22; the documentation says to refuse any other.
const API_VERSION: libc::c_int = 12;
const EXIT_HALT: u32 = 5;
const PAGE: usize = 4096;
/// Address of the task state segment that processors without unrestricted guests need for real mode: below 4 GiB,
/// outside of the guest's memory.
const TASK_STATE_ADDRESS: u64 = 0xfffb_d000;
/// `mov al, 42` and `hlt`.
const GUEST: [u8; 3] = [0xb0, 42, 0xf4];

/// `struct kvm_userspace_memory_region`.
#[repr(C)]
struct KvmMemoryRegion {
    slot: u32,
    flags: u32,
    guest_address: u64,
    size: u64,
    host_address: u64,
}

/// `struct kvm_regs`: the accumulator first, the instruction pointer and the flags last.
type KvmRegisters = [u64; 18];
/// `struct kvm_sregs`: the code segment first, its base in bytes 0 to 8 and its selector in bytes 12 to 14.
type KvmSegmentRegisters = [u64; 39];

/// Runs a guest until it halts.
pub(super) fn kvm() -> Result<String, ProbeFailure> {
    let device = File::options().read(true).write(true).open("/dev/kvm").map_err(explain)?;
    let device = OwnedFd::from(device);
    if cfg!(not(target_arch = "x86_64")) {
        return Err(unproven("this build has no guest for this architecture"));
    }
    run_guest(&device).map_err(unproven)
}

fn explain(error: std::io::Error) -> ProbeFailure {
    if error.kind() != std::io::ErrorKind::PermissionDenied {
        return step_failed("open /dev/kvm")(error);
    }
    ProbeFailure::Explained {
        reason: "permission denied for /dev/kvm".to_owned(),
        remedy: "usermod -aG kvm USER as root, then log in again".to_owned(),
    }
}

/// The device opens, but that alone does not prove that guests run.
fn unproven(reason: impl std::fmt::Display) -> ProbeFailure {
    ProbeFailure::Absent { what: format!("/dev/kvm opens, but no guest ran: {reason}") }
}

fn run_guest(device: &OwnedFd) -> Result<String, ProbeFailure> {
    let version =
        with_number(device, KVM_GET_API_VERSION, 0).map_err(syscall_failed("query the API version"))?;
    if version != API_VERSION {
        let observed = format!("the API version is {version}");
        return Err(ProbeFailure::Ineffective { step: "KVM_GET_API_VERSION", observed });
    }
    let machine =
        owned(with_number(device, KVM_CREATE_VM, 0).map_err(syscall_failed("create a virtual machine"))?);
    with_number(&machine, KVM_SET_TSS_ADDR, TASK_STATE_ADDRESS)
        .map_err(syscall_failed("set the task state address"))?;
    give_memory(&machine)?;
    let processor =
        owned(with_number(&machine, KVM_CREATE_VCPU, 0).map_err(syscall_failed("create a virtual CPU"))?);
    start_at_zero(&processor)?;
    let state = map_state(device, &processor)?;
    interrupt_after_a_second();
    with_number(&processor, KVM_RUN, 0).map_err(|errno| match errno {
        Errno::INTR => {
            ProbeFailure::Ineffective { step: "KVM_RUN", observed: "no halt within 1 s".to_owned() }
        }
        errno => syscall_failed("run the guest")(errno),
    })?;
    // SAFETY: the mapping has at least the size of `kvm_run`, whose field `exit_reason` is a 32-bit number at byte 8;
    // a page is aligned for it, and the kernel writes it only during KVM_RUN.
    let reason = unsafe { state.byte_add(8).cast::<u32>().read_volatile() };
    let mut registers: KvmRegisters = [0; 18];
    with_structure(&processor, KVM_GET_REGS, &mut registers).map_err(syscall_failed("read the registers"))?;
    if reason == EXIT_HALT && registers[0] & 0xff == u64::from(GUEST[1]) {
        return Ok("a guest of two instructions ran and halted".to_owned());
    }
    let observed = format!("the guest exited for reason {reason} with result {:#x}", registers[0]);
    Err(ProbeFailure::Ineffective { step: "KVM_RUN", observed })
}

/// Maps one page with the guest code at the start of the guest's memory. It stays until this process ends.
fn give_memory(machine: &OwnedFd) -> Result<(), ProbeFailure> {
    // SAFETY: the kernel chooses an address that nothing else uses.
    let page = unsafe {
        mmap_anonymous(std::ptr::null_mut(), PAGE, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
    }
    .map_err(syscall_failed("allocate the guest's memory"))?;
    // SAFETY: the page was just mapped, is writable, larger than the guest, and does not overlap the constant.
    unsafe { page.cast::<u8>().copy_from_nonoverlapping(GUEST.as_ptr(), GUEST.len()) };
    let mut region = KvmMemoryRegion {
        slot: 0,
        flags: 0,
        guest_address: 0,
        size: PAGE as u64,
        host_address: page.addr() as u64,
    };
    with_structure(machine, KVM_SET_USER_MEMORY_REGION, &mut region)
        .map_err(syscall_failed("set the guest's memory"))?;
    Ok(())
}

/// Sets the instruction pointer to 0: a CPU starts in real mode near the end of the address space, but the guest code
/// is at its start.
fn start_at_zero(processor: &OwnedFd) -> Result<(), ProbeFailure> {
    let mut segments: KvmSegmentRegisters = [0; 39];
    with_structure(processor, KVM_GET_SREGS, &mut segments).map_err(syscall_failed("read the segments"))?;
    segments[0] = 0;
    segments[1] &= !(0xffff << 32);
    with_structure(processor, KVM_SET_SREGS, &mut segments).map_err(syscall_failed("set the segments"))?;
    let mut registers: KvmRegisters = [0; 18];
    // The second bit of the flags is always set.
    registers[17] = 2;
    with_structure(processor, KVM_SET_REGS, &mut registers).map_err(syscall_failed("set the registers"))?;
    Ok(())
}

/// Maps the `kvm_run` structure, in which the kernel reports why the guest exited.
fn map_state(device: &OwnedFd, processor: &OwnedFd) -> Result<*mut libc::c_void, ProbeFailure> {
    let size = with_number(device, KVM_GET_VCPU_MMAP_SIZE, 0)
        .map_err(syscall_failed("query the size of kvm_run"))?;
    let size = usize::try_from(size).expect("sizes returned by the kernel are positive");
    // SAFETY: the kernel chooses an address that nothing else uses.
    unsafe { mmap(std::ptr::null_mut(), size, ProtFlags::READ, MapFlags::SHARED, processor, 0) }
        .map_err(syscall_failed("map kvm_run"))
}

/// Schedules a signal after one second: a guest that never halts keeps its process in the kernel until a signal
/// arrives.
fn interrupt_after_a_second() {
    extern "C" fn do_nothing(_: libc::c_int) {}
    // SAFETY: the handler does nothing, so it may run at any moment; the structure is zero except for the handler,
    // which means no flags, so that the interrupted call is not restarted.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = do_nothing as *const () as libc::sighandler_t;
        libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut());
        libc::alarm(1);
    }
}

fn owned(descriptor: libc::c_int) -> OwnedFd {
    // SAFETY: the kernel has just created this descriptor for this process, and nothing else owns it.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

fn with_number(descriptor: &OwnedFd, request: Ioctl, number: u64) -> Result<libc::c_int, Errno> {
    // SAFETY: the requests passed to this function take a number, or nothing, and access no memory of this process.
    let result = unsafe { libc::ioctl(descriptor.as_raw_fd(), request, number) };
    if result < 0 { Err(last_errno()) } else { Ok(result) }
}

fn with_structure<T>(descriptor: &OwnedFd, request: Ioctl, structure: &mut T) -> Result<libc::c_int, Errno> {
    // SAFETY: the kernel reads or writes as many bytes as the request number says, which was derived from the size of
    // `T`, and every bit pattern is a valid value of the integers that it consists of.
    let result = unsafe { libc::ioctl(descriptor.as_raw_fd(), request, std::ptr::from_mut(structure)) };
    if result < 0 { Err(last_errno()) } else { Ok(result) }
}

//! Deterministic clock and random numbers of a call.
//!
//! The library is loaded before the C library of the interpreter, so that it receives Python's requests for the time
//! of day and for random bytes. Until a call begins, and for all other clocks, the answer is the real one.
//!
//! The pinned clock stands at one moment. It moves by a microsecond with each read, so that no two times are equal,
//! by the duration of each sleep, and at least by whole seconds of real time, so that code that waits for it in
//! another way does not wait for ever. A call that otherwise takes less than a second sees the same times in every
//! run.

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU64, Ordering::Relaxed};

const SECOND: i64 = 1_000_000_000;
const MICROSECOND: i64 = 1_000;

static IS_PINNED: AtomicBool = AtomicBool::new(false);
static IS_SLEEPLESS: AtomicBool = AtomicBool::new(false);
/// The moment, in nanoseconds since 1970, and the monotonic time at which it was set.
static MOMENT: AtomicI64 = AtomicI64::new(0);
static BEGAN: AtomicI64 = AtomicI64::new(0);
static READS: AtomicI64 = AtomicI64::new(0);
/// Total duration of sleeps, in nanoseconds.
static SLEPT: AtomicI64 = AtomicI64::new(0);
/// State of `SplitMix64`.
static RANDOM_STATE: AtomicU64 = AtomicU64::new(0);
/// Node part of time-based UUIDs.
static MACHINE: AtomicU64 = AtomicU64::new(0);

/// Pins the time of day to this moment and derives random bytes from the seed.
#[unsafe(no_mangle)]
pub extern "C" fn menace_pin(seed: u64, moment: i64) {
    BEGAN.store(nanoseconds(real_time(libc::CLOCK_MONOTONIC)), Relaxed);
    MOMENT.store(moment, Relaxed);
    READS.store(0, Relaxed);
    SLEPT.store(0, Relaxed);
    RANDOM_STATE.store(seed, Relaxed);
    MACHINE.store(mixed(!seed), Relaxed);
    IS_PINNED.store(true, Relaxed);
}

fn pinned_now() -> i64 {
    let passed = nanoseconds(real_time(libc::CLOCK_MONOTONIC)) - BEGAN.load(Relaxed);
    let reads = READS.fetch_add(1, Relaxed);
    let moved = SLEPT.load(Relaxed).max(passed / SECOND * SECOND);
    MOMENT.load(Relaxed) + moved + reads * MICROSECOND
}

fn nanoseconds(time: libc::timespec) -> i64 {
    time.tv_sec * SECOND + time.tv_nsec
}

fn timespec(nanoseconds: i64) -> libc::timespec {
    libc::timespec { tv_sec: nanoseconds.div_euclid(SECOND), tv_nsec: nanoseconds.rem_euclid(SECOND) }
}

fn is_time_of_day(clock: libc::clockid_t) -> bool {
    matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI)
}

/// A function of the C library that this library interposes.
struct InterposedFunction {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl InterposedFunction {
    const fn new(name: &'static CStr) -> Self {
        Self { name, found: AtomicPtr::new(std::ptr::null_mut()) }
    }

    fn pointer(&self) -> *mut c_void {
        let found = self.found.load(Relaxed);
        if !found.is_null() {
            return found;
        }
        // SAFETY: the name ends with a zero byte, and the handle is one that dlsym(3) knows.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.found.store(found, Relaxed);
        found
    }
}

static REAL_CLOCK: InterposedFunction = InterposedFunction::new(c"clock_gettime");
static REAL_RANDOM: InterposedFunction = InterposedFunction::new(c"getrandom");
static REAL_WAIT: InterposedFunction = InterposedFunction::new(c"sem_timedwait");
static REAL_SLEEP: InterposedFunction = InterposedFunction::new(c"clock_nanosleep");
static REAL_SELECT: InterposedFunction = InterposedFunction::new(c"select");
static REAL_NAME: InterposedFunction = InterposedFunction::new(c"uuid_generate_time_safe");

type ClockFunction = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int;
type RandomFunction = unsafe extern "C" fn(*mut c_void, usize, u32) -> isize;
type SleepFunction =
    unsafe extern "C" fn(libc::clockid_t, c_int, *const libc::timespec, *mut libc::timespec) -> c_int;
type SelectFunction = unsafe extern "C" fn(
    c_int,
    *mut libc::fd_set,
    *mut libc::fd_set,
    *mut libc::fd_set,
    *mut libc::timeval,
) -> c_int;
type UuidFunction = unsafe extern "C" fn(*mut u8) -> c_int;
type SemaphoreWaitFunction = unsafe extern "C" fn(*mut libc::sem_t, *const libc::timespec) -> c_int;

fn real_time(clock: libc::clockid_t) -> libc::timespec {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure lives during the call; a clock that always exists cannot fail.
    unsafe { real_clock(clock, &raw mut time) };
    time
}

/// # Safety
///
/// As `clock_gettime(2)`.
unsafe fn real_clock(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    let next = REAL_CLOCK.pointer();
    if next.is_null() {
        // SAFETY: the arguments are those of the system call, as the caller promises.
        return unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) } as c_int;
    }
    // SAFETY: the C library has a function of this type under this name.
    let next: ClockFunction = unsafe { std::mem::transmute(next) };
    // SAFETY: as the caller promises.
    unsafe { next(clock, time) }
}

/// # Safety
///
/// As `clock_gettime(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    if !IS_PINNED.load(Relaxed) || !is_time_of_day(clock) || time.is_null() {
        // SAFETY: as the caller promises.
        return unsafe { real_clock(clock, time) };
    }
    // SAFETY: the caller promises that it points to a structure, and it is not null.
    unsafe { *time = timespec(pinned_now()) };
    0
}

/// # Safety
///
/// As `gettimeofday(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(time: *mut libc::timeval, _zone: *mut c_void) -> c_int {
    let mut now = timespec(0);
    // SAFETY: the structure lives during the call.
    let result = unsafe { clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    if !time.is_null() {
        // SAFETY: the caller promises that it points to a structure.
        unsafe { *time = libc::timeval { tv_sec: now.tv_sec, tv_usec: now.tv_nsec / MICROSECOND } };
    }
    result
}

/// # Safety
///
/// As `time(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn time(place: *mut libc::time_t) -> libc::time_t {
    let mut now = timespec(0);
    // SAFETY: the structure lives during the call.
    unsafe { clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    if !place.is_null() {
        // SAFETY: the caller promises that it points to a number.
        unsafe { *place = now.tv_sec };
    }
    now.tv_sec
}

/// Interpreters before 3.11 wait until a time of day, which the kernel compares with its own clock.
///
/// # Safety
///
/// As `sem_timedwait(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sem_timedwait(semaphore: *mut libc::sem_t, until: *const libc::timespec) -> c_int {
    // SAFETY: the C library has a function of this type under this name.
    let next: SemaphoreWaitFunction = unsafe { std::mem::transmute(REAL_WAIT.pointer()) };
    if !IS_PINNED.load(Relaxed) || until.is_null() {
        // SAFETY: as the caller promises.
        return unsafe { next(semaphore, until) };
    }
    // SAFETY: the caller promises that it points to a structure, and it is not null.
    let left = nanoseconds(unsafe { *until }) - pinned_now();
    let real = timespec(nanoseconds(real_time(libc::CLOCK_REALTIME)) + left);
    // SAFETY: as the caller promises; the structure lives during the call.
    unsafe { next(semaphore, &raw const real) }
}

/// Sets whether sleeping takes time only on the pinned clock, so that threads that alternate meet at the same points.
#[unsafe(no_mangle)]
pub extern "C" fn menace_sleepless(is_sleepless: c_int) {
    IS_SLEEPLESS.store(is_sleepless != 0, Relaxed);
}

/// Counts a sleep in whole milliseconds, because the end of a sleep is never met exactly.
fn will_sleep(nanoseconds: i64) {
    const MILLISECOND: i64 = 1_000_000;
    let slept = (nanoseconds.max(0) + MILLISECOND / 2) / MILLISECOND * MILLISECOND;
    SLEPT.fetch_add(slept, Relaxed);
}

/// # Safety
///
/// As `clock_nanosleep(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_nanosleep(
    clock: libc::clockid_t,
    flags: c_int,
    request: *const libc::timespec,
    left: *mut libc::timespec,
) -> c_int {
    if IS_PINNED.load(Relaxed) && !request.is_null() {
        // SAFETY: the caller promises that it points to a structure, and it is not null.
        let mut duration = nanoseconds(unsafe { *request });
        if flags & libc::TIMER_ABSTIME != 0 {
            duration -= if is_time_of_day(clock) { pinned_now() } else { nanoseconds(real_time(clock)) };
        }
        will_sleep(duration);
        if IS_SLEEPLESS.load(Relaxed) {
            return 0;
        }
        if flags & libc::TIMER_ABSTIME != 0 && is_time_of_day(clock) {
            let request = timespec(duration.max(0));
            // SAFETY: both structures are there, as the caller promises, and the call does not keep them.
            return unsafe { sleep(libc::CLOCK_MONOTONIC, 0, &raw const request, left) };
        }
    }
    // SAFETY: as the caller promises.
    unsafe { sleep(clock, flags, request, left) }
}

/// # Safety
///
/// As `clock_nanosleep(2)`.
unsafe fn sleep(
    clock: libc::clockid_t,
    flags: c_int,
    request: *const libc::timespec,
    left: *mut libc::timespec,
) -> c_int {
    // SAFETY: the C library has a function of this type under this name.
    let next: SleepFunction = unsafe { std::mem::transmute(REAL_SLEEP.pointer()) };
    // SAFETY: as the caller promises.
    unsafe { next(clock, flags, request, left) }
}

/// Interpreters before 3.11 sleep with a `select` without descriptors.
///
/// # Safety
///
/// As `select(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn select(
    count: c_int,
    reading: *mut libc::fd_set,
    writing: *mut libc::fd_set,
    failing: *mut libc::fd_set,
    longest: *mut libc::timeval,
) -> c_int {
    if IS_PINNED.load(Relaxed) && count == 0 && !longest.is_null() {
        // SAFETY: the caller promises that it points to a structure, and it is not null.
        let longest = unsafe { *longest };
        will_sleep(longest.tv_sec * SECOND + longest.tv_usec * MICROSECOND);
        if IS_SLEEPLESS.load(Relaxed) {
            return 0;
        }
    }
    // SAFETY: the C library has a function of this type under this name.
    let next: SelectFunction = unsafe { std::mem::transmute(REAL_SELECT.pointer()) };
    // SAFETY: as the caller promises.
    unsafe { next(count, reading, writing, failing, longest) }
}

fn next_bytes() -> [u8; 8] {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    mixed(RANDOM_STATE.fetch_add(STEP, Relaxed).wrapping_add(STEP)).to_le_bytes()
}

fn mixed(state: u64) -> u64 {
    let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// # Safety
///
/// As `getrandom(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(place: *mut c_void, length: usize, flags: u32) -> isize {
    if !IS_PINNED.load(Relaxed) || place.is_null() {
        let next = REAL_RANDOM.pointer();
        if next.is_null() {
            // SAFETY: the arguments are those of the system call, as the caller promises.
            return unsafe { libc::syscall(libc::SYS_getrandom, place, length, flags) as isize };
        }
        // SAFETY: the C library has a function of this type under this name.
        let next: RandomFunction = unsafe { std::mem::transmute(next) };
        // SAFETY: as the caller promises.
        return unsafe { next(place, length, flags) };
    }
    // SAFETY: the caller promises that there is room for `length` bytes.
    let bytes = unsafe { std::slice::from_raw_parts_mut(place.cast::<u8>(), length) };
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&next_bytes()[..chunk.len()]);
    }
    length.cast_signed()
}

/// Time-based UUIDs: libuuid mixes in the process number, which is not the same for every call.
///
/// # Safety
///
/// As `uuid_generate_time_safe(3)`: there is room for 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uuid_generate_time_safe(place: *mut u8) -> c_int {
    let next = REAL_NAME.pointer();
    if !IS_PINNED.load(Relaxed) && !next.is_null() {
        // SAFETY: libuuid has a function of this type under this name.
        let next: UuidFunction = unsafe { std::mem::transmute(next) };
        // SAFETY: as the caller promises.
        return unsafe { next(place) };
    }
    let name = name_at(pinned_now(), MACHINE.load(Relaxed));
    // SAFETY: the caller promises that there is room.
    unsafe { std::ptr::copy_nonoverlapping(name.as_ptr(), place, name.len()) };
    // The return value 0 says that the UUID is unique.
    0
}

/// A UUID of version 1 (RFC 9562): the time since 1582 in steps of 100 ns, a clock sequence, and a node with the
/// multicast bit, which marks it as random.
fn name_at(now: i64, machine: u64) -> [u8; 16] {
    const SINCE_1582: i64 = 0x01b2_1dd2_1381_4000;
    let time = (now / 100 + SINCE_1582).to_be_bytes();
    let [sequence_high, sequence_low, node @ ..] = machine.to_be_bytes();
    let mut name = [0; 16];
    name[..4].copy_from_slice(&time[4..]);
    name[4..6].copy_from_slice(&time[2..4]);
    name[6..8].copy_from_slice(&[time[0] & 0x0f | 0x10, time[1]]);
    name[8..10].copy_from_slice(&[sequence_high & 0x3f | 0x80, sequence_low]);
    name[10..].copy_from_slice(&node);
    name[10] |= 1;
    name
}

/// # Safety
///
/// As `getentropy(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getentropy(place: *mut c_void, length: usize) -> c_int {
    // SAFETY: as the caller promises.
    if unsafe { getrandom(place, length, 0) } < 0 { -1 } else { 0 }
}

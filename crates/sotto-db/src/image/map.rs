//! The one place where a file becomes memory, and the crate's only `unsafe`.
//!
//! A mapped file that is cut short has pages with nothing behind them, and reading one is SIGBUS, which ends a process and
//! with it everything else that it serves. So the first mapping installs a handler. It puts zeros in the place of a mapping
//! whose file is gone, and marks it ([`FileMapping::is_whole`]); whoever reads asks for the mark afterwards, and throws away what
//! it made of zeros. Every other SIGBUS goes to the handler that was there before.

use libc::{c_int, c_void, siginfo_t};
#[cfg(target_os = "linux")]
use memmap2::UncheckedAdvice;
use memmap2::{Advice, Mmap};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// A file, mapped for reading.
pub(crate) struct FileMapping {
    mmap: Mmap,
    place: &'static MappedRange,
}

impl FileMapping {
    /// Maps all of a file.
    #[allow(unsafe_code)]
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        static HANDLED: OnceLock<Result<(), i32>> = OnceLock::new();
        HANDLED.get_or_init(handle_faults).map_err(io::Error::from_raw_os_error)?;
        // SAFETY: the bytes of a mapping must not change while it is borrowed. Images are written to a
        // temporary file and renamed when complete; nothing in sotto opens one for writing afterwards,
        // and an update writes another file. The mapping itself is read-only. Someone who writes to an
        // image in place while it is served breaks this, and `spec/image.md` says not to; the file's
        // size and time tell (`MappedFile::check`), a fault does too, and nothing is answered from it then.
        // The copy of a table that buckets are read from (`table/buckets`) is written before it is mapped,
        // and no other process has its file, which has no name. Nor does one have that of rows which are audited.
        let mmap = unsafe { Mmap::map(file) }?;
        let place = MappedRange::take(mmap.as_ptr().addr(), mmap.len());
        Ok(FileMapping { mmap, place })
    }

    /// All of it.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.mmap
    }

    /// Whether every byte that was read so far came from the file. Once false, it stays so.
    pub(crate) fn is_whole(&self) -> bool {
        !self.place.cut.load(SeqCst)
    }

    /// Asks the kernel to use large pages for a part. Only a hint: refusals are ignored.
    pub(crate) fn wants_huge_pages(&self, offset: usize, bytes: usize) {
        #[cfg(target_os = "linux")]
        let _ = self.mmap.advise_range(Advice::HugePage, offset, bytes);
    }

    /// Asks the kernel to read a part in. Only a hint, as well.
    pub(crate) fn will_need(&self, offset: usize, bytes: usize) {
        #[cfg(unix)]
        let _ = self.mmap.advise_range(Advice::WillNeed, offset, bytes);
    }

    /// Unmaps the pages of a part from this process: they count as its memory no longer. Whoever reads there again gets the same
    /// bytes. Only a hint, as well.
    #[allow(unsafe_code)]
    pub(crate) fn release(&self, offset: usize, bytes: usize) {
        // SAFETY: this advice loses what was written to memory that no file stands behind. Nobody writes to a mapping of this
        // module: it is read-only, of a file whose bytes are read in again, or of zeros where that is gone, which come again as
        // zeros. The range is checked to lie in the mapping.
        #[cfg(target_os = "linux")]
        let _ = unsafe { self.mmap.unchecked_advise_range(UncheckedAdvice::DontNeed, offset, bytes) };
    }
}

impl Drop for FileMapping {
    fn drop(&mut self) {
        // Before the memory goes: it may belong to something else the next moment.
        self.place.give_back();
    }
}

/// Where a mapping lies, for the handler. Places are never freed, since a handler may look at one at any time; the next
/// mapping takes one that was given back. What is locked here a handler never waits for: it only loads.
struct MappedRange {
    taken: AtomicBool,
    /// 0 where there is none.
    start: AtomicUsize,
    bytes: AtomicUsize,
    /// Whether it was read where the file had no bytes any more.
    cut: AtomicBool,
    next: OnceLock<&'static MappedRange>,
}

static FIRST: MappedRange = MappedRange::new();

impl MappedRange {
    const fn new() -> Self {
        MappedRange {
            taken: AtomicBool::new(false),
            start: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            cut: AtomicBool::new(false),
            next: OnceLock::new(),
        }
    }

    fn take(start: usize, bytes: usize) -> &'static MappedRange {
        let mut place = &FIRST;
        while place.taken.swap(true, SeqCst) {
            place = place.next.get_or_init(|| Box::leak(Box::new(MappedRange::new())));
        }
        place.cut.store(false, SeqCst);
        place.bytes.store(bytes, SeqCst);
        place.start.store(start, SeqCst);
        place
    }

    fn give_back(&self) {
        self.start.store(0, SeqCst);
        self.bytes.store(0, SeqCst);
        self.taken.store(false, SeqCst);
    }

    /// The mapping that an address belongs to, and where it lies.
    fn of(address: usize) -> Option<(&'static MappedRange, usize, usize)> {
        let mut place = Some(&FIRST);
        while let Some(here) = place {
            let (start, bytes) = (here.start.load(SeqCst), here.bytes.load(SeqCst));
            // A mapping ends with a whole page, whatever the length of its file. Another mapping that takes this place in
            // between is not the one at fault: that one is borrowed, and keeps its own.
            let fits = start != 0 && address.checked_sub(start).is_some_and(|at| at < bytes);
            if fits && here.start.load(SeqCst) == start {
                return Some((here, start, bytes));
            }
            place = here.next.get().copied();
        }
        None
    }
}

/// What handled SIGBUS before.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Installs the handler.
#[allow(unsafe_code)]
fn handle_faults() -> Result<(), i32> {
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: both pointers are to a `sigaction` or null, as `sigaction` takes them; zeros are a valid one, and mean the
    // default. The handler's type is the one that SA_SIGINFO asks for. It runs on the stack that was set aside for it, so
    // that the handler before, which tells of overflown stacks, finds what it expects.
    unsafe {
        let failed = || io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL);
        if libc::sigaction(libc::SIGBUS, ptr::null(), before.as_mut_ptr()) != 0 {
            return Err(failed());
        }
        // Known before the first fault can ask for it.
        BEFORE.get_or_init(|| before.assume_init());
        let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        action.sa_sigaction = on_fault as extern "C" fn(c_int, *mut siginfo_t, *mut c_void) as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        match libc::sigaction(libc::SIGBUS, &action, ptr::null_mut()) {
            0 => Ok(()),
            _ => Err(failed()),
        }
    }
}

/// Runs on the thread that has read where there is nothing.
#[allow(unsafe_code)]
extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives a handler with SA_SIGINFO a valid `info`. A positive code says that it holds an address.
    let address = unsafe { ((*info).si_code > 0).then(|| (*info).si_addr().addr()) };
    let found = address.and_then(MappedRange::of);
    if let Some((place, start, bytes)) = found {
        // Before the zeros: who reads them sees the mark.
        place.cut.store(true, SeqCst);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
        // SAFETY: the range is all of a mapping of this module, which stays: the thread that reads it borrows it. Zeros take
        // its place, at the same address, of the same length, and to be read only; `Mmap` unmaps them in the end as it would
        // have the file. The call is one to the system, and touches nothing that the thread may have been in the middle of.
        let zeros =
            unsafe { libc::mmap(ptr::without_provenance_mut(start), bytes, libc::PROT_READ, flags, -1, 0) };
        if zeros != libc::MAP_FAILED {
            return;
        }
    }
    pass_on(signal, info, context);
}

/// Gives a fault that is none of ours to the handler before, or to the system.
#[allow(unsafe_code)]
fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let before = BEFORE.get().filter(|before| ![libc::SIG_DFL, libc::SIG_IGN].contains(&before.sa_sigaction));
    // SAFETY: a `sigaction` with SA_SIGINFO holds a function of three arguments, and any other that is neither default nor
    // ignored one of a single argument. The default action is installed and the signal raised as the manual says to; it comes
    // once this handler has returned.
    unsafe {
        match before {
            Some(before) if before.sa_flags & libc::SA_SIGINFO != 0 => {
                type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
                std::mem::transmute::<usize, Handler>(before.sa_sigaction)(signal, info, context);
            }
            Some(before) => std::mem::transmute::<usize, extern "C" fn(c_int)>(before.sa_sigaction)(signal),
            None => {
                let default = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
                libc::sigaction(signal, &default, ptr::null_mut());
                libc::raise(signal);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_that_is_cut_short_is_zeros_and_a_mark() {
        let maps: Vec<_> = [1u8, 2]
            .map(|byte| {
                let mut file = tempfile::tempfile().unwrap();
                file.write_all(&vec![byte; 100_000]).unwrap();
                (FileMapping::of(&file).unwrap(), file)
            })
            .into();
        let [(cut, file), (whole, _)] = &maps[..] else { unreachable!() };
        file.set_len(5000).unwrap();
        assert!(cut.is_whole(), "nobody has looked yet");
        // Threads that all meet the hole at once.
        let sums = std::thread::scope(|scope| {
            let sum = || cut.bytes().iter().map(|byte| u64::from(*byte)).sum::<u64>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(sum)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(sums.iter().all(|sum| *sum <= 8192) && !cut.is_whole());
        assert!(whole.bytes().iter().all(|byte| *byte == 2) && whole.is_whole());
        // Its place is taken by the next, without the mark.
        drop(maps);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[3; 10]).unwrap();
        let next = FileMapping::of(&file).unwrap();
        assert!(next.bytes() == [3; 10] && next.is_whole());
    }
}

//! The only module that maps files into memory, with the crate's only `unsafe` code.
//!
//! A mapped file that is cut short has pages without contents. Reading one raises SIGBUS, which
//! ends the process and everything else that it serves. So the first mapping installs a handler,
//! which puts zeros in place of a mapping whose file was cut short, and marks it
//! ([`FileMapping::is_whole`]). A reader checks the mark afterwards, and discards what it computed
//! from zeros. Every other SIGBUS goes to the handler that was installed before.

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

/// A file mapped for reading.
pub(crate) struct FileMapping {
    mmap: Mmap,
    place: &'static MappedRange,
}

impl FileMapping {
    /// Maps a whole file.
    #[allow(unsafe_code)]
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        static HANDLED: OnceLock<Result<(), i32>> = OnceLock::new();
        HANDLED.get_or_init(handle_faults).map_err(io::Error::from_raw_os_error)?;
        // SAFETY: the bytes of a mapping must not change while it is borrowed. Images are written
        // to a temporary file and renamed when complete; nothing in sotto opens one for writing
        // afterwards, and an update writes another file. The mapping itself is read-only. Someone
        // who writes to an image in place while it is served breaks this, and `spec/image.md`
        // forbids it. The file's size and time reveal such a write (`MappedFile::check`), and so
        // does a fault; no answer is then computed from the file. The copy of a table that buckets
        // are read from (`table/buckets`) is written before it is mapped, and no other process has
        // its file, which has no name. The file of audited rows has no name either.
        let mmap = unsafe { Mmap::map(file) }?;
        let place = MappedRange::take(mmap.as_ptr().addr(), mmap.len());
        Ok(FileMapping { mmap, place })
    }

    /// Bytes of the whole mapping.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.mmap
    }

    /// Whether every byte read so far came from the file. Once false, it stays false.
    pub(crate) fn is_whole(&self) -> bool {
        !self.place.cut.load(SeqCst)
    }

    /// Advises the kernel to use huge pages for a range. A refusal is ignored.
    pub(crate) fn wants_huge_pages(&self, offset: usize, bytes: usize) {
        #[cfg(target_os = "linux")]
        let _ = self.mmap.advise_range(Advice::HugePage, offset, bytes);
    }

    /// Advises the kernel to read a range ahead. A refusal is ignored.
    pub(crate) fn will_need(&self, offset: usize, bytes: usize) {
        #[cfg(unix)]
        let _ = self.mmap.advise_range(Advice::WillNeed, offset, bytes);
    }

    /// Advises the kernel to unmap the pages of a range from this process, so that they no longer
    /// count as its memory. A later read of the range returns the same bytes. A refusal is ignored.
    #[allow(unsafe_code)]
    pub(crate) fn release(&self, offset: usize, bytes: usize) {
        // SAFETY: this advice discards writes to private memory that no file backs. Mappings of
        // this module are read-only. Their pages are read again from the file, or are zeros where
        // the file was cut short, and become zeros again. The range is checked to be in the
        // mapping.
        #[cfg(target_os = "linux")]
        let _ = unsafe { self.mmap.unchecked_advise_range(UncheckedAdvice::DontNeed, offset, bytes) };
    }
}

impl Drop for FileMapping {
    fn drop(&mut self) {
        // Before the memory is unmapped: its addresses may belong to something else at the next
        // moment.
        self.place.give_back();
    }
}

/// Address range of a mapping, for the signal handler. Ranges are never freed, since a handler may
/// read one at any time; the next mapping reuses a range that was released. The handler never waits
/// for a lock: it only loads.
struct MappedRange {
    taken: AtomicBool,
    /// Address of the first byte, or 0 if the entry is unused.
    start: AtomicUsize,
    bytes: AtomicUsize,
    /// Whether the mapping was read where the file has no bytes any more.
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

    /// The mapping that an address belongs to, with its start and its length.
    fn of(address: usize) -> Option<(&'static MappedRange, usize, usize)> {
        let mut place = Some(&FIRST);
        while let Some(here) = place {
            let (start, bytes) = (here.start.load(SeqCst), here.bytes.load(SeqCst));
            // A mapping ends with a whole page, whatever the length of its file. Another mapping
            // that reuses this entry meanwhile is not the one at fault: that one is borrowed, and
            // keeps its own entry.
            let fits = start != 0 && address.checked_sub(start).is_some_and(|at| at < bytes);
            if fits && here.start.load(SeqCst) == start {
                return Some((here, start, bytes));
            }
            place = here.next.get().copied();
        }
        None
    }
}

/// Handler of SIGBUS that was installed before ours.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Installs the handler of SIGBUS.
#[allow(unsafe_code)]
fn handle_faults() -> Result<(), i32> {
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: both pointers are to a `sigaction` or null, as `sigaction` takes them; zeros are a
    // valid one, and mean the default. The handler has the type that SA_SIGINFO requires. It runs
    // on the alternate stack, so that the previous handler, which reports stack overflows, finds
    // what it expects.
    unsafe {
        let failed = || io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL);
        if libc::sigaction(libc::SIGBUS, ptr::null(), before.as_mut_ptr()) != 0 {
            return Err(failed());
        }
        // Set before the first fault can need it.
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

/// Handles SIGBUS on the thread that read a page without contents.
#[allow(unsafe_code)]
extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives a handler with SA_SIGINFO a valid `info`. A positive code says that
    // it holds an address.
    let address = unsafe { ((*info).si_code > 0).then(|| (*info).si_addr().addr()) };
    let found = address.and_then(MappedRange::of);
    if let Some((place, start, bytes)) = found {
        // Set before the zeros are mapped, so that a thread that reads them sees the mark.
        place.cut.store(true, SeqCst);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
        // SAFETY: the range is all of a mapping of this module, which stays alive: the thread that
        // reads it borrows it. Zeros replace it at the same address, with the same length,
        // read-only; `Mmap` unmaps them in the end as it would have unmapped the file. The call is
        // a system call, and touches nothing that the thread may have been changing.
        let zeros =
            unsafe { libc::mmap(ptr::without_provenance_mut(start), bytes, libc::PROT_READ, flags, -1, 0) };
        if zeros != libc::MAP_FAILED {
            return;
        }
    }
    pass_on(signal, info, context);
}

/// Passes a fault outside of our mappings to the previous handler, or to the system.
#[allow(unsafe_code)]
fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let before = BEFORE.get().filter(|before| ![libc::SIG_DFL, libc::SIG_IGN].contains(&before.sa_sigaction));
    // SAFETY: a `sigaction` with SA_SIGINFO holds a function of three arguments, and any other that
    // is neither default nor ignored holds one of a single argument. The default action is
    // installed and the signal raised as the manual prescribes; it is delivered once this handler
    // has returned.
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
        // All threads fault in the missing pages at the same time.
        let sums = std::thread::scope(|scope| {
            let sum = || cut.bytes().iter().map(|byte| u64::from(*byte)).sum::<u64>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(sum)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(sums.iter().all(|sum| *sum <= 8192) && !cut.is_whole());
        assert!(whole.bytes().iter().all(|byte| *byte == 2) && whole.is_whole());
        // The next mapping reuses the entry, without the mark.
        drop(maps);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[3; 10]).unwrap();
        let next = FileMapping::of(&file).unwrap();
        assert!(next.bytes() == [3; 10] && next.is_whole());
    }
}

//! A disk in memory that loses what was not synced in a power loss, and whose operations can fail.

use crate::files::StorageBackend;
use crate::state::disk::{Disk, WriteFn};
use crate::state::metadata::FileFingerprint;
use rand_core::Rng;
use sotto_testkit::rng;
use std::collections::BTreeMap;
use std::io::{self, Cursor, ErrorKind, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

/// How a step fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The process dies: this step and all after it fail.
    Death,
    /// The step fails, and those after it go on.
    Once(ErrorKind),
}

#[derive(Debug, Clone)]
enum Op {
    Write(u64, Vec<u8>),
    Len(u64),
}

#[derive(Debug, Clone, Default)]
struct File {
    durable: Vec<u8>,
    now: Vec<u8>,
    pending: Vec<Op>,
}

fn apply(bytes: &mut Vec<u8>, op: &Op) {
    match op {
        Op::Len(len) => bytes.resize(*len as usize, 0),
        Op::Write(at, data) => {
            let end = *at as usize + data.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[*at as usize..end].copy_from_slice(data);
        }
    }
}

#[derive(Debug, Clone)]
enum Name {
    Put(String, u64),
    Gone(String),
}

fn rename(names: &mut BTreeMap<String, u64>, op: &Name) {
    match op {
        Name::Put(name, inode) => drop(names.insert(name.clone(), *inode)),
        Name::Gone(name) => drop(names.remove(name)),
    }
}

#[derive(Debug, Clone)]
struct Inner {
    files: BTreeMap<u64, File>,
    names: BTreeMap<String, u64>,
    durable_names: BTreeMap<String, u64>,
    pending_names: Vec<Name>,
    next_inode: u64,
    machine: String,
    /// Number of steps until a fault, and the fault.
    fuse: Option<(u64, Fault)>,
    dead: bool,
    steps: u64,
}

/// The disk. Clones are the same disk.
#[derive(Debug, Clone)]
pub(crate) struct Sim(Arc<Mutex<Inner>>);

impl Sim {
    pub(crate) fn new() -> Self {
        Sim(Arc::new(Mutex::new(Inner {
            files: BTreeMap::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            pending_names: Vec::new(),
            next_inode: 1,
            machine: "here".to_owned(),
            fuse: None,
            dead: false,
            steps: 0,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Schedules a fault after `steps` more steps.
    pub(crate) fn fuse(&self, steps: u64, fault: Fault) {
        self.lock().fuse = Some((steps, fault));
    }

    /// Number of steps so far.
    pub(crate) fn steps(&self) -> u64 {
        self.lock().steps
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.lock().dead
    }

    /// A copy as a backup program makes and a restore puts back: files of the same names and
    /// identities.
    pub(crate) fn copy(&self) -> Sim {
        Sim(Arc::new(Mutex::new(self.lock().clone())))
    }

    /// Puts an earlier copy in this one's place.
    pub(crate) fn restore(&self, copy: &Sim) {
        let earlier = copy.lock().clone();
        *self.lock() = earlier;
    }

    /// Replaces every file by another one with the same bytes, as copying a folder does.
    pub(crate) fn move_files(&self) {
        let mut inner = self.lock();
        let names: Vec<_> = inner.names.keys().cloned().collect();
        for name in names {
            let old = inner.names[&name];
            let file = inner.files[&old].clone();
            let inode = inner.next_inode;
            inner.next_inode += 1;
            inner.files.insert(inode, file);
            inner.names.insert(name.clone(), inode);
            inner.durable_names.insert(name, inode);
        }
    }

    pub(crate) fn rename_machine(&self, machine: &str) {
        self.lock().machine = machine.to_owned();
    }

    pub(crate) fn names_now(&self) -> Vec<String> {
        self.lock().names.keys().cloned().collect()
    }

    /// Changes the bytes of a file, synced.
    pub(crate) fn damage(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut inner = self.lock();
        let inode = inner.names[name];
        let file = inner.files.get_mut(&inode).unwrap();
        change(&mut file.now);
        file.durable = file.now.clone();
        file.pending.clear();
    }

    /// The bytes of a file; `None` if there is none.
    pub(crate) fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        let inner = self.lock();
        Some(inner.files[inner.names.get(name)?].now.clone())
    }

    /// Puts a file there, synced.
    pub(crate) fn put(&self, name: &str, bytes: &[u8]) {
        let mut inner = self.lock();
        let inode = inner.make(name);
        inner.durable_names = inner.names.clone();
        inner.files.insert(inode, File { durable: bytes.to_vec(), now: bytes.to_vec(), pending: Vec::new() });
    }

    pub(crate) fn delete(&self, name: &str) {
        let mut inner = self.lock();
        inner.names.remove(name);
        inner.durable_names.remove(name);
    }

    /// Simulates a power loss and a restart: of what was not synced, any part may have reached the
    /// disk, and the last write may be torn.
    pub(crate) fn crash(&self, label: &str) {
        let rng = &mut rng::seeded(label);
        let mut inner = self.lock();
        inner.fuse = None;
        inner.dead = false;
        for file in inner.files.values_mut() {
            for mut op in std::mem::take(&mut file.pending) {
                match rng.next_u32() % 3 {
                    0 => continue,
                    1 => {
                        if let Op::Write(_, data) = &mut op {
                            let sectors = data.len() / 512 + 1;
                            data.truncate(rng.next_u32() as usize % sectors * 512);
                        }
                    }
                    _ => {}
                }
                apply(&mut file.durable, &op);
            }
            file.now = file.durable.clone();
        }
        let mut names = std::mem::take(&mut inner.durable_names);
        let pending = std::mem::take(&mut inner.pending_names);
        let kept = rng.next_u32() as usize % (pending.len() + 1);
        pending.iter().take(kept).for_each(|op| rename(&mut names, op));
        inner.names = names.clone();
        inner.durable_names = names;
    }
}

impl Inner {
    fn step(&mut self) -> io::Result<()> {
        self.steps += 1;
        if self.dead {
            return Err(io::Error::other("the process is dead"));
        }
        match self.fuse {
            Some((0, Fault::Death)) => {
                self.dead = true;
                Err(io::Error::other("the process dies"))
            }
            Some((0, Fault::Once(kind))) => {
                self.fuse = None;
                Err(kind.into())
            }
            Some((steps, fault)) => {
                self.fuse = Some((steps - 1, fault));
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn name(&mut self, op: Name) {
        rename(&mut self.names, &op);
        self.pending_names.push(op);
    }

    fn sync_names(&mut self) -> io::Result<()> {
        self.step()?;
        self.durable_names = self.names.clone();
        self.pending_names.clear();
        Ok(())
    }

    fn make(&mut self, name: &str) -> u64 {
        let inode = self.next_inode;
        self.next_inode += 1;
        self.files.insert(inode, File::default());
        self.name(Name::Put(name.to_owned(), inode));
        inode
    }

    fn file(&mut self, inode: u64) -> &mut File {
        self.files.entry(inode).or_default()
    }

    fn write(&mut self, inode: u64, op: Op) -> io::Result<()> {
        self.step()?;
        let file = self.file(inode);
        apply(&mut file.now, &op);
        file.pending.push(op);
        Ok(())
    }

    fn sync(&mut self, inode: u64) -> io::Result<()> {
        self.step()?;
        let file = self.file(inode);
        file.durable = file.now.clone();
        file.pending.clear();
        Ok(())
    }
}

#[derive(Debug)]
struct Handle {
    disk: Sim,
    inode: u64,
}

impl StorageBackend for Handle {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.lock().file(self.inode).now.len() as u64)
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut inner = self.disk.lock();
        let from = inner.file(self.inode).now.get(offset as usize..offset as usize + out.len());
        out.copy_from_slice(from.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.disk.lock().write(self.inode, Op::Len(len))
    }
    fn sync_data(&self) -> io::Result<()> {
        self.disk.lock().sync(self.inode)
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.disk.lock().write(self.inode, Op::Write(offset, data.to_vec()))
    }
}

impl Disk for Sim {
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        let mut inner = self.lock();
        let inode = match inner.names.get(name).copied() {
            Some(inode) => inode,
            None => {
                inner.step()?;
                let inode = inner.make(name);
                inner.sync_names()?;
                inode
            }
        };
        drop(inner);
        Ok(Box::new(Handle { disk: self.clone(), inode }))
    }

    fn write(&self, name: &str, fill: WriteFn<'_>) -> sotto_core::Result<()> {
        let mut bytes = Vec::new();
        fill(&mut bytes)?;
        let aside = format!("{name}.new");
        let mut inner = self.lock();
        inner.step()?;
        let inode = inner.make(&aside);
        for (i, part) in bytes.chunks(300).enumerate() {
            inner.write(inode, Op::Write(i as u64 * 300, part.to_vec()))?;
        }
        inner.sync(inode)?;
        inner.step()?;
        inner.name(Name::Put(name.to_owned(), inode));
        inner.name(Name::Gone(aside));
        Ok(inner.sync_names()?)
    }

    fn read(&self, name: &str) -> io::Result<Option<Box<dyn Read>>> {
        let mut inner = self.lock();
        let Some(inode) = inner.names.get(name).copied() else { return Ok(None) };
        let bytes = inner.file(inode).now.clone();
        Ok(Some(Box::new(Cursor::new(bytes))))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut inner = self.lock();
        if inner.names.contains_key(name) {
            inner.step()?;
            inner.name(Name::Gone(name.to_owned()));
        }
        Ok(())
    }

    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.names_now())
    }

    fn home(&self, name: &str) -> io::Result<FileFingerprint> {
        let inner = self.lock();
        Ok(FileFingerprint::made_up(&inner.machine, inner.names.get(name).copied().unwrap_or_default()))
    }

    fn path(&self) -> PathBuf {
        PathBuf::from("simulated")
    }
}

//! A table in parts that are all in this process: each pass goes over all parts at once, each on
//! threads of its own, and the answers are those of the whole table. If a part is missing, there is
//! no answer.

use crate::SourceError;
use crate::locked;
use rayon::ThreadPool;
use rayon::prelude::*;
use sotto_core::{
    AnyHintServer, AnyJoin, AnyServer, AnySession, AnyStreamServer, Misuse, Result, SchemeEntry, TableMatrix,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Thread pools, shared by tables with the same number of parts, since one pass is made at a time.
#[derive(Debug)]
pub(crate) struct PartPools {
    threads: usize,
    pools: Mutex<BTreeMap<usize, Arc<[ThreadPool]>>>,
}

impl PartPools {
    /// Pools of `threads` threads in total, or 0 for one per core.
    pub(crate) fn new(threads: usize) -> Arc<Self> {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if threads == 0 { cores() } else { threads };
        Arc::new(PartPools { threads, pools: Mutex::default() })
    }

    /// A pool for each of `parts` parts, or one per thread if there are more parts.
    fn of(&self, parts: usize) -> Result<Arc<[ThreadPool]>, SourceError> {
        let count = parts.clamp(1, self.threads);
        let mut pools = locked(&self.pools);
        if let Some(pools) = pools.get(&count) {
            return Ok(pools.clone());
        }
        let pool = |number: usize| {
            // The first pools get the remaining threads.
            let threads = self.threads / count + usize::from(number < self.threads % count);
            let name = move |i| format!("sotto-part-{number}-{i}");
            rayon::ThreadPoolBuilder::new().num_threads(threads).thread_name(name).build()
        };
        let made = (0..count).map(pool).collect::<Result<Arc<[_]>, _>>();
        let made = made.map_err(|error| {
            SourceError::Unreadable(format!("cannot start threads for the parts: {error}"))
        })?;
        pools.insert(count, made.clone());
        Ok(made)
    }
}

/// All parts of a table, and what joins their partial answers.
pub(crate) struct JoinedParts {
    join: Box<dyn AnyJoin>,
    parts: Vec<Box<dyn AnyServer>>,
    pools: Arc<[ThreadPool]>,
    answer_bytes: usize,
}

type Partials = Vec<Result<Vec<u8>>>;

impl JoinedParts {
    /// Prepares to join these parts.
    ///
    /// # Errors
    /// [`SourceError::Inconsistent`] if the scheme does not split tables, or not into this number
    /// of parts.
    pub(crate) fn new(
        scheme: &SchemeEntry,
        params: &[u8],
        parts: Vec<Box<dyn AnyServer>>,
        pools: &PartPools,
        answer_bytes: u64,
    ) -> Result<Self, SourceError> {
        let none =
            || SourceError::Inconsistent("the table is in parts, which its scheme does not support".into());
        let count = u32::try_from(parts.len()).map_err(|_| none())?;
        let join = (scheme.server.parts.ok_or_else(none)?.join)(params, count)?;
        let answer_bytes = usize::try_from(answer_bytes).map_err(|_| none())?;
        Ok(JoinedParts { join, pools: pools.of(parts.len())?, parts, answer_bytes })
    }

    fn first(&self, bytes: impl Fn(&dyn AnyServer) -> usize) -> usize {
        self.parts.first().map_or(0, |part| bytes(part.as_ref()))
    }

    /// Joins the partial answers to a query, if every part has made one.
    fn answer(&self, session: &AnySession, query: &[u8], partials: Partials) -> Result<Vec<u8>> {
        let partials = partials.into_iter().collect::<Result<Vec<_>>>()?;
        self.join.join(session, query, &partials)
    }
}

/// The work of one pool: some parts, and the buffers for their partial answers.
type PartWork<'a> = (&'a [Box<dyn AnyServer>], &'a mut [Partials]);

/// Runs the work of all pools at once, and waits for them.
fn at_once(pools: &[ThreadPool], mut work: Vec<PartWork<'_>>, queries: &[(&AnySession, &[u8])]) {
    let (Some((pool, others)), Some((parts, partials))) = (pools.split_first(), work.pop()) else { return };
    pool.in_place_scope(|scope| {
        scope.spawn(move |_| {
            for (part, partials) in parts.iter().zip(partials) {
                *partials = part.answer_many(queries);
            }
        });
        at_once(others, work, queries);
    });
}

impl AnyServer for JoinedParts {
    fn keys_bytes(&self) -> usize {
        self.first(|part| part.keys_bytes())
    }
    fn query_bytes(&self) -> usize {
        self.first(|part| part.query_bytes())
    }
    fn answer_bytes(&self) -> usize {
        self.answer_bytes
    }
    fn session_bytes(&self) -> usize {
        self.first(|part| part.session_bytes())
    }
    fn admit(&self, keys: &[u8]) -> Result<AnySession> {
        self.join.admit(keys)
    }

    fn answer_many(&self, queries: &[(&AnySession, &[u8])]) -> Vec<Result<Vec<u8>>> {
        let mut made: Vec<Partials> = self.parts.iter().map(|_| Vec::new()).collect();
        let each = self.parts.len().div_ceil(self.pools.len()).max(1);
        let work = self.parts.chunks(each).zip(made.chunks_mut(each)).collect();
        at_once(&self.pools, work, queries);
        let mut made: Vec<_> = made.into_iter().map(Vec::into_iter).collect();
        let fewer = || Err(Misuse::Rule("a part has fewer partial answers than queries").into());
        let mut of_each = || made.iter_mut().map(|part| part.next().unwrap_or_else(fewer)).collect();
        let partials: Vec<Partials> = queries.iter().map(|_| of_each()).collect();
        queries
            .par_iter()
            .zip(partials)
            .map(|((session, query), partials)| self.answer(session, query, partials))
            .collect()
    }

    fn matrices(&self) -> Vec<TableMatrix<'_>> {
        self.parts.iter().flat_map(|part| part.matrices()).collect()
    }
    fn stream(&self) -> Option<&dyn AnyStreamServer> {
        None
    }
    fn hint_server(&self) -> Option<&dyn AnyHintServer> {
        None
    }
}

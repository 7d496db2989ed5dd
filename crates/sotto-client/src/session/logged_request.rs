//! A request that was made and is not settled: the numbers of its queries, and the bytes for each
//! server.
//!
//! The requested rows are not part of it. After a crash nobody waits for them any more, and the
//! client itself knows what it needs to go on.

use zeroize::Zeroizing;

/// A committed query request, in the format that `spec/state.md` describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedRequest {
    /// Numbers of the queries, in their order within each request.
    pub numbers: Vec<u64>,
    /// Queries for each server, one after the other, without the head of the frame: the head names
    /// an epoch, and the same queries are sent again in the next one.
    pub queries: Vec<Vec<u8>>,
}

impl LoggedRequest {
    /// Encodes the request.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend((self.numbers.len() as u32).to_le_bytes());
        self.numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
        out.extend((self.queries.len() as u32).to_le_bytes());
        for queries in &self.queries {
            out.extend((queries.len() as u64).to_le_bytes());
            out.extend(queries);
        }
        out
    }

    /// Decodes what [`LoggedRequest::encode`] wrote; `None` for anything else. The decoder is
    /// total, and allocates no more than the input's length.
    pub fn decode(mut bytes: &[u8]) -> Option<Self> {
        let from = &mut bytes;
        let mut numbers = Vec::new();
        for _ in 0..u32::from_le_bytes(take(from)?) {
            numbers.push(u64::from_le_bytes(take(from)?));
        }
        let mut queries = Vec::new();
        for _ in 0..u32::from_le_bytes(take(from)?) {
            let len = usize::try_from(u64::from_le_bytes(take(from)?)).ok()?;
            let (each, rest) = from.split_at_checked(len)?;
            *from = rest;
            queries.push(each.to_vec());
        }
        let even = |queries: &Vec<u8>| queries.len().is_multiple_of(numbers.len()) && !queries.is_empty();
        let whole = from.is_empty() && !numbers.is_empty() && !queries.is_empty() && queries.iter().all(even);
        whole.then_some(LoggedRequest { numbers, queries })
    }
}

fn take<const N: usize>(from: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, rest) = from.split_first_chunk::<N>()?;
    *from = rest;
    Some(*bytes)
}

/// What has to be durable before a request is sent.
pub(crate) struct JournalEntry {
    /// What changed in the client.
    pub(crate) journal: Zeroizing<Vec<u8>>,
    pub(crate) logged: LoggedRequest,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_and_damaged_ones_are_refused() {
        let logged = LoggedRequest { numbers: vec![3, 9], queries: vec![vec![1; 8], vec![2; 6]] };
        let bytes = logged.encode();
        assert_eq!(LoggedRequest::decode(&bytes), Some(logged));
        for cut in 0..bytes.len() {
            assert_eq!(LoggedRequest::decode(&bytes[..cut]), None, "cut at {cut}");
        }
        assert_eq!(LoggedRequest::decode(&[&bytes[..], &[0]].concat()), None);
        let none = LoggedRequest { numbers: Vec::new(), queries: vec![vec![1]] };
        assert_eq!(LoggedRequest::decode(&none.encode()), None, "an ask without queries is none");
        let uneven = LoggedRequest { numbers: vec![1, 2], queries: vec![vec![1; 3]] };
        assert_eq!(LoggedRequest::decode(&uneven.encode()), None, "queries of two sizes");
    }
}

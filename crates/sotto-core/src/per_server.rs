//! One value per server, counted by type: code of a two-server scheme that forgets a server does
//! not compile.

use std::marker::PhantomData;

/// No value, since no server is sent a query: clients look up in what they downloaded.
///
/// ```
/// use sotto_core::{NoServers, PerServer};
///
/// assert!(NoServers::<u8>::default().into_vec().is_empty());
/// assert!(NoServers::from_vec(vec!["an answer"]).is_none());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NoServers<T>(PhantomData<T>);

/// A value for the only server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneServer<T>(pub T);

/// A value for each of two servers that do not collude.
///
/// ```
/// use sotto_core::{PerServer, TwoServers};
///
/// let queries = TwoServers("share of the first", "share of the second");
/// assert_eq!(<TwoServers<&str> as PerServer<&str>>::SERVERS, 2);
/// let sent = queries.into_vec();
/// assert_eq!(sent.len(), 2);
/// assert!(TwoServers::from_vec(sent).is_some());
/// assert!(TwoServers::from_vec(vec!["one is not two"]).is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TwoServers<T>(pub T, pub T);

/// A fixed number of values, one per server.
pub trait PerServer<T>: Sized {
    /// Number of servers.
    const SERVERS: usize;
    /// Returns the values in the order of the servers.
    fn into_vec(self) -> Vec<T>;
    /// Makes the value from values in the order of the servers; `None` if their number is wrong.
    fn from_vec(values: Vec<T>) -> Option<Self>;
}

impl<T> PerServer<T> for NoServers<T> {
    const SERVERS: usize = 0;
    fn into_vec(self) -> Vec<T> {
        Vec::new()
    }
    fn from_vec(values: Vec<T>) -> Option<Self> {
        values.is_empty().then_some(NoServers(PhantomData))
    }
}

impl<T> PerServer<T> for OneServer<T> {
    const SERVERS: usize = 1;
    fn into_vec(self) -> Vec<T> {
        vec![self.0]
    }
    fn from_vec(values: Vec<T>) -> Option<Self> {
        let [a] = <[T; 1]>::try_from(values).ok()?;
        Some(OneServer(a))
    }
}

impl<T> PerServer<T> for TwoServers<T> {
    const SERVERS: usize = 2;
    fn into_vec(self) -> Vec<T> {
        vec![self.0, self.1]
    }
    fn from_vec(values: Vec<T>) -> Option<Self> {
        let [a, b] = <[T; 2]>::try_from(values).ok()?;
        Some(TwoServers(a, b))
    }
}

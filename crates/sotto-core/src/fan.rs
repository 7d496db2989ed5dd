//! One value per server, counted by type: a two-server scheme cannot forget a server and compile.

/// A value for the only server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct One<T>(pub T);

/// A value for each of two servers that do not collude.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Two<T>(pub T, pub T);

/// A fixed number of values, one per server.
pub trait Fan<T>: Sized {
    /// How many servers.
    const SERVERS: usize;
    /// The values in server order.
    fn into_vec(self) -> Vec<T>;
    /// Back from server order; `None` if the count is wrong.
    fn from_vec(values: Vec<T>) -> Option<Self>;
}

impl<T> Fan<T> for One<T> {
    const SERVERS: usize = 1;
    fn into_vec(self) -> Vec<T> {
        vec![self.0]
    }
    fn from_vec(values: Vec<T>) -> Option<Self> {
        let [a] = <[T; 1]>::try_from(values).ok()?;
        Some(One(a))
    }
}

impl<T> Fan<T> for Two<T> {
    const SERVERS: usize = 2;
    fn into_vec(self) -> Vec<T> {
        vec![self.0, self.1]
    }
    fn from_vec(values: Vec<T>) -> Option<Self> {
        let [a, b] = <[T; 2]>::try_from(values).ok()?;
        Some(Two(a, b))
    }
}

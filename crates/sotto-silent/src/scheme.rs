//! What the scheme of a method consists of.

use crate::method::{MatrixScheme, Method, Params};
#[cfg(feature = "server")]
use crate::server::Server;
use crate::{client, message};
use sotto_core::{Caps, OneServer, Scheme, SchemeId, SchemeMetadata};

impl<M: Method> Scheme for MatrixScheme<M> {
    const ID: SchemeId = M::ID;
    const METADATA: SchemeMetadata = M::METADATA;
    type Params = Params<M>;
    type Fan<T> = OneServer<T>;
    type Keys = M::Keys;
    type Query = message::Query;
    type Answer = message::Answer;
    type Prepare = client::Prepare<M>;
    type Client = client::Client<M>;
    #[cfg(feature = "server")]
    type Server = Server<M>;
    const CAPS: Caps<Self> = M::CAPS;
}

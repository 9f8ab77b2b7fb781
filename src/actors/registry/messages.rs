//! What the registry tells others.

use crate::domain::ids::ClientId;
use actix::Message;

/// A computer came, went, or changed its tools. A fact for the supervisor, which wakes tasks that wait for it.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct FleetChanged {
    pub client_id: ClientId,
    pub online: bool,
}

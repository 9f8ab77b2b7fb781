pub mod messages;
pub mod router;

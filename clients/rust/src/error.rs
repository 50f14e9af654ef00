//! What can go wrong for a caller.

use std::io;

use jsonrpsee::core::client::Error;
use jsonrpsee::types::ErrorObjectOwned;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answers::RpcError;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The server answered with an error.
    #[error("server refused: {0}")]
    Rpc(RpcError),
    /// There is no program to start. The text says what to do, so that a `main` that returns this error says it, too.
    #[error("{0}")]
    NoBinary(String),
    /// The program could not be started, or not be waited for.
    #[error("run the server: {0}")]
    Process(#[from] io::Error),
    /// The server ended, or closed its output, before it answered.
    #[error("server is gone: {0}")]
    Closed(String),
    /// The time-out of [`crate::Options::timeout`] passed; the request was cancelled.
    #[error("no answer in time")]
    TimedOut,
    /// The parameters are no JSON, or the result is not of the type that was asked for.
    #[error("convert the call: {0}")]
    Convert(#[from] serde_json::Error),
    /// The message is over the limit of the server. As a rule it was not even sent, because the result of `initialize`
    /// tells the limit.
    #[error(transparent)]
    MessageTooLarge(#[from] MessageTooLarge),
    /// Notifications did not fit the queue of [`crate::Options::notification_limits`].
    #[error("{count} notifications were lost because nobody read them")]
    NotificationsLost {
        /// How many, at this place of the order.
        count: u64,
    },
}

impl ClientError {
    /// The error that the server answered, if it answered.
    pub fn rpc(&self) -> Option<&RpcError> {
        match self {
            Self::Rpc(error) => Some(error),
            _ => None,
        }
    }
}

impl From<Error> for ClientError {
    fn from(error: Error) -> Self {
        match error {
            Error::Call(object) => match object.data().and_then(MessageTooLarge::of) {
                Some(refused) => Self::MessageTooLarge(refused),
                None => Self::Rpc(rpc_error(&object)),
            },
            Error::Transport(cause) => match cause.downcast_ref() {
                Some(refused) => Self::MessageTooLarge(*refused),
                None => Self::Closed(cause.to_string()),
            },
            Error::ParseError(error) => Self::Convert(error),
            Error::RequestTimeout => Self::TimedOut,
            Error::RestartNeeded(cause) => Self::Closed(cause_of_end(&cause)),
            other => Self::Closed(other.to_string()),
        }
    }
}

/// A message that the server does not read because it is over its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message of {bytes} bytes is over the server's limit of {limit} bytes")]
pub struct MessageTooLarge {
    /// The bytes of the message, without its framing.
    pub bytes: u64,
    /// What the server reads at most.
    pub limit: u64,
}

impl MessageTooLarge {
    /// The server's refusal, from the data of its error. `None` for other errors.
    pub(crate) fn of(data: &RawValue) -> Option<Self> {
        #[derive(Deserialize)]
        struct Data<'a> {
            #[serde(borrow)]
            reason: &'a str,
            bytes: u64,
            limit: u64,
        }
        let Data { reason, bytes, limit } = serde_json::from_str(data.get()).ok()?;
        (reason == "messageTooLarge").then_some(Self { bytes, limit })
    }
}

/// Why the connection ended, without what jsonrpsee says about its tasks.
fn cause_of_end(cause: &Error) -> String {
    match cause {
        Error::RestartNeeded(_) | Error::ServiceDisconnect => "the connection has ended".into(),
        other => other.to_string(),
    }
}

fn rpc_error(object: &ErrorObjectOwned) -> RpcError {
    let data = object.data().and_then(|raw| serde_json::from_str(raw.get()).ok());
    RpcError { code: object.code(), message: object.message().to_owned(), data }
}

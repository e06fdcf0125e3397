//! The frames between AppServer (the relay) and its clients, the Runtime and the agents.
//!
//! A frame is one binary WebSocket message: a header of one line of JSON, a newline, then the
//! payload, which the relay never reads (WIRE-4). Only [`ClientFrame::Send`] and
//! [`ServerFrame::Deliver`] have a payload. Frames are decoded as strictly as envelopes.

use std::{fmt, str::FromStr};

use lineup_model::{
    AgentId, MessageId,
    json::{Fields, JsonError},
    limits,
};
use serde::Serialize;

/// The version of the frames, as `hello` and `welcome` name it.
pub const VERSION: u32 = 1;
/// The longest header, in bytes, without its newline.
pub const HEADER_BYTES: usize = 1024;
/// The longest frame, in bytes; a longer one closes the connection with 1009.
pub const FRAME_BYTES: usize = limits::WEBSOCKET_MESSAGE_BYTES;
/// The largest token, in one connection.
pub const MAX_TOKEN: u64 = (1 << 40) - 1;

/// Who is at the end of a connection, as AppServer authenticated it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Party {
    /// The Runtime: `runtime`.
    Runtime,
    /// An agent: `agent:<id>`.
    Agent(AgentId),
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runtime => f.write_str("runtime"),
            Self::Agent(id) => write!(f, "agent:{id}"),
        }
    }
}

impl FromStr for Party {
    type Err = NoParty;

    fn from_str(text: &str) -> Result<Self, NoParty> {
        match text.strip_prefix("agent:") {
            Some(id) => AgentId::new(id).map(Self::Agent).map_err(|_| NoParty),
            None if text == "runtime" => Ok(Self::Runtime),
            None => Err(NoParty),
        }
    }
}

/// The text names no party.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a party is `runtime` or `agent:<id>`")]
pub struct NoParty;

/// What a client says, without the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientFrame {
    /// The first frame of a connection.
    Hello {
        /// The version that the client speaks.
        version: u32,
    },
    /// Carry the payload to this party. Answered by [`ServerFrame::Ack`] or
    /// [`ServerFrame::Refuse`] with the same id.
    Send {
        /// The sender's name for it; the same when it is sent again.
        id: MessageId,
        /// Who gets it.
        to: Party,
    },
    /// The delivery with this token is safe here.
    Ack {
        /// The token of the delivery.
        token: u64,
    },
}

/// What the relay says, without the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerFrame {
    /// The answer to `hello`: who the client is, as its credential says.
    Welcome {
        /// The version that the relay speaks.
        version: u32,
        /// The client.
        identity: Party,
    },
    /// An envelope. It comes again on a later connection, with another token, until it is
    /// acknowledged.
    Deliver {
        /// Names the delivery on this connection; at most [`MAX_TOKEN`].
        token: u64,
        /// Who sent it: the relay's word (WIRE-4).
        from: Party,
        /// The sender's name for it.
        id: MessageId,
    },
    /// The relay is responsible for this message now: its receiver or the relay's disk has it.
    Ack {
        /// The message.
        id: MessageId,
    },
    /// The relay will never take this message.
    Refuse {
        /// The message.
        id: MessageId,
        /// Why.
        reason: RefuseReason,
    },
}

/// Why the relay takes no responsibility for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefuseReason {
    /// Nobody of that name has a credential here.
    UnknownRecipient,
    /// An agent may send to the Runtime only, and the Runtime to agents only.
    NotAllowed,
}

impl RefuseReason {
    /// The stable word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownRecipient => "unknown_recipient",
            Self::NotAllowed => "not_allowed",
        }
    }
}

impl fmt::Display for RefuseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why bytes are not a frame. The connection is closed with 1008 (1009 when too large).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Over [`FRAME_BYTES`], or a header over [`HEADER_BYTES`].
    #[error("the frame is too large")]
    TooLarge,
    /// No newline ends the header.
    #[error("the frame has no header line")]
    NoHeader,
    /// The header is malformed.
    #[error("the frame's header is malformed")]
    Header(#[from] JsonError),
    /// A frame of this kind has no payload.
    #[error("the frame has a payload that its kind does not have")]
    StrayPayload,
}

impl ClientFrame {
    /// Writes the frame; `payload` belongs to [`ClientFrame::Send`] and is empty for the others.
    #[must_use]
    pub fn encode(&self, payload: &[u8]) -> Vec<u8> {
        match self {
            Self::Hello { version } => join(&Header { version: Some(*version), ..Header::of("hello") }, payload),
            Self::Send { id, to } => {
                join(&Header { id: Some(id.as_str()), to: Some(to.to_string()), ..Header::of("send") }, payload)
            }
            Self::Ack { token } => join(&Header { token: Some(*token), ..Header::of("ack") }, payload),
        }
    }

    /// Reads a frame of a client's, and its payload.
    ///
    /// # Errors
    /// When the bytes are not such a frame.
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), FrameError> {
        let (mut fields, payload) = split(bytes)?;
        let frame = match fields.required::<String>("frame")?.as_str() {
            "hello" => Self::Hello { version: fields.required("version")? },
            "send" => Self::Send { id: fields.id("id")?, to: party(&mut fields, "to")? },
            "ack" => Self::Ack { token: token(&mut fields)? },
            _ => return Err(fields.wrong("frame", "expected hello, send or ack").into()),
        };
        fields.finish()?;
        if !payload.is_empty() && !matches!(frame, Self::Send { .. }) {
            return Err(FrameError::StrayPayload);
        }
        Ok((frame, payload))
    }
}

impl ServerFrame {
    /// Writes the frame; `payload` belongs to [`ServerFrame::Deliver`] and is empty for the others.
    #[must_use]
    pub fn encode(&self, payload: &[u8]) -> Vec<u8> {
        match self {
            Self::Welcome { version, identity } => join(
                &Header { version: Some(*version), identity: Some(identity.to_string()), ..Header::of("welcome") },
                payload,
            ),
            Self::Deliver { token, from, id } => join(
                &Header {
                    token: Some(*token),
                    from: Some(from.to_string()),
                    id: Some(id.as_str()),
                    ..Header::of("deliver")
                },
                payload,
            ),
            Self::Ack { id } => join(&Header { id: Some(id.as_str()), ..Header::of("ack") }, payload),
            Self::Refuse { id, reason } => {
                join(&Header { id: Some(id.as_str()), reason: Some(reason.as_str()), ..Header::of("refuse") }, payload)
            }
        }
    }

    /// Reads a frame of the relay's, and its payload.
    ///
    /// # Errors
    /// When the bytes are not such a frame.
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), FrameError> {
        let (mut fields, payload) = split(bytes)?;
        let frame = match fields.required::<String>("frame")?.as_str() {
            "welcome" => {
                Self::Welcome { version: fields.required("version")?, identity: party(&mut fields, "identity")? }
            }
            "deliver" => {
                Self::Deliver { token: token(&mut fields)?, from: party(&mut fields, "from")?, id: fields.id("id")? }
            }
            "ack" => Self::Ack { id: fields.id("id")? },
            "refuse" => Self::Refuse { id: fields.id("id")?, reason: reason(&mut fields)? },
            _ => {
                return Err(fields.wrong("frame", "expected welcome, deliver, ack or refuse").into());
            }
        };
        fields.finish()?;
        if !payload.is_empty() && !matches!(frame, Self::Deliver { .. }) {
            return Err(FrameError::StrayPayload);
        }
        Ok((frame, payload))
    }
}

/// Every field that a header can have, in the order in which they are written.
#[derive(Default, Serialize)]
struct Header<'a> {
    frame: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    identity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl<'a> Header<'a> {
    fn of(frame: &'a str) -> Self {
        Self { frame, ..Self::default() }
    }
}

fn join(header: &Header<'_>, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(192 + payload.len());
    serde_json::to_writer(&mut bytes, header).expect("a header holds strings and integers only");
    bytes.push(b'\n');
    bytes.extend_from_slice(payload);
    bytes
}

fn split(bytes: &[u8]) -> Result<(Fields, &[u8]), FrameError> {
    if bytes.len() > FRAME_BYTES {
        return Err(FrameError::TooLarge);
    }
    let reach = &bytes[..bytes.len().min(HEADER_BYTES + 1)];
    let Some(end) = reach.iter().position(|byte| *byte == b'\n') else {
        return Err(if reach.len() > HEADER_BYTES { FrameError::TooLarge } else { FrameError::NoHeader });
    };
    Ok((Fields::decode(&bytes[..end], HEADER_BYTES)?, &bytes[end + 1..]))
}

fn party(fields: &mut Fields, name: &'static str) -> Result<Party, JsonError> {
    let text: String = fields.required(name)?;
    text.parse().map_err(|error: NoParty| fields.wrong(name, &error.to_string()))
}

fn token(fields: &mut Fields) -> Result<u64, JsonError> {
    match fields.required("token")? {
        token if token <= MAX_TOKEN => Ok(token),
        _ => Err(fields.wrong("token", "out of range")),
    }
}

/// A word that a later relay may add reads as the general one.
fn reason(fields: &mut Fields) -> Result<RefuseReason, JsonError> {
    let text: String = fields.required("reason")?;
    Ok(if text == RefuseReason::UnknownRecipient.as_str() {
        RefuseReason::UnknownRecipient
    } else {
        RefuseReason::NotAllowed
    })
}

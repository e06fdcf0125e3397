//! The relay's frames: golden bytes, and what is refused.

use lineup_model::{AgentId, MessageId};
use lineup_wire::relay::{
    ClientFrame, FRAME_BYTES, FrameError, HEADER_BYTES, MAX_TOKEN, Party, RefuseReason, ServerFrame,
};

fn id() -> MessageId {
    MessageId::new("m-1").unwrap()
}

fn agent() -> Party {
    Party::Agent(AgentId::new("demo").unwrap())
}

#[test]
fn wire_4_frames_of_a_client_read_back_and_have_these_bytes() {
    let rows: [(ClientFrame, &[u8], &str); 4] = [
        (ClientFrame::Hello { version: 1 }, b"", "{\"frame\":\"hello\",\"version\":1}\n"),
        (
            ClientFrame::Send { id: id(), to: Party::Runtime },
            b"a\nb",
            "{\"frame\":\"send\",\"id\":\"m-1\",\"to\":\"runtime\"}\na\nb",
        ),
        (
            ClientFrame::Send { id: id(), to: agent() },
            b"",
            "{\"frame\":\"send\",\"id\":\"m-1\",\"to\":\"agent:demo\"}\n",
        ),
        (ClientFrame::Ack { token: 7 }, b"", "{\"frame\":\"ack\",\"token\":7}\n"),
    ];
    for (frame, payload, bytes) in rows {
        assert_eq!(String::from_utf8(frame.encode(payload)).unwrap(), bytes);
        assert_eq!(ClientFrame::decode(bytes.as_bytes()), Ok((frame, payload)));
    }
}

#[test]
fn wire_4_frames_of_the_relay_read_back_and_have_these_bytes() {
    let rows: [(ServerFrame, &[u8], &str); 4] = [
        (
            ServerFrame::Welcome { version: 1, identity: agent() },
            b"",
            "{\"frame\":\"welcome\",\"version\":1,\"identity\":\"agent:demo\"}\n",
        ),
        (
            ServerFrame::Deliver { token: 1, from: agent(), id: id() },
            b"\xff{",
            "{\"frame\":\"deliver\",\"token\":1,\"from\":\"agent:demo\",\"id\":\"m-1\"}\n",
        ),
        (ServerFrame::Ack { id: id() }, b"", "{\"frame\":\"ack\",\"id\":\"m-1\"}\n"),
        (
            ServerFrame::Refuse { id: id(), reason: RefuseReason::UnknownRecipient },
            b"",
            "{\"frame\":\"refuse\",\"id\":\"m-1\",\"reason\":\"unknown_recipient\"}\n",
        ),
    ];
    for (frame, payload, header) in rows {
        let bytes = frame.encode(payload);
        assert_eq!(bytes, [header.as_bytes(), payload].concat());
        assert_eq!(ServerFrame::decode(&bytes), Ok((frame, payload)));
    }
}

#[test]
fn h20_a_frame_that_is_not_exactly_one_of_these_is_refused() {
    let rows = [
        "",
        "{\"frame\":\"ack\",\"token\":7}",
        "[]\n",
        "\n",
        "{}\n",
        "{\"frame\":\"deliver\",\"token\":1,\"from\":\"runtime\",\"id\":\"m\"}\n",
        "{\"frame\":\"ack\",\"token\":-1}\n",
        "{\"frame\":\"ack\",\"token\":1.0}\n",
        "{\"frame\":\"ack\",\"token\":1,\"id\":\"m\"}\n",
        "{\"frame\":\"ack\",\"token\":1,\"token\":2}\n",
        "{\"frame\":\"ack\",\"token\":1}\npayload",
        "{\"frame\":\"hello\"}\n",
        "{\"frame\":\"send\",\"id\":\"m 1\",\"to\":\"runtime\"}\n",
        "{\"frame\":\"send\",\"id\":\"m\",\"to\":\"agent:\"}\n",
        "{\"frame\":\"send\",\"id\":\"m\",\"to\":\"user\"}\n",
        "{\"frame\":\"send\",\"id\":\"m\",\"to\":\"runtime\",\"from\":\"agent:other\"}\n",
    ];
    for row in rows {
        assert!(ClientFrame::decode(row.as_bytes()).is_err(), "{row}");
    }
    let token = format!("{{\"frame\":\"ack\",\"token\":{}}}\n", MAX_TOKEN + 1);
    assert!(ClientFrame::decode(token.as_bytes()).is_err());
}

#[test]
fn h14_a_frame_and_its_header_are_bounded() {
    let send = ClientFrame::Send { id: id(), to: Party::Runtime };
    let room = FRAME_BYTES - send.encode(b"").len();
    assert!(ClientFrame::decode(&send.encode(&vec![0; room])).is_ok());
    assert_eq!(ClientFrame::decode(&send.encode(&vec![0; room + 1])), Err(FrameError::TooLarge));

    let padded = |size: usize| format!("{}{{\"frame\":\"ack\",\"token\":7}}\n", " ".repeat(size - 25)).into_bytes();
    assert!(ClientFrame::decode(&padded(HEADER_BYTES)).is_ok());
    assert_eq!(ClientFrame::decode(&padded(HEADER_BYTES + 1)), Err(FrameError::TooLarge));
}

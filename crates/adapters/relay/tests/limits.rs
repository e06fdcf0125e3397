//! Who is let in, what closes a connection, and what bounds memory (H14, H20, B30, F8).

mod common;

use common::{World, acknowledged, agent, hasty, message_id, patient, send, to_agent};
use futures_util::SinkExt as _;
use lineup_link::LinkError;
use lineup_relay::Role;
use lineup_wire::relay::{ClientFrame, FRAME_BYTES, Party, ServerFrame};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_tungstenite::tungstenite::{self, Message, http::StatusCode};

#[tokio::test]
async fn wire_4_only_the_tokens_of_the_runtime_and_of_agents_open_the_relay() {
    let world = World::new(patient()).await;
    let others = [Role::User, Role::Host, Role::Owner, Role::Page].map(|role| world.token(&role));
    for token in others.iter().map(String::as_str).chain(["", "x"]) {
        match world.socket(token).await {
            Err(tungstenite::Error::Http(response)) => {
                assert_eq!(response.status(), StatusCode::UNAUTHORIZED)
            }
            other => panic!("{:?}", other.map(|_| "let in")),
        }
    }
    assert_eq!(world.relay().stats().unauthorized, 6);
    assert!(world.socket(&world.token(&Role::Runtime)).await.is_ok());
}

#[tokio::test]
async fn wire_4_a_link_with_a_wrong_token_ends_for_good() {
    let world = World::new(patient()).await;
    let link = lineup_link::Link::open(lineup_link::Options::new(world.url(), "wrong"));
    assert_eq!(link.next().await, Err(LinkError::Unauthorized));
    assert_eq!(link.send(Default::default(), Vec::new()).await, Err(LinkError::Unauthorized));
    let link = lineup_link::Link::open(lineup_link::Options::new("nowhere", "wrong"));
    assert!(matches!(link.next().await, Err(LinkError::BadAddress { .. })));
}

#[tokio::test]
async fn h20_a_malformed_frame_closes_with_1008_and_disturbs_nobody_else() {
    let world = World::new(patient()).await;
    let runtime = world.linked(&Role::Runtime).await;
    let rows: [Message; 6] = [
        Message::binary("no header"),
        Message::binary("{\"frame\":\"send\",\"id\":\"m\",\"to\":\"runtime\",\"from\":\"agent:other\"}\n{}"),
        Message::binary("{\"frame\":\"deliver\",\"token\":1,\"from\":\"runtime\",\"id\":\"m\"}\n"),
        Message::binary(ClientFrame::Hello { version: 1 }.encode(b"")),
        Message::binary(vec![0xff; 100]),
        Message::text("{\"frame\":\"ack\",\"token\":1}\n"),
    ];
    for row in rows {
        let mut raw = world.raw(&agent()).await;
        raw.0.send(row.clone()).await.unwrap();
        assert_eq!(raw.close_code().await, 1008, "{row:?}");
    }
    let demo = world.linked(&agent()).await;
    send(&demo, &Party::Runtime, &["m1"]).await;
    assert_eq!(common::delivered(&runtime).await.0, "m1");
    assert_eq!(world.relay().stats().parties[&to_agent()].faults, 6);
}

#[tokio::test]
async fn h20_hello_comes_first_and_in_a_known_version() {
    let world = World::new(patient()).await;
    let rows = [ClientFrame::Ack { token: 1 }.encode(b""), ClientFrame::Hello { version: 2 }.encode(b"")];
    for row in rows {
        let mut raw = world.socket(&world.token(&agent())).await.unwrap();
        raw.0.send(Message::binary(row)).await.unwrap();
        assert_eq!(raw.close_code().await, 1008);
    }
}

#[tokio::test]
async fn h14_h20_an_oversized_frame_closes_with_1009_and_the_largest_one_passes() {
    let world = World::new(hasty()).await;
    let mut raw = world.raw(&agent()).await;
    let head = ClientFrame::Send { id: message_id("m1"), to: Party::Runtime }.encode(b"").len();
    raw.send("m1", &Party::Runtime, &vec![0; FRAME_BYTES - head]).await;
    assert!(matches!(raw.frame().await.0, ServerFrame::Ack { .. }));

    raw.send("m1", &Party::Runtime, &vec![0; FRAME_BYTES - head + 1]).await;
    assert_eq!(raw.close_code().await, 1009);

    let mut raw = world.raw(&agent()).await;
    raw.0.send(Message::binary(vec![b'{'; 2048])).await.unwrap();
    assert_eq!(raw.close_code().await, 1009, "a header is bounded too");
}

#[tokio::test]
async fn h20_a_flood_of_pings_closes_with_1008() {
    let world = World::new(patient()).await;
    let mut raw = world.raw(&agent()).await;
    for _ in 0..200 {
        if raw.0.feed(Message::Ping("x".into())).await.is_err() {
            break;
        }
    }
    let _ = raw.0.flush().await;
    assert_eq!(raw.close_code().await, 1008);
}

#[tokio::test]
async fn h20_bytes_that_are_not_the_websocket_protocol_close_with_1002() {
    let world = World::new(patient()).await;
    // An unmasked frame, and one with a reserved opcode.
    for bytes in [&b"\x82\x01x"[..], &b"\x83\x81\0\0\0\0x"[..]] {
        let mut tcp = tokio::net::TcpStream::connect(world.address).await.unwrap();
        let request = format!(
            "GET /relay HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             Authorization: Bearer {}\r\n\r\n",
            world.token(&agent())
        );
        tcp.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            answer.push(tcp.read_u8().await.unwrap());
        }
        tcp.write_all(bytes).await.unwrap();
        let mut close = [0; 4];
        tcp.read_exact(&mut close).await.unwrap();
        assert_eq!(close[0], 0x88, "a close frame");
        assert_eq!(u16::from_be_bytes([close[2], close[3]]), 1002);
    }
}

#[tokio::test]
async fn b30_i69_a_slow_receiver_fills_the_disk_and_not_the_memory() {
    let mut config = hasty();
    config.window = 4;
    config.unsafe_bytes = 64 * 1024;
    let world = World::new(config).await;
    // Connected, and silent.
    let mut runtime = world.raw(&Role::Runtime).await;
    let mut demo = world.raw(&agent()).await;
    let payload = vec![7; 16 * 1024];
    for number in 0..200 {
        demo.send(&format!("m{number}"), &Party::Runtime, &payload).await;
        let stats = world.relay().stats();
        assert!(stats.unsafe_bytes <= 64 * 1024, "{stats:?}");
    }
    for _ in 0..200 {
        assert!(matches!(demo.frame().await.0, ServerFrame::Ack { .. }));
    }
    assert_eq!(world.relay().stats().written, 200);
    assert_eq!(world.relay().stats().unsafe_envelopes, 0);
    assert_eq!(world.relay().stats().parties[&Party::Runtime].delivered, 4, "the window is shut");

    // Once it acknowledges, it gets everything, in order and once.
    for number in 0..200 {
        let (ServerFrame::Deliver { id, token, .. }, found) = runtime.frame().await else { panic!("not a delivery") };
        assert_eq!((id.as_str(), &found), (format!("m{number}").as_str(), &payload));
        runtime.say(&ClientFrame::Ack { token }, b"").await;
    }
    assert_eq!(world.relay().stats().parties[&Party::Runtime].delivered, 200);
}

#[tokio::test]
async fn b30_a_client_that_sends_and_never_reads_is_closed() {
    let mut config = hasty();
    config.queue = 8;
    let world = World::new(config).await;
    let mut raw = world.raw(&agent()).await;
    let mut sent = 0_u64;
    // Until its side of the socket is full, or it is thrown out.
    loop {
        let frame = ClientFrame::Send { id: message_id("m1"), to: Party::Agent(common::demo()) };
        if raw.0.send(Message::binary(frame.encode(b"x"))).await.is_err() {
            break;
        }
        sent += 1;
        assert!(sent < 10_000_000, "it was never closed");
    }
    assert_eq!(world.relay().stats().parties[&to_agent()].faults, 1);
}

#[tokio::test]
async fn i47_order_holds_while_the_mailbox_moves_between_disk_and_memory() {
    let mut config = patient();
    config.window = 3;
    let world = World::new(config).await;
    let demo = world.linked(&agent()).await;
    let ids: Vec<String> = (0..60).map(|number| format!("m{number}")).collect();
    let names: Vec<&str> = ids.iter().map(String::as_str).collect();
    send(&demo, &Party::Runtime, &names[..20]).await;
    for _ in 0..20 {
        acknowledged(&demo).await;
    }
    let runtime = world.linked(&Role::Runtime).await;
    let mut next = 0;
    for (more, count) in [(20..30, 15), (30..31, 10), (31..60, 35)] {
        send(&demo, &Party::Runtime, &names[more]).await;
        for _ in 0..count {
            let (id, _, token) = common::delivered(&runtime).await;
            assert_eq!(id, names[next]);
            next += 1;
            runtime.acknowledge(vec![token]).await.unwrap();
        }
    }
    assert_eq!(next, 60);
}

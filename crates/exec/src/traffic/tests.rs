use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;

use proptest::prelude::*;

use super::*;

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a server");
    let client = TcpStream::connect(listener.local_addr().expect("its address")).expect("connects");
    let (server, _) = listener.accept().expect("a client");
    (client, server)
}

fn is_told() -> bool {
    let is_told = subscribe().is_ok();
    if !is_told {
        eprintln!("skipped: the system does not tell of sockets");
    }
    is_told
}

#[test]
fn what_a_connection_has_carried_is_known_when_it_is_gone() {
    if !is_told() {
        return;
    }
    let mut traffic = Traffic::default();
    let (mut client, mut server) = pair();
    let socket = OwnedFd::from(client.try_clone().expect("a copy"));
    traffic.watch(&socket, client.peer_addr().expect("the other end"), "gone");
    drop(socket);
    client.write_all(&[1; 1000]).expect("sent");
    let mut block = [0; 1000];
    server.read_exact(&mut block).expect("received");
    server.write_all(&[2; 555]).expect("sent");
    client.read_exact(&mut block[..555]).expect("received");
    drop(client);
    assert_eq!(server.read(&mut block).expect("the end"), 0, "it is closed at once");
    drop(server);
    thread::sleep(LATE);
    let heard = traffic.hear();
    let [("gone", carried)] = heard[..] else { panic!("{heard:?}") };
    assert!(carried.was_open && carried.sent == 1000, "{carried:?}");
    // The end of a stream may count as one.
    assert!([555, 556].contains(&carried.received), "{carried:?}");
    assert_eq!(traffic.settle(), []);
}

#[test]
fn one_that_is_still_there_is_asked_for() {
    if !is_told() {
        return;
    }
    let mut traffic = Traffic::default();
    let (mut client, mut server) = pair();
    let socket = OwnedFd::from(client.try_clone().expect("a copy"));
    traffic.watch(&socket, client.peer_addr().expect("the other end"), "open");
    client.write_all(&[1; 70]).expect("sent");
    server.read_exact(&mut [0; 70]).expect("received");
    let carried = Carried { sent: 70, received: 0, was_open: true };
    assert_eq!(traffic.settle(), [("open", carried)]);
    assert_eq!(traffic.settle(), []);
}

proptest! {
    #[test]
    fn nothing_that_is_reported_does_harm(packet in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = reports(&packet);
        let mut message = 300_u32.to_ne_bytes().to_vec();
        message.extend_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        message.extend_from_slice(&packet);
        message.resize(300, 0);
        let _ = reports(&message);
    }
}

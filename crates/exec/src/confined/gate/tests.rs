//! A worker's end of a gate asks, and a host program of the test answers.

use std::collections::HashMap;
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use super::*;
use crate::connections::{Connection, HostAnswer, HostQuestions, HostRules};

const LONG: Duration = Duration::from_secs(20);
/// Within it nothing that is not to happen has happened.
const SHORT: Duration = Duration::from_millis(200);

/// Asks about names with `ask` in them, and about `localhost`. Those that begin with `here` lead to a server.
#[derive(Debug)]
struct Rules {
    server: SocketAddr,
    /// The names for which it was asked where they lead.
    sought: Arc<Mutex<Vec<String>>>,
}

impl HostRules for Rules {
    fn refusal(&self, host: &str, port: Option<u16>) -> Option<Refusal> {
        match (host, port) {
            (_, Some(25)) => Some(Refusal::Denied),
            (host, port) if self.asks(host, port) => None,
            _ => Some(Refusal::NotAllowed),
        }
    }

    fn asks(&self, host: &str, _: Option<u16>) -> bool {
        host.contains("ask") || host == "localhost" || host == "192.0.2.9"
    }

    fn denies(&self, address: SocketAddr) -> bool {
        address.ip() == IpAddr::from([192, 0, 2, 66])
    }

    fn lead(&self, name: &str) -> Option<Lead> {
        self.sought.lock().expect("whole").push(name.to_owned());
        let (address, port) = (self.server.ip(), Some(self.server.port()));
        let denied = Lead { address: [192, 0, 2, 66].into(), port: None };
        match name {
            "denied.ask" => Some(denied),
            name => name.starts_with("here").then_some(Lead { address, port }),
        }
    }

    fn may_lead_to(&self, address: IpAddr) -> bool {
        !address.is_loopback()
    }
}

enum Event {
    Asked(u64, String, u16, HostAnswer),
    GivenUp(u64),
}

#[derive(Debug)]
struct Questions(Sender<Event>);

impl HostQuestions for Questions {
    fn ask(&self, question: u64, host: &str, port: u16, answer: HostAnswer) {
        let _ = self.0.send(Event::Asked(question, host.to_owned(), port, answer));
    }

    fn give_up(&self, question: u64) {
        let _ = self.0.send(Event::GivenUp(question));
    }
}

/// One command with its gate.
struct Scene {
    worker: OwnedFd,
    connections: Arc<Connections>,
    events: Receiver<Event>,
    sought: Arc<Mutex<Vec<String>>>,
    server: TcpListener,
    next: u64,
}

impl Scene {
    fn new() -> Self {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a server");
        server.set_nonblocking(true).expect("set");
        let sought = Arc::default();
        let address = server.local_addr().expect("its address");
        let rules = Rules { server: address, sought: Arc::clone(&sought) };
        let (events, heard) = channel();
        let connections = Connections::new(Box::new(rules));
        let connections = Arc::new(connections.asking(Some(Arc::new(Questions(events)))));
        let worker = open(&connections).expect("a gate");
        Self { worker, connections, events: heard, sought, server, next: 0 }
    }

    fn send(&mut self, ask: impl FnOnce(u64) -> Ask) -> u64 {
        self.next += 1;
        send_to_gate(&self.worker, &ask(self.next).packet(), None).expect("sent");
        self.next
    }

    /// What is answered within this time, with the socket that came with it.
    fn hear(&self, time: Duration) -> Option<(Answer, Option<OwnedFd>)> {
        let until = Instant::now() + time;
        loop {
            match receive_from_gate(&self.worker, false) {
                Ok(Some((packet, socket))) => {
                    return Some((Answer::read_packet(&packet).expect("an answer"), socket));
                }
                Ok(None) => return None,
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
            if Instant::now() > until {
                return None;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The address that stands for a name.
    fn resolve(&mut self, name: &str) -> IpAddr {
        let number = self.send(|number| Ask::Resolve(number, name.to_owned()));
        match self.hear(LONG) {
            Some((Answer::Resolved(to, Resolved::Addresses(addresses)), None)) if to == number => {
                let [address] = addresses[..] else { panic!("{addresses:?}") };
                Ipv4Addr::from(address).into()
            }
            other => panic!("{name}: {:?}", other.map(|(answer, _)| answer)),
        }
    }

    fn dial(&mut self, address: IpAddr, port: u16) -> u64 {
        self.send(|number| Ask::Dial(number, address, port, false, true))
    }

    /// The next question: its number, its host and port, and where its answer goes.
    fn question(&self) -> (u64, String, HostAnswer) {
        match self.events.recv_timeout(LONG) {
            Ok(Event::Asked(question, host, port, answer)) => {
                (question, format!("{host}:{port}"), answer)
            }
            _ => panic!("no question"),
        }
    }

    fn asks_nothing(&self) {
        assert!(self.events.recv_timeout(SHORT).is_err(), "something was asked");
    }

    /// The numbers of this many callers that got a connection.
    fn dialed(&self, count: usize) -> Vec<u64> {
        let one = |_| match self.hear(LONG) {
            Some((Answer::Dialed(number), Some(_))) => number,
            other => panic!("{:?}", other.map(|(answer, _)| answer)),
        };
        let mut numbers: Vec<_> = (0..count).map(one).collect();
        numbers.sort_unstable();
        numbers
    }

    fn refused(&self, number: u64) {
        let heard = self.hear(LONG).map(|(answer, _)| answer);
        assert_eq!(heard, Some(Answer::NotDialed(number, NO_LEAD)));
    }

    fn noted(&self) -> HashMap<String, (Verdict, u32)> {
        let row = |Connection { host, port, verdict, count, .. }| {
            (port.map_or(host.clone(), |port| format!("{host}:{port}")), (verdict, count))
        };
        self.connections.list().into_iter().map(row).collect()
    }
}

#[test]
fn one_answer_is_for_all_that_connect_to_a_host_and_port() {
    let mut scene = Scene::new();
    let address = scene.resolve("here.ask");
    let first = scene.dial(address, 80);
    let (_, host, answer) = scene.question();
    assert_eq!(host, "here.ask:80");
    let second = scene.dial(address, 80);
    scene.asks_nothing();
    assert!(scene.hear(SHORT).is_none(), "they wait");
    assert_eq!(scene.noted(), HashMap::from([("here.ask:80".to_owned(), (UNANSWERED, 1))]));
    assert!(scene.sought.lock().expect("whole").is_empty(), "it was looked up before the answer");
    answer.give(true);
    assert_eq!(scene.dialed(2), [first, second]);
    // Nobody is asked again, but for another port.
    let third = scene.dial(address, 80);
    assert_eq!(scene.dialed(1), [third]);
    assert_eq!(scene.noted()["here.ask:80"], (Verdict::Opened, 3));
    let other = scene.dial(address, 443);
    let (_, host, answer) = scene.question();
    assert_eq!(host, "here.ask:443");
    answer.give(true);
    assert_eq!(scene.dialed(1), [other]);
}

#[test]
fn a_no_refuses_all_that_wait_and_all_that_come() {
    let mut scene = Scene::new();
    let address = scene.resolve("here.ask");
    let first = scene.dial(address, 80);
    let (.., answer) = scene.question();
    answer.give(false);
    scene.refused(first);
    let second = scene.dial(address, 80);
    scene.refused(second);
    scene.asks_nothing();
    let rejected = Verdict::Refused(Refusal::Rejected);
    assert_eq!(scene.noted(), HashMap::from([("here.ask:80".to_owned(), (rejected, 2))]));
    assert!(scene.server.accept().is_err(), "the server had a visitor");
    // No answer is a no of its own kind.
    let third = scene.dial(address, 81);
    drop(scene.question());
    scene.refused(third);
    assert_eq!(scene.noted()["here.ask:81"], (UNANSWERED, 1));
}

#[test]
fn an_answer_after_the_end_does_nothing() {
    let mut scene = Scene::new();
    let address = scene.resolve("here.ask");
    scene.dial(address, 80);
    let (question, _, answer) = scene.question();
    let Scene { worker, connections, events, server, .. } = scene;
    drop(worker);
    let ended = events.recv_timeout(LONG);
    assert!(matches!(ended, Ok(Event::GivenUp(number)) if number == question));
    answer.give(true);
    thread::sleep(SHORT);
    assert!(server.accept().is_err(), "the server had a visitor");
    let noted = connections.list();
    assert_eq!(noted.len(), 1, "{noted:?}");
    assert_eq!((&*noted[0].host, noted[0].verdict), ("here.ask", UNANSWERED));
    // The gate's thread has ended, so nothing holds what was shared with it.
    let until = Instant::now() + LONG;
    while Arc::strong_count(&connections) > 1 && Instant::now() < until {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(Arc::strong_count(&connections), 1);
}

#[test]
fn an_agreement_opens_no_address_that_a_list_would_not() {
    let mut scene = Scene::new();
    for (name, verdict) in [
        // The system knows where this one leads, and nobody where the next one does.
        ("localhost", Verdict::Private),
        ("nowhere.invalid.ask", Verdict::Unknown),
        ("denied.ask", Verdict::Refused(Refusal::Denied)),
    ] {
        let address = scene.resolve(name);
        let number = scene.dial(address, scene.server.local_addr().expect("its address").port());
        let (.., answer) = scene.question();
        answer.give(true);
        scene.refused(number);
        let noted = scene.noted();
        let of_name = noted.iter().find(|(host, _)| host.starts_with(name)).expect("a row");
        assert_eq!(of_name.1.0, verdict, "{name}");
    }
    assert!(scene.server.accept().is_err(), "the server had a visitor");
}

#[test]
fn what_is_denied_or_on_no_list_is_not_asked_about() {
    let mut scene = Scene::new();
    let address = scene.resolve("here.ask");
    let denied = scene.dial(address, 25);
    scene.refused(denied);
    let unlisted = scene.dial([192, 0, 2, 1].into(), 80);
    scene.refused(unlisted);
    let unknown = scene.dial([198, 19, 0, 9].into(), 80);
    scene.refused(unknown);
    scene.asks_nothing();
    // An address that is listed itself is.
    let listed = scene.dial([192, 0, 2, 9].into(), 80);
    let (_, host, answer) = scene.question();
    assert_eq!(host, "192.0.2.9:80");
    answer.give(false);
    scene.refused(listed);
}

#[test]
fn a_command_has_so_many_questions() {
    let mut scene = Scene::new();
    let address = scene.resolve("here.ask");
    let numbers: Vec<_> = (0..65).map(|port| scene.dial(address, 8000 + port)).collect();
    scene.refused(numbers[64]);
    let answers: Vec<_> = (0..64).map(|_| scene.question().2).collect();
    scene.asks_nothing();
    assert_eq!(scene.noted()["here.ask:8064"], (UNANSWERED, 1));
    for answer in answers {
        answer.give(true);
    }
    assert_eq!(scene.dialed(64), numbers[..64]);
    // Those that were answered go on, and there is no room for others.
    let again = scene.dial(address, 8000);
    assert_eq!(scene.dialed(1), [again]);
    let beyond = scene.dial(address, 9000);
    scene.refused(beyond);
    scene.asks_nothing();
}

#[test]
fn a_name_that_was_agreed_to_is_looked_up() {
    let mut scene = Scene::new();
    let later = scene.resolve("here.ask");
    let number = scene.dial(later, 80);
    scene.question().2.give(true);
    assert_eq!(scene.dialed(1), [number]);
    let address = scene.resolve("here.ask");
    assert_ne!(address, later, "it stands for an address by now");
    let number = scene.dial(address, 80);
    assert_eq!(scene.dialed(1), [number]);
    // At another port the same address is asked about.
    let number = scene.dial(address, 81);
    scene.question().2.give(false);
    scene.refused(number);
}

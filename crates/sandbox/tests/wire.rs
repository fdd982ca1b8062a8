//! Messages are read as they were written, and no bytes do harm.

#![cfg(target_os = "linux")]

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use toolwright_sandbox::background::{
    CallKind, Facts, InputState, RefusedCall, TerminalSize, Usage, WatchedFacts,
};
use toolwright_sandbox::layers::{Bound, Layer, Layers};
use toolwright_sandbox::plan::{FileIdentity, Files, Forked, Granted, Limits, Link, Network, Plan};
use toolwright_sandbox::refused_git::RefusedGit;
use toolwright_sandbox::step::FailedStep;
use toolwright_sandbox::wire::{
    Answer, Ask, FRAME_HEADER, ForkRequest, HostMessage, Inbox, Order, PrivateRequest, Progress,
    Reply, Request, command_fork_frame, connect_frame, discard_private_frame, fork_frame,
    kill_frame, plain_frame, private_frame, read_fork_frame, read_order, read_private_frame,
    read_request_frame, run_frame, send, settle_private_frame, signal_frame, watch_frame,
    write_order,
};

fn path() -> impl Strategy<Value = PathBuf> {
    vec(any::<u8>(), 0..40).prop_map(|bytes| PathBuf::from(OsString::from_vec(bytes)))
}

fn refused() -> impl Strategy<Value = RefusedGit> {
    prop_oneof![path().prop_map(RefusedGit::Link), path().prop_map(RefusedGit::Form)]
}

fn orders() -> impl Strategy<Value = Order> {
    let network = prop_oneof![
        Just(Network::Open),
        Just(Network::PrivateLoopback),
        Just(Network::Nothing),
        Just(Network::HostLoopback),
        Just(Network::Names)
    ];
    let files = prop_oneof![Just(Files::Confined), Just(Files::Full)];
    let limits = [(); 4].map(|()| option::of(any::<u64>()));
    let paths = [(); 6].map(|()| vec(path(), 0..4));
    let identity = (any::<u64>(), any::<u64>(), option::of(any::<u64>()))
        .prop_map(|(device, inode, born)| FileIdentity { device, inode, born });
    let granted = (path(), identity).prop_map(|(path, identity)| Granted { path, identity });
    let link = (path(), path()).prop_map(|(path, target)| Link { path, target });
    let forked = (any::<u64>(), path()).prop_map(|(number, base)| Forked { number, base });
    let granted = (any::<[bool; 2]>(), option::of(forked), vec(granted, 0..4), vec(link, 0..4));
    let plan = (path(), network, files, paths, granted, limits).prop_map(
        |(
            root,
            network,
            files,
            [writable, closed, readable, protected, forks, hooks],
            ([hides_git_directories, is_git_strict], root_fork, granted, links),
            limits,
        )| Plan {
            root,
            network,
            files,
            writable,
            closed,
            readable,
            links,
            protected,
            forks,
            hooks,
            hides_git_directories,
            is_git_strict,
            root_fork,
            granted,
            limits: Limits {
                processes: limits[0],
                memory_bytes: limits[1],
                cpu_seconds: limits[2],
                file_size_bytes: limits[3],
            },
            ..Plan::default()
        },
    );
    (plan, option::of(any::<i32>()), any::<u32>(), any::<[bool; 2]>()).prop_map(
        |(plan, without_mounts, idle_ms, [joins_network, shares_temporary])| Order {
            plan,
            without_mounts,
            idle_ms,
            joins_network,
            shares_temporary,
        },
    )
}

fn replies() -> impl Strategy<Value = Reply> {
    let layer =
        prop_oneof![Just(Layer::Unused), Just(Layer::Holds), any::<i32>().prop_map(Layer::Refused)];
    let bound = prop_oneof![
        Just(Bound::Unused),
        Just(Bound::ControlGroup),
        Just(Bound::Namespace),
        Just(Bound::ResourceLimit),
        Just(Bound::Nothing)
    ];
    let layers = (vec(layer, 5), any::<u32>(), bound.clone(), bound).prop_map(
        |(layers, landlock_abi, processes, memory)| Layers {
            user: layers[0],
            mount: layers[1],
            net: layers[2],
            seccomp: layers[3],
            protected: layers[4],
            landlock_abi,
            processes,
            memory,
            ..Layers::default()
        },
    );
    let step = prop::sample::select(vec![
        FailedStep::Mounts,
        FailedStep::Fork,
        FailedStep::Capabilities,
        FailedStep::Seccomp,
        FailedStep::Landlock,
        FailedStep::Limits,
        FailedStep::Broker,
        FailedStep::Directory,
        FailedStep::Execute,
        FailedStep::Interpreter,
        FailedStep::Granted,
        FailedStep::Terminal,
        FailedStep::Other,
    ]);
    prop_oneof![
        layers.prop_map(Reply::Ready),
        (step.clone(), any::<i32>(), ".{0,40}")
            .prop_map(|(step, errno, what)| Reply::Failed(step, errno, what)),
        any::<i32>().prop_map(Reply::Ended),
        (any::<(i32, u32, bool)>(), any::<(u64, u64, u64)>(), vec(refused(), 0..4)).prop_map(
            |((status, killed, made), used, refused)| {
                let (user_us, system_us, peak_bytes) = used;
                let count = |value: u64| {
                    value
                        .checked_sub(1 << 63)
                        .map(|_| u32::try_from(value & u64::from(u32::MAX)).expect("small"))
                };
                let facts = Facts {
                    unreachable: count(user_us),
                    memory_kills: count(system_us),
                    refused_processes: count(peak_bytes),
                    served_port: count(system_us),
                    refused_call: made.then_some(RefusedCall {
                        kind: if user_us % 2 == 0 {
                            CallKind::Mount
                        } else {
                            CallKind::OtherSocket
                        },
                        is_recent: system_us % 2 == 0,
                    }),
                    fork_full: made.then_some(user_us),
                };
                let usage = Usage { user_us, system_us, peak_bytes, facts };
                Reply::Done(status, killed, usage, made, refused)
            }
        ),
        vec(any::<u16>(), 0..9).prop_map(Reply::Listening),
        prop::sample::select(vec![InputState::Busy, InputState::Waiting, InputState::Unknown])
            .prop_map(Reply::Input),
        prop::option::of(any::<i32>()).prop_map(Reply::Connected),
        Just(Reply::Started),
        path().prop_map(Reply::Private),
        Just(Reply::NoPrivate),
        path().prop_map(Reply::MovedFork),
        Just(Reply::Fork),
        any::<i32>().prop_map(Reply::NoFork),
        Just(Reply::Terminal),
        (step, any::<i32>()).prop_map(|(step, errno)| Reply::NotRun(step, errno)),
        Just(Reply::Stale),
        Just(Reply::Goodbye),
    ]
}

fn word() -> impl Strategy<Value = Vec<u8>> {
    vec(1..=u8::MAX, 0..30)
}

proptest! {
    #[test]
    fn orders_come_back(order in orders()) {
        prop_assert_eq!(read_order(&write_order(&order)), Ok(order));
    }

    #[test]
    fn questions_about_git_directories_come_back(path in path(), index: u32, anew: bool) {
        let content = |frame: Vec<u8>| frame[FRAME_HEADER..].to_vec();
        let fork = content(fork_frame(&path, anew));
        let of_command = None;
        prop_assert_eq!(read_fork_frame(&fork), Some(ForkRequest { path: &path, anew, of_command }));
        let identity = (index.into(), u64::MAX - u64::from(index));
        let fork = content(command_fork_frame(&path, identity));
        let (anew, of_command) = (false, Some(identity));
        prop_assert_eq!(read_fork_frame(&fork), Some(ForkRequest { path: &path, anew, of_command }));
        let frames = [
            (private_frame(index), PrivateRequest::Get(index)),
            (discard_private_frame(&path), PrivateRequest::Discard(&path)),
            (settle_private_frame(&path), PrivateRequest::Settle(&path)),
        ];
        for (frame, request) in frames {
            let frame = content(frame);
            prop_assert_eq!(read_private_frame(&frame), Some(request));
            prop_assert_eq!(read_fork_frame(&frame), None);
        }
    }

    #[test]
    fn replies_come_back(reply in replies()) {
        let frame = reply.frame();
        prop_assert_eq!(Reply::read(&frame[FRAME_HEADER..]), Ok(reply));
    }

    #[test]
    fn requests_come_back(
        program in word(),
        cwd in word(),
        (stderr_apart, has_input, is_background) in any::<(bool, bool, bool)>(),
        size in prop::option::of(any::<(u16, u16)>()),
        arguments in vec(word(), 1..6),
        variables in vec((word(), word()), 0..6),
    ) {
        let terminal = size.map(|(columns, rows)| TerminalSize { columns, rows });
        let (program_word, cwd_word) = (&program[..], &cwd[..]);
        let (has_notes, has_gate) = (stderr_apart != is_background, has_input != is_background);
        let request = Request { program: program_word, cwd: cwd_word, stderr_apart, has_input, is_background, terminal, has_notes, has_gate };
        let frame = run_frame(
            &request,
            arguments.iter().map(Vec::as_slice),
            variables.iter().map(|(name, value)| (name.as_slice(), value.as_slice())),
        );
        let Ok(HostMessage::Run(read)) = read_request_frame(&frame[FRAME_HEADER..]) else {
            panic!("not a request");
        };
        let ended = |word: &[u8]| [word, b"\0"].concat();
        prop_assert_eq!(read.request.program, &ended(&program)[..]);
        prop_assert_eq!(read.request.cwd, &ended(&cwd)[..]);
        let Request { stderr_apart: one, has_input: two, is_background: three, terminal: four, .. } = read.request;
        prop_assert_eq!((one, two, three, four), (stderr_apart, has_input, is_background, terminal));
        prop_assert_eq!((read.request.has_notes, read.request.has_gate), (has_notes, has_gate));
        prop_assert_eq!((read.arguments, read.count), (arguments.len(), arguments.len() + variables.len()));
        let variables = variables.iter().map(|(name, value)| [name, &b"="[..], value].concat());
        let words: Vec<u8> = arguments.iter().cloned().chain(variables).flat_map(|word| ended(&word)).collect();
        prop_assert_eq!(read.words, &words[..]);
    }

    #[test]
    fn other_messages_come_back(signal in any::<i32>(), port in any::<u16>(), (ports, input) in any::<(bool, bool)>()) {
        let read = |frame: Vec<u8>| format!("{:?}", read_request_frame(&frame[FRAME_HEADER..]));
        prop_assert_eq!(read(signal_frame(signal)), format!("Ok(Signal({signal}))"));
        prop_assert_eq!(read(connect_frame(port)), format!("Ok(Connect({port}))"));
        let facts = WatchedFacts { ports, input };
        prop_assert_eq!(read(watch_frame(facts)), format!("Ok(Watch({facts:?}))"));
    }

    #[test]
    fn nothing_that_is_read_panics(content in vec(any::<u8>(), 0..300)) {
        let _ = read_order(&content);
        let _ = Reply::read(&content);
        let _ = (Ask::read_packet(&content), Answer::read_packet(&content));
        if let Ok(HostMessage::Run(frame)) = read_request_frame(&content) {
            // As many ends as it counts, so that no reader looks past the last.
            prop_assert_eq!(frame.words.split(|byte| *byte == 0).count() - 1, frame.count);
            prop_assert!(frame.arguments <= frame.count && frame.arguments > 0);
        }
    }

    #[test]
    fn a_changed_message_is_another_one_or_none(order in orders(), at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut message = write_order(&order);
        let at = at.index(message.len());
        message[at] = to;
        let _ = read_order(&message);
        message.truncate(at);
        prop_assert!(read_order(&message).is_err());
    }
}

#[test]
fn frames_arrive_whole_whatever_the_pieces_and_descriptors_in_their_order() {
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    let mut inbox = Inbox::new(OwnedFd::from(theirs));
    assert_eq!(inbox.fill(false).expect("read"), Progress::Nothing);
    let [first, second] = [1, 2].map(|_| File::open("/dev/null").expect("there"));
    let long = plain_frame(&vec![7; 100_000]);
    let writer = std::thread::spawn(move || {
        let mut ours = ours;
        for byte in plain_frame(b"in pieces") {
            ours.write_all(&[byte]).expect("sent");
        }
        send(&ours, &plain_frame(b"one"), &[first.as_fd()]).expect("sent");
        send(&ours, &plain_frame(b"two"), &[second.as_fd()]).expect("sent");
        send(&ours, &long, &[]).expect("sent");
        send(&ours, &kill_frame(), &[]).expect("sent");
    });
    for content in [&b"in pieces"[..], b"one", b"two", &vec![7; 100_000]] {
        assert_eq!(inbox.wait().expect("read").as_deref(), Some(content));
    }
    let kill = inbox.wait().expect("read").expect("a frame");
    assert!(matches!(read_request_frame(&kill), Ok(HostMessage::Kill)));
    assert!(inbox.take_descriptor().is_some() && inbox.take_descriptor().is_some());
    assert!(inbox.take_descriptor().is_none());
    writer.join().expect("sent");
    assert_eq!(inbox.wait().expect("read"), None);
}

#[test]
fn a_frame_of_impossible_length_is_refused() {
    for header in [[0; 4], [255; 4]] {
        let (mut ours, theirs) = UnixStream::pair().expect("a pair");
        ours.write_all(&header).expect("sent");
        assert!(Inbox::new(OwnedFd::from(theirs)).wait().is_err());
    }
}

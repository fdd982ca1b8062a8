//! A second, plain statement of what the filter answers, and a machine that runs the filter to
//! compare.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::sync::LazyLock;

use libc::{
    AF_INET, AF_INET6, AF_NETLINK, AF_UNIX, EACCES, EAFNOSUPPORT, ENOSYS, EPERM, EPROTONOSUPPORT,
    SOCK_DGRAM, SOCK_SEQPACKET, SOCK_STREAM,
};
use proptest::prelude::*;

use super::*;

mod left;
mod machine;
mod numbers;

const X86_64: u32 = 0xC000_003E;
const AARCH64: u32 = 0xC000_00B7;
const I386: u32 = 0x4000_0003;
const ARM: u32 = 0x4000_0028;

/// The longest program there may be. It is installed once for each worker.
const MAX_INSTRUCTIONS: usize = 190;
/// The longest way through it.
const MAX_STEPS: usize = 24;

use Answer::{Allow, Errno, Kill};
use left::{LEFT_ON_AARCH64, LEFT_ON_X86_64};
pub(crate) use machine::{Answer, Request, int, run};

fn expected(arch: Architecture, plan: FilterPlan, request: &Request) -> Answer {
    match arch {
        Architecture::X86_64 if request.arch == X86_64 => on_x86_64(plan, request),
        Architecture::Aarch64 if request.arch == AARCH64 => on_aarch64(plan, request),
        _ => Kill,
    }
}

/// First and last numbers.
#[rustfmt::skip]
const REFUSED_ON_X86_64: [(u32, u32); 25] = [
    (101, 101), (103, 103), (134, 134), (153, 156), (159, 159), (161, 161), (163, 180), (212, 212),
    (227, 227), (246, 246), (256, 256), (279, 279), (298, 298), (300, 301), (304, 305), (308, 308),
    (310, 313), (320, 320), (321, 321), (323, 323), (428, 433), (438, 438), (442, 442), (443, 443),
    (467, 467),
];

#[rustfmt::skip]
const REFUSED_ON_AARCH64: [(u32, u32); 27] = [
    (18, 18), (39, 42), (51, 51), (58, 58), (60, 60), (89, 89), (104, 106), (112, 112), (116, 117),
    (142, 142), (161, 162), (170, 171), (224, 225), (238, 239), (241, 241), (262, 263), (265, 266),
    (268, 268), (270, 273), (280, 280), (282, 282), (294, 294), (428, 433), (438, 438), (442, 442),
    (443, 443), (467, 467),
];

fn is_in(ranges: &[(u32, u32)], number: u32) -> bool {
    ranges.iter().any(|&(first, last)| (first..=last).contains(&number))
}

fn on_x86_64(plan: FilterPlan, request: &Request) -> Answer {
    let brokering =
        matches!(plan.network, Network::HostLoopback | Network::Names) || plan.brokers_files;
    let [first, second, third, fourth, ..] = request.args;
    match request.number {
        2 if plan.files == Files::Confined => open(second, third),
        257 if plan.files == Files::Confined => open(third, fourth),
        number if plan.brokers_files && is_in(&LEFT_ON_X86_64, number) => Allow,
        85 | 90 | 91 | 133 if plan.files == Files::Confined => mode(second),
        259 | 268 | 452 if plan.files == Files::Confined => mode(third),
        437 if plan.files == Files::Confined && !plan.brokers_files => Errno(ENOSYS),
        16 => ioctl(second),
        29..=31 | 64..=71 | 220 | 240 | 241 if !plan.own_ipc => Errno(ENOSYS),
        41 => socket(plan, int(first), int(second), int(third)),
        53 => socketpair(plan, int(first), int(second)),
        56 => clone(first),
        62 if !plan.own_pids && int(first) == -1 => Errno(EPERM),
        141 => on_process(plan, int(first) == 2, int(second)),
        251 => on_process(plan, int(first) == 3, int(second)),
        302 if int(second) == 4 && third != 0 => Errno(0),
        302 => on_process(plan, false, int(first)),
        160 if int(first) == 4 => Errno(0),
        72 => fcntl(second),
        142 | 144 | 203 | 314 if plan.own_pids => on_process(plan, false, int(first)),
        272 => unshare(first),
        310 | 438 if brokering => Allow,
        101 if plan.traces => trace(first, fourth),
        310 | 311 if plan.traces => Allow,
        number if is_in(&REFUSED_ON_X86_64, number) => Errno(EPERM),
        248..=250 | 425..=427 | 435 | 470.. => Errno(ENOSYS),
        _ => Allow,
    }
}

fn on_aarch64(plan: FilterPlan, request: &Request) -> Answer {
    let brokering =
        matches!(plan.network, Network::HostLoopback | Network::Names) || plan.brokers_files;
    let [first, second, third, fourth, ..] = request.args;
    match request.number {
        number if plan.brokers_files && is_in(&LEFT_ON_AARCH64, number) => Allow,
        56 if plan.files == Files::Confined => open(third, fourth),
        52 if plan.files == Files::Confined => mode(second),
        33 | 53 | 452 if plan.files == Files::Confined => mode(third),
        437 if plan.files == Files::Confined && !plan.brokers_files => Errno(ENOSYS),
        29 => ioctl(second),
        180 | 181 | 186..=197 if !plan.own_ipc => Errno(ENOSYS),
        198 => socket(plan, int(first), int(second), int(third)),
        199 => socketpair(plan, int(first), int(second)),
        220 => clone(first),
        129 if !plan.own_pids && int(first) == -1 => Errno(EPERM),
        140 => on_process(plan, int(first) == 2, int(second)),
        30 => on_process(plan, int(first) == 3, int(second)),
        261 if int(second) == 4 && third != 0 => Errno(0),
        261 => on_process(plan, false, int(first)),
        164 if int(first) == 4 => Errno(0),
        25 => fcntl(second),
        118 | 119 | 122 | 274 if plan.own_pids => on_process(plan, false, int(first)),
        97 => unshare(first),
        270 | 438 if brokering => Allow,
        117 if plan.traces => trace(first, fourth),
        270 | 271 if plan.traces => Allow,
        number if is_in(&REFUSED_ON_AARCH64, number) => Errno(EPERM),
        217..=219 | 425..=427 | 435 | 470.. => Errno(ENOSYS),
        _ => Allow,
    }
}

fn only_own(own: bool) -> Answer {
    if own { Allow } else { Errno(EPERM) }
}

/// Calls on a process, or on all processes of a user. They must not reach the worker, which is the
/// first process of its namespace, nor strangers, where there is no such namespace.
fn on_process(plan: FilterPlan, to_user: bool, who: i32) -> Answer {
    only_own(!to_user && if plan.own_pids { who != 1 } else { who == 0 })
}

/// No tracer suspends filters.
fn trace(request: u64, options: u64) -> Answer {
    let sets = matches!(int(request), 21 | 0x4200 | 0x4206);
    only_own(!sets || int(options) & 1 << 21 == 0)
}

fn mode(mode: u64) -> Answer {
    only_own(int(mode) & 0o6000 == 0)
}

fn open(flags: u64, mode_argument: u64) -> Answer {
    let makes = int(flags) & (libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY)) != 0;
    if makes { mode(mode_argument) } else { Allow }
}

fn ioctl(request: u64) -> Answer {
    match int(request) {
        0x5412 | 0x541C | 0x5423 | 0x5000_9401 | 0x5000_940E | 0x5000_9417 | 0x5000_9418
        | 0x4018_6F04 | 0x4020_BC10 => Errno(EPERM),
        _ => Allow,
    }
}

fn fcntl(command: u64) -> Answer {
    only_own(!matches!(int(command), 1024 | 1040))
}

fn clone(flags: u64) -> Answer {
    let namespaces = libc::CLONE_NEWNS
        | libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET;
    only_own(int(flags) & namespaces == 0)
}

fn unshare(flags: u64) -> Answer {
    let harmless = libc::CLONE_VM
        | libc::CLONE_FS
        | libc::CLONE_FILES
        | libc::CLONE_SIGHAND
        | libc::CLONE_THREAD
        | libc::CLONE_SYSVSEM;
    only_own(flags & !u64::from(harmless.unsigned_abs()) == 0)
}

fn socket(plan: FilterPlan, family: i32, kind: i32, protocol: i32) -> Answer {
    let kind = kind & 0xF;
    let own_network =
        matches!(plan.network, Network::PrivateLoopback | Network::Names) && plan.own_net;
    match family {
        AF_UNIX if plan.network == Network::Open && plan.files == Files::Full => Allow,
        AF_UNIX => Errno(EACCES),
        AF_INET | AF_INET6 => match plan.network {
            // SOCK_PACKET
            Network::Open if kind == 10 => Errno(EACCES),
            Network::Open => Allow,
            Network::PrivateLoopback | Network::Names if own_network => match (kind, protocol) {
                (SOCK_STREAM | SOCK_DGRAM, 0 | libc::IPPROTO_TCP | libc::IPPROTO_UDP) => Allow,
                (SOCK_STREAM | SOCK_DGRAM, _) => Errno(EPROTONOSUPPORT),
                _ => Errno(EACCES),
            },
            Network::HostLoopback => match (kind, protocol) {
                (SOCK_STREAM, 0 | libc::IPPROTO_TCP) => Allow,
                (SOCK_STREAM, _) => Errno(EPROTONOSUPPORT),
                _ => Errno(EACCES),
            },
            Network::PrivateLoopback | Network::Names | Network::Nothing => Errno(EACCES),
        },
        AF_NETLINK if plan.network == Network::Open || own_network => match protocol {
            libc::NETLINK_ROUTE => Allow,
            _ => Errno(EPROTONOSUPPORT),
        },
        _ => Errno(EAFNOSUPPORT),
    }
}

fn socketpair(plan: FilterPlan, family: i32, kind: i32) -> Answer {
    match (family, kind & 0xF) {
        (AF_UNIX, SOCK_STREAM | SOCK_SEQPACKET) => Allow,
        (AF_UNIX, _) if plan.network == Network::Open && plan.files == Files::Full => Allow,
        (AF_UNIX, _) => Errno(EACCES),
        _ => Errno(EAFNOSUPPORT),
    }
}

/// Every plan there is.
pub(crate) fn plans() -> Vec<FilterPlan> {
    let networks = [
        Network::Open,
        Network::PrivateLoopback,
        Network::Nothing,
        Network::HostLoopback,
        Network::Names,
    ];
    let mut plans = Vec::new();
    for network in networks {
        for files in [Files::Confined, Files::Full] {
            for namespaces in 0..32 {
                let [own_net, own_ipc, own_pids, brokers_files, traces] =
                    [1, 2, 4, 8, 16].map(|bit| namespaces & bit != 0);
                let spaces = FilterPlan {
                    network,
                    files,
                    own_net,
                    own_ipc,
                    own_pids,
                    brokers_files,
                    traces,
                };
                plans.push(spaces);
            }
        }
    }
    plans
}

pub(crate) const BOTH: [Architecture; 2] = [Architecture::X86_64, Architecture::Aarch64];

/// The program of each plan on each architecture.
static PROGRAMS: LazyLock<[Vec<Program>; 2]> = LazyLock::new(|| {
    BOTH.map(|arch| plans().into_iter().map(|plan| worker_filter_on(arch, plan).unwrap()).collect())
});

/// Of requests and commands that are refused, and one that is not.
const NUMBERS: [u64; 14] = [
    0x4200,
    0x4206,
    0x5412,
    0x541C,
    0x5423,
    1024,
    1040,
    0x5000_9401,
    0x5000_9402,
    0x5000_940E,
    0x5000_9417,
    0x5000_9418,
    0x4018_6F04,
    0x4020_BC10,
];

/// Small numbers and single bits matter most, and so do numbers above the lower half.
pub(crate) fn arg() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => 0..50_u64,
        2 => (0..64_u32).prop_map(|bit| 1 << bit),
        1 => proptest::sample::select(&NUMBERS[..]),
        1 => (0..5_u64, 0..3_u32).prop_map(|(kind, flag)| kind | [0, 0x800, 0x8_0000][flag as usize]),
        1 => prop_oneof![Just(262_u64), Just(132), Just(0xFFFF_FFFF), Just(u64::MAX)],
        // The first process, with a half above that the kernel does not look at.
        1 => any::<u32>().prop_map(|high| u64::from(high) << 32 | 1),
        1 => any::<u64>(),
        1 => (0..20_u64, any::<u32>()).prop_map(|(low, high)| u64::from(high) << 32 | low),
    ]
}

fn request() -> impl Strategy<Value = Request> {
    let arch = prop_oneof![
        8 => Just(X86_64),
        8 => Just(AARCH64),
        1 => Just(I386),
        1 => Just(ARM),
        1 => any::<u32>(),
    ];
    // Those whose arguments matter, on either architecture, come up often enough.
    let looked_at = vec![
        16, 29, 41, 198, 53, 199, 56, 220, 62, 129, 141, 140, 251, 30, 302, 261, 272, 97, 142, 118,
        144, 119, 203, 122, 314, 274, 160, 164, 72, 25, 101, 117,
    ];
    let number = prop_oneof![
        6 => proptest::sample::select(looked_at),
        4 => 0..520_u32,
        1 => (0..520_u32).prop_map(|number| number | 0x4000_0000),
        1 => any::<u32>(),
    ];
    (arch, number, proptest::array::uniform6(arg())).prop_map(|(arch, number, args)| Request {
        arch,
        number,
        args,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8_000))]

    #[test]
    fn the_program_answers_as_specified(request in request(), plan in 0..320_usize, arch in 0..2_usize) {
        let answer = run(&PROGRAMS[arch][plan], &request).0;
        prop_assert_eq!(answer, expected(BOTH[arch], plans()[plan], &request));
    }
}

#[test]
fn every_number_is_answered_as_specified() {
    for arch in BOTH {
        for plan in plans() {
            let program = worker_filter_on(arch, plan).unwrap();
            for number in (0..1024).chain([0x4000_0000, 0x4000_0029, u32::MAX - 1, u32::MAX]) {
                for args in [
                    [0; 6],
                    [u64::MAX; 6],
                    [2, 1, 0, 0, 0, 0],
                    [1 << 32 | 1, 7 << 32 | 1, 0, 0, 0, 0],
                    [0x4206, 2, 0, 1 << 21, 0, 0],
                    [0x4206, 2, 0, 1 << 20, 0, 0],
                    [21, 2, 0, 3 << 20, 0, 0],
                ] {
                    let request = Request { arch: arch.audit_number(), number, args };
                    let answer = run(&program, &request).0;
                    assert_eq!(answer, expected(arch, plan, &request), "{plan:?} {request:?}");
                }
            }
        }
    }
}

#[test]
fn the_program_is_short() {
    for arch in BOTH {
        for plan in plans() {
            let program = worker_filter_on(arch, plan).unwrap();
            assert!(program.len() <= MAX_INSTRUCTIONS, "{} for {plan:?}", program.len());
            let steps = |number| {
                run(&program, &Request { arch: arch.audit_number(), number, args: [0; 6] }).1
            };
            let max = (0..=470).map(steps).max().unwrap();
            assert!(max <= MAX_STEPS, "{max} steps for {plan:?}");
        }
    }
}

#[test]
fn the_pin_touches_two_calls() {
    for (arch, pinned) in [(Architecture::X86_64, [112, 109]), (Architecture::Aarch64, [157, 154])]
    {
        let program = pin_filter_on(arch).unwrap();
        for number in 0..470 {
            let request = Request { arch: arch.audit_number(), number, args: [0; 6] };
            let expected = if pinned.contains(&number) { Errno(0) } else { Allow };
            assert_eq!(run(&program, &request).0, expected, "{number}");
        }
        assert!(program.len() <= 5, "{}", program.len());
    }
}

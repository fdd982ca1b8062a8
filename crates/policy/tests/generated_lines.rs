//! Ten million command lines that nobody wrote: none ends the program, takes long, or makes it grow. A
//! tenth of a tenth of them in an everyday run; `TOOLWRIGHT_SOAK_FACTOR=10` asks for all.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![expect(clippy::print_stdout, reason = "what a soak has found is read from its output")]

mod line_generator;

use std::time::{Duration, Instant};
use std::{env, fs};

use line_generator::Generator;
use rustix::time::{ClockId, clock_gettime};
use toolwright_policy::shell::{LINE_LIMIT, parse};

/// No line takes longer, of the processor's time: what else the machine does is not counted.
const MAX_PARSE_TIME: Duration = Duration::from_millis(200);
/// What the memory of the program may grow by, in KiB.
const MAX_MEMORY_GROWTH: usize = 64 << 10;

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().and_then(|text| text.parse().ok())
}

/// The most memory that this program had, in KiB; nothing where no system tells.
fn peak_memory() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().split(' ').next()?.parse().ok()).unwrap_or(0)
}

/// The processor's time that this thread has had.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

#[test]
fn no_generated_line_crashes_hangs_or_grows() {
    let seed = number("TOOLWRIGHT_SEED").unwrap_or(1);
    let factor = number("TOOLWRIGHT_SOAK_FACTOR").unwrap_or(1);
    let count = 100_000 * factor * factor;
    println!("{count} lines, TOOLWRIGHT_SEED={seed}");
    let mut generator = Generator::new(seed);
    let (mut worst, mut worst_line, mut bytes) = (Duration::ZERO, String::new(), 0);
    let mut parsing = Duration::ZERO;
    let (mut unparseable, mut restricted) = (0u64, 0u64);
    let started = Instant::now();
    let mut memory = 0;
    for index in 0..count {
        // What the longest lines need is there, and is used again.
        if index == count / 10 {
            memory = peak_memory();
        }
        let line = generator.line();
        bytes += line.len();
        let began = processor_time();
        let parsed = parse(&line, None);
        let took = processor_time().saturating_sub(began);
        parsing += took;
        if took > worst {
            (worst, worst_line) = (took, line.clone());
        }
        assert!(took <= MAX_PARSE_TIME, "{took:?}: {line:?}");
        assert!(line.len() <= LINE_LIMIT || parsed.unparseable.is_some(), "{line:?}");
        for command in &parsed.commands {
            assert!(
                command.argv.is_some() || command.restricted.is_some(),
                "{line:?}: {command:?}"
            );
        }
        unparseable += u64::from(parsed.unparseable.is_some());
        restricted += u64::from(parsed.commands.iter().any(|command| command.restricted.is_some()));
    }
    let grown = peak_memory().saturating_sub(memory);
    println!(
        "{:?}, of which {parsing:?} the parser, {bytes} bytes, {unparseable} unparseable, {restricted} restricted, memory {} KiB at most and {grown} KiB more than \
         after a tenth; the longest took {worst:?}: {} bytes, {:?}",
        started.elapsed(),
        peak_memory(),
        worst_line.len(),
        worst_line.chars().take(200).collect::<String>(),
    );
    assert!(grown < MAX_MEMORY_GROWTH, "{grown} KiB more");
    // Otherwise the generator makes nothing that is understood, and the test says little.
    assert!(unparseable < count * 9 / 10 && restricted < count * 99 / 100);
}

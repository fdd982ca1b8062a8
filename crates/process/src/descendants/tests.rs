//! The search as a pure function of invented process tables.

use proptest::prelude::*;

use super::*;

const HOST: i32 = 4;
const LEADER: i32 = 6;

/// A system with a host (4) between its parents (1 to 3) and a leader (6), and a stranger (5).
struct System {
    all: Vec<ProcessInfo>,
    /// For each of them, whether it descends from the leader. The leader does.
    ours: Vec<bool>,
    serial: u64,
    lineage: bool,
}

#[derive(Debug, Clone, Copy)]
enum Event {
    Fork(usize),
    Session(usize),
    Group(usize),
    /// Moves into the group of its parent, if that is of its session.
    GroupOfParent(usize),
    Execute(usize),
    Exit(usize),
    Look,
}

impl System {
    fn new(lineage: bool) -> Self {
        let mut system = Self { all: Vec::new(), ours: Vec::new(), serial: 0, lineage };
        for (pid, parent) in [(1, 0), (2, 1), (3, 2), (4, 3), (5, 3), (6, 4)] {
            let starter_ids =
                system.all.iter().find(|one| one.pid == parent).map_or([0; 2], |p| p.unique_ids);
            system.insert(pid, parent, starter_ids, 2, 2, pid == LEADER);
        }
        for (at, group) in [(0, 1), (2, 3), (3, 3), (4, 5), (5, 6)] {
            system.all[at].group = group;
        }
        system.all[0].session = 1;
        system
    }

    fn insert(
        &mut self,
        pid: i32,
        parent: i32,
        starter_ids: [u64; 2],
        group: i32,
        session: i32,
        ours: bool,
    ) {
        self.serial += 1;
        let unique_ids = if self.lineage { [self.serial, 1_000 + self.serial] } else { [0; 2] };
        let start = self.serial;
        let has_ended = false;
        self.all.push(ProcessInfo {
            pid,
            start,
            parent,
            group,
            session,
            has_ended,
            unique_ids,
            starter_ids,
        });
        self.ours.push(ours);
    }

    /// The host and those above it do what a command does not bring about: nothing.
    fn actor(&self, index: usize) -> Option<usize> {
        let at = index % self.all.len();
        (self.all[at].pid > HOST).then_some(at)
    }

    fn happen(&mut self, event: Event) {
        let (Event::Fork(index)
        | Event::Session(index)
        | Event::Group(index)
        | Event::GroupOfParent(index)
        | Event::Execute(index)
        | Event::Exit(index)) = event
        else {
            return;
        };
        let Some(at) = self.actor(index) else { return };
        let one = self.all[at];
        let parent = self.all.iter().find(|parent| parent.pid == one.parent).copied();
        match event {
            Event::Fork(_) => {
                // The lowest free number, so that numbers come back at once.
                let taken = |pid: &i32| {
                    self.all.iter().any(|o| o.pid == *pid || o.group == *pid || o.session == *pid)
                };
                let pid = (7..1_000).find(|pid| !taken(pid)).expect("a number");
                self.insert(pid, one.pid, one.unique_ids, one.group, one.session, self.ours[at]);
            }
            Event::Session(_) if one.group != one.pid => {
                self.all[at].group = one.pid;
                self.all[at].session = one.pid;
            }
            Event::Group(_) if one.session != one.pid => self.all[at].group = one.pid,
            Event::GroupOfParent(_) => {
                // A stranger has no business there, and one of ours has in groups of others.
                if let Some(parent) = parent
                    && (parent.session, one.session != one.pid) == (one.session, true)
                {
                    self.all[at].group = parent.group;
                }
            }
            Event::Execute(_) if self.lineage => {
                self.serial += 1;
                self.all[at].unique_ids[1] = 1_000 + self.serial;
                self.all[at].starter_ids[0] = parent.map_or(0, |parent| parent.unique_ids[0]);
            }
            // The leader stays until it is asked for.
            Event::Exit(_) if one.pid == LEADER => {
                self.all[at].has_ended = true;
                self.adopt(one.pid);
            }
            Event::Exit(_) => {
                self.all.remove(at);
                self.ours.remove(at);
                self.adopt(one.pid);
            }
            _ => {}
        }
    }

    fn adopt(&mut self, parent: i32) {
        self.all.iter_mut().filter(|one| one.parent == parent).for_each(|one| one.parent = 1);
    }

    fn family(&self) -> Family {
        Family::of(self.all.iter().find(|one| one.pid == LEADER).expect("a leader"), HOST)
    }

    fn descendants(&self) -> BTreeSet<i32> {
        let pids = self.all.iter().zip(&self.ours);
        pids.filter(|(_, ours)| **ours).map(|(one, _)| one.pid).collect()
    }
}

fn pids_of(family: &mut Family, all: &[ProcessInfo]) -> BTreeSet<i32> {
    family.find(all).into_iter().map(|one| one.pid).collect()
}

fn events(ends: bool) -> impl Strategy<Value = Vec<Event>> {
    let at = || any::<prop::sample::Index>().prop_map(|index| index.index(1 << 20));
    let exits = if ends { 3 } else { 0 };
    prop::collection::vec(
        prop_oneof![
            5 => at().prop_map(Event::Fork),
            2 => at().prop_map(Event::Session),
            1 => at().prop_map(Event::Group),
            1 => at().prop_map(Event::GroupOfParent),
            1 => at().prop_map(Event::Execute),
            exits => at().prop_map(Event::Exit),
            2 => Just(Event::Look),
        ],
        0..60,
    )
}

proptest! {
    #[test]
    fn nobody_else_is_found(events in events(true), lineage: bool) {
        let mut system = System::new(lineage);
        let mut family = system.family();
        for event in events {
            system.happen(event);
            if let Event::Look = event {
                let pids = pids_of(&mut family, &system.all);
                prop_assert!(pids.is_subset(&system.descendants()), "{pids:?} of {:?}", system.all);
            }
        }
        let pids = pids_of(&mut family, &system.all);
        prop_assert!(pids.is_subset(&system.descendants()), "{pids:?} of {:?}", system.all);
        prop_assert!(pids.contains(&LEADER));
    }

    #[test]
    fn all_that_have_their_parents_are_found(events in events(false), lineage: bool) {
        let mut system = System::new(lineage);
        let mut family = system.family();
        for event in events {
            system.happen(event);
        }
        prop_assert_eq!(pids_of(&mut family, &system.all), system.descendants());
    }

    #[test]
    fn what_was_seen_once_is_found_as_long_as_it_lives(events in events(true), lineage: bool) {
        let mut system = System::new(lineage);
        let mut family = system.family();
        for event in events {
            system.happen(event);
            prop_assert_eq!(pids_of(&mut family, &system.all), system.descendants());
        }
    }

    #[test]
    fn what_the_leader_has_started_is_found_after_its_end_by_lineage(events in events(false)) {
        let mut system = System::new(true);
        let events = events.into_iter().filter(|event| !matches!(event, Event::Execute(_)));
        events.for_each(|event| system.happen(event));
        let mut family = system.family();
        let leader = system.all.iter().position(|one| one.pid == LEADER).expect("a leader");
        system.happen(Event::Exit(leader));
        prop_assert_eq!(pids_of(&mut family, &system.all), system.descendants());
    }

    /// Lists that no system could give: circles, several of a number, negative ones.
    #[test]
    fn whatever_the_list_says_neither_the_host_nor_its_parents_are_found(
        list in prop::collection::vec(
            ((-1..12, 0u64..9, -1..12, -1..12), (-1..12, any::<bool>(), [0u64..9, 0..9], [0u64..9, 0..9])),
            0..30,
        ),
    ) {
        let mut system = System::new(true);
        let mut family = system.family();
        let started = system.all[5].start;
        system.all.extend(
            list.into_iter()
                .filter(|((pid, ..), _)| !(1..=LEADER).contains(pid))
                .map(|((pid, start, parent, group), (session, has_ended, unique_ids, starter_ids))| {
                    ProcessInfo {
            pid,
            start,
            parent,
            group,
            session,
            has_ended,
            unique_ids,
            starter_ids,
        }
                }),
        );
        // Lies about the host too, but not about who its parents are.
        for at in 0..4 {
            (system.all[at].group, system.all[at].session) = (LEADER, LEADER);
            (system.all[at].start, system.all[at].starter_ids) = (started, system.all[5].unique_ids);
        }
        let descendants = family.find(&system.all);
        prop_assert!(descendants.iter().all(|one| one.pid > HOST && one.start >= started), "{descendants:?}");
    }
}

#[test]
fn a_number_that_has_come_back_is_a_stranger() {
    let mut system = System::new(false);
    let mut family = system.family();
    system.happen(Event::Fork(5));
    system.happen(Event::Session(6));
    assert_eq!(pids_of(&mut family, &system.all), [LEADER, 7].into());
    system.happen(Event::Exit(6));
    system.happen(Event::Fork(4));
    assert_eq!(system.all[6].pid, 7);
    system.happen(Event::Session(6));
    system.happen(Event::Fork(6));
    assert_eq!(pids_of(&mut family, &system.all), [LEADER].into());
}

#[test]
fn what_is_remembered_is_bounded_and_the_living_stay() {
    let mut system = System::new(true);
    let mut family = system.family();
    system.happen(Event::Fork(5));
    system.happen(Event::Session(6));
    family.find(&system.all);
    system.adopt(LEADER);
    system.all[6].starter_ids = [0; 2];
    for _ in 0..MAX_REMEMBERED + 10 {
        system.happen(Event::Fork(5));
        family.find(&system.all);
        system.happen(Event::Exit(7));
    }
    assert!(family.seen.len() <= MAX_REMEMBERED && family.unique_ids[1].len() <= MAX_REMEMBERED);
    assert_eq!(pids_of(&mut family, &system.all), system.descendants());
}

/// A system in which one that nobody has seen has started another and ended: 8, with 1 as its parent.
fn with_orphan(before: &[Event]) -> System {
    let mut system = System::new(false);
    system.happen(Event::Fork(5));
    for event in before {
        system.happen(*event);
    }
    system.happen(Event::Fork(6));
    system.happen(Event::Fork(7));
    system.happen(Event::Exit(7));
    assert_eq!((system.all[7].pid, system.all[7].parent), (9, 1));
    system
}

#[test]
fn what_is_in_a_group_that_one_of_the_family_has_begun_is_found() {
    let system = with_orphan(&[]);
    assert_eq!(pids_of(&mut system.family(), &system.all), [LEADER, 7, 9].into());
    let system = with_orphan(&[Event::Group(6)]);
    assert_eq!(pids_of(&mut system.family(), &system.all), [LEADER, 7, 9].into());
}

#[test]
fn what_shares_a_session_that_is_not_the_hosts_is_found_and_what_shares_that_is_not() {
    let mut system = with_orphan(&[Event::Session(6)]);
    system.happen(Event::Group(7));
    assert_eq!(pids_of(&mut system.family(), &system.all), [LEADER, 7, 9].into());
    let mut system = with_orphan(&[]);
    system.happen(Event::Group(7));
    assert_eq!(pids_of(&mut system.family(), &system.all), [LEADER, 7].into());
}

#[test]
fn a_later_process_with_the_same_pid_is_not_killed() {
    let mut child = process::Command::new("sleep").arg("60").spawn().expect("sleep starts");
    let info = ProcessInfo::read(child.id().cast_signed()).expect("it is there");
    ProcessInfo { start: info.start - 1, ..info }.kill();
    std::thread::sleep(Duration::from_millis(20));
    assert!(child.try_wait().expect("asked").is_none());
    info.kill();
    child.wait().expect("reaped");
}

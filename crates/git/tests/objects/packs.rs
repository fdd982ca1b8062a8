//! Packs that a command made by hand.

use std::fs;
use std::time::{Duration, Instant};

use crate::support::packs::{DeltaBuilder, PackBuilder, plant_pack, sign};
use crate::support::pair::{Pair, entry, open};
use crate::support::{Fork, Repository, has_git, plant_object};
use proptest::prelude::*;
use toolwright_git::database::Database;
use toolwright_git::incoming::{Borders, Bound, Bounds, Incoming, Problem, Reason};
use toolwright_git::object::content::Malformed;
use toolwright_git::object::{Id, Kind};

const BASE: &[u8] = b"a base that is long enough\n";

fn refused(pack: &[u8]) -> Reason {
    let pair = Pair::new();
    plant_pack(&pair.command(), pack);
    let reason = pair.refused();
    let packs = fs::read_dir(pair.person().join("pack")).unwrap().count();
    assert_eq!(packs, 0);
    reason
}

/// Reads a pack into an empty repository, and then these objects from it.
fn accepted(pack: &[u8], objects: &[(Kind, &[u8])]) {
    let pair = Pair::new();
    plant_pack(&pair.command(), pack);
    let base = pair.base();
    let incoming = read(&pair, &base);
    assert!(incoming.left_out().is_empty(), "{:?}", incoming.left_out());
    incoming.store(&open(&pair.person())).unwrap();
    for (kind, content) in objects {
        let id = Id::of(*kind, content);
        assert_eq!(incoming.object(&id, 1 << 30).unwrap(), Some((*kind, content.to_vec())));
        assert_eq!(base.read(&id, 1 << 30).unwrap(), Some((*kind, content.to_vec())));
    }
}

fn read<'a>(pair: &Pair, base: &'a Database) -> Incoming<'a> {
    Incoming::read(&open(&pair.command()), base, &Borders::default(), &Bounds::default()).unwrap()
}

#[test]
fn differences_are_made_in_whatever_order_they_come() {
    let size = BASE.len() as u64;
    let first = DeltaBuilder::new(size, 6).copy(0, 6).finish();
    let second = DeltaBuilder::new(6, 9).copy(0, 6).insert(b"xyz").finish();
    let mut pack = PackBuilder::new();
    // The base of a difference by name may come after it, and be a difference itself.
    pack.delta_of_id(&Id::of(Kind::Blob, &BASE[..6]), &second);
    pack.delta_of_id(&Id::of(Kind::Blob, BASE), &first);
    let base = pack.whole(Kind::Blob, BASE);
    pack.delta_of_offset(base, &DeltaBuilder::new(size, 3).insert(b"abc").finish());
    let result = [&BASE[..6], b"xyz"].concat();
    let objects = [BASE, &BASE[..6], &result, b"abc"].map(|content| (Kind::Blob, content));
    accepted(&pack.finish(), &objects);
    accepted(&PackBuilder::new().finish(), &[]);
}

#[test]
fn the_frame_of_a_pack_is_exact() {
    let mut pack = PackBuilder::new();
    pack.whole(Kind::Blob, BASE);
    let good = pack.clone().finish();
    accepted(&good, &[(Kind::Blob, BASE)]);
    for count in [0, 2, u32::MAX] {
        let mut pack = pack.clone();
        pack.count = count;
        assert!(matches!(refused(&pack.finish()), Reason::Damaged(_)), "{count}");
    }
    for length in 0..good.len() {
        assert!(matches!(refused(&good[..length]), Reason::Damaged(_)), "{length}");
    }
    assert!(matches!(refused(&[&good[..], b"x"].concat()), Reason::Damaged(_)));
    for version in [0, 1, 4, 255] {
        let mut pack = pack.clone();
        pack.bytes[7] = version;
        assert!(matches!(refused(&pack.finish()), Reason::Damaged(_)), "{version}");
    }
    for code in [0, 5] {
        let mut pack = PackBuilder::new();
        pack.entry(code, BASE.len() as u64, &[], BASE);
        assert!(matches!(refused(&pack.finish()), Reason::Damaged(_)), "{code}");
    }
    for size in [0, 1, BASE.len() as u64 - 1, BASE.len() as u64 + 1, 1 << 20] {
        let mut pack = PackBuilder::new();
        pack.entry(3, size, &[], BASE);
        assert!(matches!(refused(&pack.finish()), Reason::Damaged(_)), "{size}");
    }
    let mut pack = PackBuilder::new();
    pack.entry(3, 1 << 59, &[], BASE);
    let pair = Pair::new();
    plant_pack(&pair.command(), &pack.finish());
    let read = pair.read(&Bounds::default());
    assert!(matches!(read, Err(Problem::Bound(Bound::InflatedBytes))));
}

#[test]
fn a_difference_stays_within_its_base_and_its_size() {
    let size = BASE.len() as u64;
    for delta in [
        DeltaBuilder::new(size, 6).copy(22, 6),
        DeltaBuilder::new(size, 6).copy(u32::MAX, 6),
        DeltaBuilder::new(size + 1, 6).copy(0, 6),
        DeltaBuilder::new(size, 7).copy(0, 6),
        DeltaBuilder::new(size, 5).copy(0, 6),
        DeltaBuilder::new(size, 5).copy(0, 5).copy(0, 1),
        DeltaBuilder::new(size, 5).insert(b"abcdef"),
        DeltaBuilder::new(size, 6).copy(0, 6).code(0),
        DeltaBuilder::new(size, 6).copy(0, 6).code(0x91),
        DeltaBuilder::new(size, 6).code(6),
        DeltaBuilder::new(size, u64::MAX).copy(0, 6),
        DeltaBuilder::new(size, 0x10000).code(0x80),
        DeltaBuilder::new(size, 1 << 40).copy(0, 6),
        DeltaBuilder::new(size, 0),
    ] {
        let delta = delta.finish();
        let mut pack = PackBuilder::new();
        let base = pack.whole(Kind::Blob, BASE);
        pack.delta_of_offset(base, &delta);
        let reason = refused(&pack.finish());
        assert!(matches!(reason, Reason::Damaged(_) | Reason::TooLarge(_)), "{delta:?} {reason:?}");
    }
}

#[test]
fn a_difference_has_its_base_in_the_same_pack() {
    let delta = DeltaBuilder::new(BASE.len() as u64, 6).copy(0, 6).finish();
    // Git reads no such pack, although the repository has the base.
    let pair = Pair::new();
    let id = plant_object(&pair.person(), Kind::Blob, BASE);
    let mut pack = PackBuilder::new();
    pack.delta_of_id(&id, &delta);
    plant_pack(&pair.command(), &pack.finish());
    assert!(matches!(pair.refused(), Reason::Damaged(_)));

    let mut pack = PackBuilder::new();
    let base = pack.whole(Kind::Blob, BASE);
    pack.delta_of_offset(base + 1, &delta);
    assert!(matches!(refused(&pack.finish()), Reason::Damaged(_)));
    for digits in [&[0][..], &[1], &[0xff, 0xff, 0x7f], &[0xff; 12]] {
        let mut pack = PackBuilder::new();
        pack.whole(Kind::Blob, BASE);
        pack.entry(6, delta.len() as u64, digits, &delta);
        assert!(matches!(refused(&pack.finish()), Reason::Damaged(_)), "{digits:?}");
    }
    // Differences to each other, and to themselves.
    let (one, other) = (Id::of(Kind::Blob, b"one"), Id::of(Kind::Blob, b"other"));
    let mut pack = PackBuilder::new();
    pack.delta_of_id(&one, &delta);
    pack.delta_of_id(&other, &delta);
    assert!(matches!(refused(&pack.finish()), Reason::Damaged(_)));
}

#[test]
fn no_object_is_there_twice() {
    let mut pack = PackBuilder::new();
    pack.whole(Kind::Blob, BASE);
    pack.whole(Kind::Blob, BASE);
    assert!(matches!(refused(&pack.finish()), Reason::Damaged(_)));
    // Whole, and as a difference to something that is a difference to it: git would go in a circle.
    let other = [BASE, b"x"].concat();
    let size = BASE.len() as u64;
    let mut pack = PackBuilder::new();
    pack.whole(Kind::Blob, BASE);
    let there = DeltaBuilder::new(size, size + 1).copy(0, size as u32).insert(b"x").finish();
    pack.delta_of_id(&Id::of(Kind::Blob, BASE), &there);
    let back = DeltaBuilder::new(size + 1, size).copy(0, size as u32).finish();
    pack.delta_of_id(&Id::of(Kind::Blob, &other), &back);
    assert!(matches!(refused(&pack.finish()), Reason::Damaged(_)));
}

#[test]
fn chains_are_as_long_as_those_of_git_and_no_longer() {
    let chain = |length: u32| {
        let mut pack = PackBuilder::new();
        let mut base = pack.whole(Kind::Blob, BASE);
        let mut size = BASE.len() as u64;
        for number in 0..length {
            let text = number.to_le_bytes();
            let delta = DeltaBuilder::new(size, 30).copy(0, 26).insert(&text).finish();
            base = pack.delta_of_offset(base, &delta);
            size = 30;
        }
        pack.finish()
    };
    accepted(&chain(4000), &[(Kind::Blob, BASE)]);
    assert!(matches!(refused(&chain(5000)), Reason::Damaged(_)));
}

#[test]
fn an_amplifier_ends_at_a_bound() {
    // 20 objects of 64 MiB each, from 64 KiB.
    let mut pack = PackBuilder::new();
    let base = pack.whole(Kind::Blob, &vec![0; 0x10000]);
    for number in 0..20 {
        let mut delta = DeltaBuilder::new(0x10000, (64 << 20) + 1);
        for _ in 0..1024 {
            delta = delta.copy(0, 0x10000);
        }
        pack.delta_of_offset(base, &delta.insert(&[number]).finish());
    }
    let pair = Pair::new();
    plant_pack(&pair.command(), &pack.finish());
    let begun = Instant::now();
    let bounds = Bounds { inflated_bytes: 8 << 20, ..Bounds::default() };
    assert!(matches!(pair.read(&bounds), Err(Problem::Bound(Bound::InflatedBytes))));
    let bounds = Bounds { blob_bytes: 1 << 20, ..Bounds::default() };
    assert!(matches!(pair.read(&bounds).unwrap().1[..], [Reason::TooLarge(_)]));
    let bounds = Bounds { time: Duration::from_millis(300), ..Bounds::default() };
    assert!(matches!(pair.read(&bounds), Err(Problem::Bound(Bound::Time))));
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let left: Vec<_> = fs::read_dir(pair.person()).unwrap().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn objects_of_packs_are_well_formed_and_closed() {
    let blob = Id::of(Kind::Blob, BASE);
    let hidden = entry("40000", b".GIT", Id::of(Kind::Tree, b""));
    let mut pack = PackBuilder::new();
    pack.whole(Kind::Tree, &hidden);
    pack.whole(Kind::Tree, b"");
    assert!(matches!(refused(&pack.finish()), Reason::Malformed(Malformed::Name)));
    // As a difference.
    let mut pack = PackBuilder::new();
    let base = pack.whole(Kind::Tree, b"");
    pack.delta_of_offset(base, &DeltaBuilder::new(0, hidden.len() as u64).insert(&hidden).finish());
    assert!(matches!(refused(&pack.finish()), Reason::Malformed(Malformed::Name)));

    let tree = entry("100644", b"a", blob);
    let mut pack = PackBuilder::new();
    pack.whole(Kind::Tree, &tree);
    assert!(matches!(refused(&pack.clone().finish()), Reason::Missing));
    pack.whole(Kind::Blob, BASE);
    accepted(&pack.finish(), &[(Kind::Tree, &tree), (Kind::Blob, BASE)]);
    // The kind of what is referred to, in the same pack.
    let wrong = entry("40000", b"a", blob);
    let mut pack = PackBuilder::new();
    pack.whole(Kind::Tree, &wrong);
    pack.whole(Kind::Blob, BASE);
    assert!(matches!(refused(&pack.finish()), Reason::Missing));
}

#[test]
fn packs_and_loose_objects_may_need_each_other() {
    let tree = entry("100644", b"a", Id::of(Kind::Blob, BASE));
    let tree_id = Id::of(Kind::Tree, &tree);
    let above = entry("40000", b"d", tree_id);
    let mut pack = PackBuilder::new();
    pack.whole(Kind::Tree, &tree);
    let pack = pack.finish();

    let pair = Pair::new();
    plant_pack(&pair.command(), &pack);
    let loose = plant_object(&pair.command(), Kind::Tree, &above);
    let base = pair.base();
    let incoming = read(&pair, &base);
    assert!(incoming.is_empty());
    assert_eq!(incoming.left_out().len(), 2);
    drop(incoming);
    plant_object(&pair.command(), Kind::Blob, BASE);
    let incoming = read(&pair, &base);
    assert!(incoming.left_out().is_empty());
    incoming.store(&open(&pair.person())).unwrap();
    assert_eq!(base.kind(&loose).unwrap(), Some(Kind::Tree));
    assert_eq!(base.kind(&tree_id).unwrap(), Some(Kind::Tree));
    drop(incoming);
    // All of it is known now.
    assert!(read(&pair, &base).is_empty());
}

#[test]
fn large_objects_are_differences_too() {
    // Larger than what is held in memory.
    let content: Vec<u8> = (0..17_u32 << 20).map(|n| (n >> 9) as u8).collect();
    let size = content.len() as u64;
    let mut pack = PackBuilder::new();
    let base = pack.whole(Kind::Blob, &content);
    let mut delta = DeltaBuilder::new(size, size + 3);
    for begin in (0..size as u32).step_by(1 << 20) {
        delta = delta.copy(begin, 1 << 20);
    }
    let first = pack.delta_of_offset(base, &delta.insert(b"end").finish());
    let small = DeltaBuilder::new(size + 3, 6).copy(size as u32 - 3, 6).finish();
    pack.delta_of_offset(first, &small);
    pack.delta_of_offset(first, &DeltaBuilder::new(size + 3, 4).copy(0, 4).finish());
    let longer = [&content[..], b"end"].concat();
    let end = longer[longer.len() - 6..].to_vec();
    let objects = [&content[..], &longer, &end, &content[..4]];
    accepted(&pack.finish(), &objects.map(|content| (Kind::Blob, content)));
}

/// Whatever byte is changed, and even if the checksum is made to fit: there is no panic, and no object whose
/// name is not its hash.
#[test]
fn a_damaged_pack_gives_no_wrong_object() {
    if !has_git() {
        return;
    }
    let base = Repository::new();
    base.write("file", "content\n");
    base.commit("first");
    let fork = Fork::of(&base);
    fork.repository.grow(4);
    fork.repository.git(&["repack", "-adlfq"]);
    let packs = fork.repository.objects().join("pack");
    let files = fs::read_dir(packs).unwrap().map(|entry| entry.unwrap().path());
    let pack = files.into_iter().find(|path| path.extension().unwrap() == "pack").unwrap();
    let pack = fs::read(pack).unwrap();
    let ids: Vec<Id> = fork.repository.contents().into_iter().map(|(id, ..)| id).collect();
    let pair = Pair::new();
    let database = Database::open(base.directory()).unwrap();
    let body = pack.len() - 20;
    let mut accepted = 0;
    for place in 0..body {
        let change = [1, 0x80, 0xff][place % 3];
        let mut damaged = pack[..body].to_vec();
        damaged[place] ^= change;
        plant_pack(&pair.command(), &sign(damaged));
        let incoming = match Incoming::read(
            &open(&pair.command()),
            &database,
            &Borders::default(),
            &Bounds::default(),
        ) {
            Ok(incoming) => incoming,
            Err(Problem::Bound(_)) => continue,
            Err(problem) => panic!("{problem}"),
        };
        accepted += usize::from(!incoming.is_empty());
        for id in &ids {
            if let Some((kind, content)) = incoming.object(id, 1 << 20).unwrap() {
                assert_eq!(Id::of(kind, &content), *id);
            }
        }
    }
    // A few bits of a stream of zlib mean nothing.
    assert!(accepted < body / 20, "{accepted} of {body}");
}

/// A part of the base, or new bytes.
type Edit = Result<(u32, u32), Vec<u8>>;

/// A base, and parts of it and new bytes that make another object.
fn edits() -> impl Strategy<Value = (Vec<u8>, Vec<Edit>)> {
    prop::collection::vec(any::<u8>(), 1..2000).prop_flat_map(|base| {
        let size = base.len() as u32;
        let copy = (0..size).prop_flat_map(move |at| (Just(at), 1..=size - at)).prop_map(Ok);
        let insert = prop::collection::vec(any::<u8>(), 1..300).prop_map(Err);
        (Just(base), prop::collection::vec(prop_oneof![copy, insert], 1..20))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn any_difference_makes_its_object((base, edits) in edits(), by_name: bool) {
        let mut result = Vec::new();
        for edit in &edits {
            match edit {
                Ok((at, length)) => result.extend_from_slice(&base[*at as usize..][..*length as usize]),
                Err(bytes) => result.extend_from_slice(bytes),
            }
        }
        prop_assume!(result != base);
        let mut delta = DeltaBuilder::new(base.len() as u64, result.len() as u64);
        for edit in &edits {
            delta = match edit {
                Ok((at, length)) => delta.copy(*at, *length),
                Err(bytes) => delta.insert(bytes),
            };
        }
        let delta = delta.finish();
        let mut pack = PackBuilder::new();
        let offset = pack.whole(Kind::Blob, &base);
        if by_name {
            pack.delta_of_id(&Id::of(Kind::Blob, &base), &delta);
        } else {
            pack.delta_of_offset(offset, &delta);
        }
        accepted(&pack.finish(), &[(Kind::Blob, &base), (Kind::Blob, &result)]);
    }

    #[test]
    fn any_bytes_as_a_pack_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..400), count in 0..4_u32) {
        let mut pack = PackBuilder::new();
        pack.bytes.extend_from_slice(&bytes);
        pack.count = count;
        if count > 0 || !bytes.is_empty() {
            let pair = Pair::new();
            plant_pack(&pair.command(), &pack.finish());
            if let Ok((added, reasons)) = pair.read(&Bounds::default()) {
                prop_assert!(added.is_empty());
                prop_assert_eq!(reasons.len(), 1);
            }
        }
    }
}

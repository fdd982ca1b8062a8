//! Which addresses are of the public internet, by the registries: the same table as `web_fetch` has.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use toolwright_policy::is_public;

/// The first and the last address of a block, as numbers.
#[derive(Debug)]
struct Block {
    is_v4: bool,
    first: u128,
    last: u128,
}

fn blocks() -> Vec<Block> {
    let lines = include_str!("special_addresses.txt").lines();
    lines.filter(|line| !line.starts_with('#')).map(block).collect()
}

fn block(line: &str) -> Block {
    let (address, length) = line.split_once('/').expect("a block");
    let length: u32 = length.parse().expect("a length");
    let (is_v4, first, bits) = match address.parse().expect("an address") {
        IpAddr::V4(v4) => (true, u128::from(u32::from(v4)), 32),
        IpAddr::V6(v6) => (false, u128::from(v6), 128),
    };
    let rest = u128::MAX.checked_shr(128 - (bits - length)).unwrap_or(0);
    Block { is_v4, first, last: first | rest }
}

fn address(is_v4: bool, number: u128) -> Option<IpAddr> {
    match u32::try_from(number) {
        Ok(number) if is_v4 => Some(Ipv4Addr::from(number).into()),
        Err(_) if is_v4 => None,
        _ => Some(Ipv6Addr::from(number).into()),
    }
}

#[test]
fn every_special_block_is_special_and_what_is_beside_it_is_not() {
    let blocks = blocks();
    let is_special = |is_v4, number| {
        let has =
            |block: &Block| block.is_v4 == is_v4 && (block.first..=block.last).contains(&number);
        blocks.iter().any(has)
    };
    let mut looked_at = 0;
    for Block { is_v4, first, last } in &blocks {
        let inside = [*first, *last, first + (last - first) / 2];
        let beside = [first.checked_sub(1), last.checked_add(1)].into_iter().flatten();
        for number in inside.into_iter().chain(beside) {
            let Some(address) = address(*is_v4, number) else { continue };
            assert_eq!(is_public(address), !is_special(*is_v4, number), "{address}");
            looked_at += 1;
        }
    }
    assert!(looked_at > 120, "{looked_at}");
}

#[test]
fn public_addresses_are_public() {
    for text in
        ["1.1.1.1", "93.184.215.14", "192.0.1.1", "2606:4700:4700::1111", "2001:4860::1", "3ffe::1"]
    {
        assert!(is_public(text.parse().expect("an address")), "{text}");
    }
    for text in ["::ffff:1.1.1.1", "::1.1.1.1", "64:ff9b::101:101", "fe80::1", "fd00:ec2::254"] {
        assert!(!is_public(text.parse().expect("an address")), "{text}");
    }
}

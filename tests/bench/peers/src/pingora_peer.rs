//! pingora_peer NODES WEIGHT POINTS_PER_WEIGHT KEYS HASHES
//!
//! A v2 ring of pingora-ketama that the suite `peers` measures. tests/bench/ring_peer.h has the protocol; both sides
//! do the same between their two looks at the clock.

use std::fs;
use std::io::{self, BufRead, Write};
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use pingora_ketama::{Bucket, Continuum, Version};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Node `index` of every fleet.
fn address(index: u32) -> SocketAddr {
    SocketAddr::from(([10, 0, (index / 256) as u8, (index % 256) as u8], 443))
}

fn ipv4(address: Option<SocketAddr>) -> u32 {
    match address.map(|a| a.ip()) {
        Some(IpAddr::V4(ip)) => u32::from(ip),
        _ => 0,
    }
}

/// Looks every key up; the owners' addresses are in `owners` then. The time in seconds.
fn look_up<'a>(ring: &Continuum, keys: impl Iterator<Item = &'a [u8]>, owners: &mut [u32]) -> f64 {
    let start = Instant::now();
    for (owner, key) in owners.iter_mut().zip(keys) {
        *owner = ipv4(ring.node(key));
    }
    start.elapsed().as_secs_f64()
}

fn write_owners(path: &str, owners: &[u32]) -> io::Result<()> {
    let bytes: Vec<u8> = owners.iter().flat_map(|owner| owner.to_le_bytes()).collect();
    fs::write(path, bytes)
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 6 {
        return Err("usage: pingora_peer NODES WEIGHT POINTS_PER_WEIGHT KEYS HASHES".into());
    }
    let nodes: u32 = arguments[1].parse()?;
    let weight: u32 = arguments[2].parse()?;
    let point_multiple: u32 = arguments[3].parse()?;
    let buckets: Vec<Bucket> = (0..nodes).map(|i| Bucket::new(address(i), weight)).collect();
    let text = fs::read(&arguments[4])?;
    let mut keys: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    keys.pop(); // what is behind the last newline
    let hashed = fs::read(&arguments[5])?; // four bytes a key: every hash is that of one such key
    let mut owners = vec![0u32; keys.len().max(hashed.len() / 4)];

    println!("ready");
    let mut ring = None;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (command, path) = line.split_once(' ').unwrap_or((&line, ""));
        let seconds = match (command, &ring) {
            ("build", _) => {
                drop(ring.take()); // its memory goes before that of the next one comes
                let start = Instant::now();
                ring = Some(Continuum::new_with_version(&buckets, Version::V2 { point_multiple }));
                start.elapsed().as_secs_f64()
            }
            ("keys", Some(ring)) => {
                let count = keys.len();
                let seconds = look_up(ring, keys.iter().copied(), &mut owners[..count]);
                write_owners(path, &owners[..count])?;
                seconds
            }
            ("hashes", Some(ring)) => {
                let count = hashed.len() / 4;
                let seconds = look_up(ring, hashed.chunks_exact(4), &mut owners[..count]);
                write_owners(path, &owners[..count])?;
                seconds
            }
            _ => return Err(format!("unexpected command {line}").into()),
        };
        println!("{seconds:.9}");
        io::stdout().flush()?;
    }
    Ok(())
}

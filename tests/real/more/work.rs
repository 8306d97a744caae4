// SPDX-License-Identifier: MIT
// Collections, threads, channels, a panic that is caught.
use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc;
fn main() {
    let mut map = BTreeMap::new();
    for i in 0..20000u64 {
        map.entry(i * 7919 % 10007).or_insert_with(Vec::new).push("x".repeat((i % 50) as usize));
    }
    let (send, receive) = mpsc::channel();
    let threads: Vec<_> = (0..8usize)
        .map(|n| {
            let send = send.clone();
            std::thread::spawn(move || {
                let m: HashMap<usize, String> = (0..2000).map(|i| (i, (i * n).to_string())).collect();
                send.send(m.values().map(String::len).sum::<usize>()).unwrap();
            })
        })
        .collect();
    for t in threads {
        t.join().unwrap();
    }
    drop(send);
    println!("{} {}", map.len(), receive.iter().sum::<usize>());
    let caught = std::panic::catch_unwind(|| Vec::<u8>::new()[1]);
    println!("{}", caught.is_err());
}

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Item { Number(i64), Text(String), List(Vec<Item>) }

fn show<T: Debug + Clone + Ord>(v: &[T]) -> String {
    let mut sorted = v.to_vec();
    sorted.sort();
    sorted.iter().map(|x| format!("{:?}", x)).collect::<Vec<_>>().join(",")
}

fn main() {
    let mut m: BTreeMap<Item, usize> = BTreeMap::new();
    let mut h: HashMap<String, Vec<Item>> = HashMap::new();
    for i in 0..100 {
        let item = if i % 3 == 0 { Item::Number(i) } else if i % 3 == 1 { Item::Text(i.to_string()) } else { Item::List(vec![Item::Number(i)]) };
        *m.entry(item.clone()).or_default() += 1;
        h.entry((i % 7).to_string()).or_default().push(item);
    }
    let keys: Vec<_> = m.keys().cloned().collect();
    println!("{} {}", show(&keys).len(), show(&h.keys().cloned().collect::<Vec<_>>()));
    let t: Vec<_> = (0..4u64).map(|k| std::thread::spawn(move || (0..1000u64).map(|i| i * k).sum::<u64>())).collect();
    println!("{:?}", t.into_iter().map(|t| t.join().unwrap()).collect::<Vec<_>>());
}

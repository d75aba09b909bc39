//! What nobody will ask for again goes a little at a time, so that others write in between.

use serde_json::json;
use store::revision;
use store::{Mode, Result, Tx};

use crate::stores::{World, on_every_store};

/// How much goes at once.
const SLICE: i64 = 10;

#[test]
fn old_changes_and_answers_are_forgotten_in_slices_but_for_the_last_change() {
    on_every_store(|world| {
        for number in 0..25 {
            let arguments = json!({ "title": format!("Epic {number}"), "priority": 1 });
            let call =
                world.the_call(ops::find("create_epic").expect("one"), arguments, Some(&number.to_string()));
            world.engine.wait(call).result.expect("an epic");
        }
        world.pass_seconds(3_600);
        world.ok("create_epic", json!({ "title": "New", "priority": 1 }));
        let newest = read(world, revision::newest_place);
        let before = world.now().plus_seconds(-1_800);
        let mut slices = Vec::new();
        loop {
            let forget = move |tx: &mut Tx<'_>| revision::forget(tx, before, SLICE);
            match world.engine.store().wait(Mode::Aside, forget).expect("it forgets") {
                0 => break,
                n_forgotten => slices.push(n_forgotten),
            }
        }
        assert!(slices.len() >= 3 && slices.iter().all(|n| *n <= 2 * SLICE as u64), "{slices:?}");
        let left = read(world, |tx| revision::changes_after(tx, revision::Place::default(), 100));
        assert_eq!(left.iter().map(|change| change.place).collect::<Vec<_>>(), [newest]);
        // Also when everything is old.
        world.pass_seconds(7_200);
        let now = world.now();
        let again = world.engine.store().wait(Mode::Aside, move |tx| revision::forget(tx, now, SLICE));
        assert_eq!(again, Ok(0));
        assert_eq!(read(world, revision::newest_place), newest);
    });
}

fn read<T: Send + 'static>(world: &World, query: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static) -> T {
    world.engine.store().wait(Mode::Snapshot, query).expect("it reads")
}

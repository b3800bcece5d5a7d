use jiff::SignedDuration;

use super::stories;
use super::world::{World, partition_of, regions};
use crate::model::verdict::Verdict;
use crate::store::job::{Decision, Settled, Superseded};
use crate::store::state::Standing;

/// Two districts of Incheon were cut into two others across their border.
const INCHEON: &str = "28110,A,B,,2026-07-01,retired,28125 28155\n28125,A,C,2026-07-01,,leaf,\n\
    28140,A,D,,2026-07-01,retired,28125\n28155,A,E,2026-07-01,,leaf,\n";
const BEFORE_INCHEON: &str = "28110,A,B,,,leaf,\n28140,A,D,,,leaf,\n";
/// A district that is joined to another that goes on.
const JOINED: &str = "1,A,B,,2026-12-10,retired,2\n2,A,C,,,leaf,\n";

const JANUARY: &str = "select region, apt from apt_trade where month = '2024-01' order by apt";
const STANDINGS: &str = "select region, verdict, rows, standing, why from coverage where month = '2024-01' order by region";

stories![
    old_districts_leave_as_the_last_new_one_enters,
    every_month_changes_by_itself,
    what_waits_is_compared_and_replaced_like_what_is_visible,
    a_new_district_that_is_held_is_awaited_until_it_is_accepted,
    without_old_districts_nothing_waits,
    a_district_that_goes_on_is_awaited_until_it_is_read_after_the_day,
    a_reform_that_is_declared_late_changes_what_is_whole_already,
    new_districts_published_before_their_reform_was_known_step_back,
    what_waits_for_a_reform_that_was_taken_back_is_shown,
    progress_names_what_is_awaited,
    the_reform_is_known_after_a_kill,
];

async fn declare(world: &mut World, lines: &str) {
    let now = world.now();
    world.store.declare_regions(&regions(lines), now).await.unwrap();
}

async fn complete(world: &mut World, partition: &str, apartments: &[&str]) -> Settled {
    world.collected(partition, apartments, Verdict::Complete).await.1
}

/// A world in which Incheon was collected before its reform, and the reform is known.
async fn reformed(mut world: World) -> World {
    declare(&mut world, BEFORE_INCHEON).await;
    complete(&mut world, "28110,2024-01", &["a", "b"]).await;
    complete(&mut world, "28140,2024-01", &["c"]).await;
    declare(&mut world, INCHEON).await;
    world
}

async fn old_districts_leave_as_the_last_new_one_enters(world: World) {
    let mut world = reformed(world).await;
    let old = ["28110|a", "28110|b", "28140|c"];
    world.assert_select(JANUARY, &old).await;
    assert_eq!(complete(&mut world, "28125,2024-01", &["b", "c"]).await, Settled::Waiting);
    world.assert_select(JANUARY, &old).await;
    world
        .assert_select(
            STANDINGS,
            &[
                "28110|complete|2|visible|NULL",
                "28125|complete|0|waiting|waits for the other successors of its district reform",
                "28140|complete|1|visible|NULL",
            ],
        )
        .await;
    world.collected("28155,2024-01", &["half"], Verdict::Short).await;
    world.assert_select(JANUARY, &old).await;

    assert_eq!(complete(&mut world, "28155,2024-01", &["a"]).await, Settled::Published { superseded_rows: 0 });
    world.assert_select(JANUARY, &["28155|a", "28125|b", "28125|c"]).await;
    world
        .assert_select(
            STANDINGS,
            &[
                "28110|complete|0|replaced|replaced by the successors of its district",
                "28125|complete|2|visible|NULL",
                "28140|complete|0|replaced|replaced by the successors of its district",
                "28155|complete|1|visible|NULL",
            ],
        )
        .await;
    // Kept, and told apart.
    world.assert_select("select count(*) from apt_trade_rows where region in ('28110', '28140')", &["3"]).await;
    let states = world.store.states(world.declared.id()).await.unwrap();
    let standings: Vec<_> = states.iter().filter_map(|state| state.published.as_ref().map(|it| it.standing)).collect();
    assert_eq!(standings, [Standing::Replaced, Standing::Visible, Standing::Replaced, Standing::Visible]);
}

async fn every_month_changes_by_itself(mut world: World) {
    declare(&mut world, BEFORE_INCHEON).await;
    for month in ["2024-01", "2024-02"] {
        complete(&mut world, &format!("28110,{month}"), &["a"]).await;
    }
    declare(&mut world, INCHEON).await;
    assert_eq!(complete(&mut world, "28125,2024-02", &["b"]).await, Settled::Waiting);
    assert_eq!(complete(&mut world, "28155,2024-01", &["a"]).await, Settled::Waiting);
    // In March there was nothing to take the place of.
    assert!(matches!(complete(&mut world, "28125,2024-03", &["m"]).await, Settled::Published { .. }));
    complete(&mut world, "28155,2024-02", &["a"]).await;
    let visible = "select month, region, apt from apt_trade order by month, region";
    world.assert_select(visible, &["2024-01|28110|a", "2024-02|28125|b", "2024-02|28155|a", "2024-03|28125|m"]).await;
}

async fn what_waits_is_compared_and_replaced_like_what_is_visible(world: World) {
    let mut world = reformed(world).await;
    complete(&mut world, "28125,2024-01", &["b", "c"]).await;
    assert_eq!(complete(&mut world, "28125,2024-01", &["c", "b"]).await, Settled::Unchanged);
    // No row after the two that wait: held.
    assert_eq!(complete(&mut world, "28125,2024-01", &[]).await, Settled::Kept);
    assert_eq!(complete(&mut world, "28125,2024-01", &["b", "c", "d"]).await, Settled::Waiting);
    world.assert_select("select count(*) from apt_trade_rows where region = '28125'", &["3"]).await;
    world.assert_select(JANUARY, &["28110|a", "28110|b", "28140|c"]).await;
    let states = world.store.states(world.declared.id()).await.unwrap();
    let waiting = states[1].published.as_ref().unwrap();
    assert_eq!((waiting.standing, waiting.published_at, waiting.rows), (Standing::Waiting, None, 3));
    complete(&mut world, "28155,2024-01", &["a"]).await;
    world.assert_select(JANUARY, &["28155|a", "28125|b", "28125|c", "28125|d"]).await;
}

async fn a_new_district_that_is_held_is_awaited_until_it_is_accepted(world: World) {
    let mut world = reformed(world).await;
    complete(&mut world, "28155,2024-01", &["a"]).await;
    world.held("28125,2024-01", &["b"], "2026-11-29").await;
    world.assert_select(JANUARY, &["28110|a", "28110|b", "28140|c"]).await;
    let accept = Decision::Accept { who: "kim", why: "c moved", superseded: Superseded::Removed, now: world.now() };
    world.store.decide(&world.declared, &partition_of("28125,2024-01"), accept).await.unwrap();
    world.assert_select(JANUARY, &["28155|a", "28125|b"]).await;
}

async fn without_old_districts_nothing_waits(mut world: World) {
    declare(&mut world, INCHEON).await;
    assert!(matches!(complete(&mut world, "28125,2024-01", &["b"]).await, Settled::Published { .. }));
    world.assert_select(JANUARY, &["28125|b"]).await;
}

async fn a_district_that_goes_on_is_awaited_until_it_is_read_after_the_day(mut world: World) {
    complete(&mut world, "1,2024-01", &["a"]).await;
    complete(&mut world, "2,2024-01", &["b"]).await;
    declare(&mut world, JOINED).await;
    // Its snapshot is from before the day, so that the rows of the other are not in it.
    world.assert_select(JANUARY, &["1|a", "2|b"]).await;
    assert_eq!(complete(&mut world, "2,2024-01", &["b", "c"]).await, Settled::Waiting);
    world.assert_select(JANUARY, &["1|a", "2|b"]).await;
    world.after(SignedDuration::from_hours(24 * 12));
    assert_eq!(complete(&mut world, "2,2024-01", &["a", "b", "c"]).await, Settled::Published { superseded_rows: 0 });
    world.assert_select(JANUARY, &["2|a", "2|b", "2|c"]).await;
    // What it showed before is gone, what the other showed is kept.
    world.assert_select("select region, count(*) from apt_trade_rows group by region", &["1|1", "2|3"]).await;
}

async fn a_reform_that_is_declared_late_changes_what_is_whole_already(mut world: World) {
    for (partition, apartment) in [("28110,2024-01", "a"), ("28125,2024-01", "b"), ("28155,2024-01", "c")] {
        complete(&mut world, partition, &[apartment]).await;
    }
    declare(&mut world, INCHEON).await;
    world.assert_select(JANUARY, &["28125|b", "28155|c"]).await;
}

async fn new_districts_published_before_their_reform_was_known_step_back(mut world: World) {
    complete(&mut world, "28110,2024-01", &["a", "b"]).await;
    complete(&mut world, "28125,2024-01", &["b"]).await;
    declare(&mut world, INCHEON).await;
    world.assert_select(JANUARY, &["28110|a", "28110|b"]).await;
    complete(&mut world, "28155,2024-01", &["a"]).await;
    world.assert_select(JANUARY, &["28155|a", "28125|b"]).await;
}

async fn what_waits_for_a_reform_that_was_taken_back_is_shown(world: World) {
    let mut world = reformed(world).await;
    complete(&mut world, "28125,2024-01", &["new"]).await;
    declare(&mut world, "28110,A,B,,,leaf,\n28125,A,C,,,leaf,\n28140,A,D,,,leaf,\n").await;
    world.assert_select(JANUARY, &["28110|a", "28110|b", "28140|c", "28125|new"]).await;
}

async fn progress_names_what_is_awaited(world: World) {
    let mut world = reformed(world).await;
    complete(&mut world, "28155,2024-01", &["a"]).await;
    let check = async |world: &World, counts: (u64, u64), awaited: &[&str]| {
        let progress = world.store.reform_progress().await.unwrap();
        assert_eq!(progress.len(), 1);
        assert_eq!((progress[0].dataset.as_str(), (progress[0].replaced, progress[0].visible)), ("apt_trade", counts));
        assert_eq!(
            (progress[0].retired.join(" "), progress[0].successors.join(" ")),
            ("28110 28140".into(), "28125 28155".into())
        );
        assert_eq!(progress[0].awaited, awaited);
    };
    check(&world, (0, 2), &["region=28125,month=2024-01"]).await;
    complete(&mut world, "28125,2024-01", &["b", "c"]).await;
    check(&world, (2, 0), &[]).await;
}

async fn the_reform_is_known_after_a_kill(world: World) {
    let mut world = reformed(world).await;
    complete(&mut world, "28125,2024-01", &["b", "c"]).await;
    let mut world = world.killed_and_begun_again().await;
    complete(&mut world, "28155,2024-01", &["a"]).await;
    world.assert_select(JANUARY, &["28155|a", "28125|b", "28125|c"]).await;
}

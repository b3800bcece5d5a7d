use jiff::Timestamp;

use super::stories;
use super::world::{DATASET, MAX_AGE, World, apartments_page, dataset};
use crate::definition::column::ColumnType;
use crate::definition::dataset::Dataset;
use crate::model::name::Name;
use crate::model::verdict::Verdict;
use crate::store::error::{StoreError, StoreErrorKind};
use crate::store::job::{JobStart, Planned};

const SEOUL: &str = "11110,2024-01";
const COLUMNS: &str = "select \"column\", source_field, type, unit, label, label_ko from columns where dataset = 'apt_trade'";

stories![
    a_dataset_has_a_view_of_axes_columns_and_marks,
    a_new_column_is_added_at_the_end,
    a_changed_or_missing_column_changes_nothing,
    names_the_store_uses_are_refused,
    a_dataset_with_one_axis_of_values_has_its_view_too,
];

async fn a_dataset_has_a_view_of_axes_columns_and_marks(mut world: World) {
    world.collected(SEOUL, &["a"], Verdict::Complete).await;
    let names = world.store.select("select * from apt_trade", |_| ()).await.unwrap();
    assert_eq!(names, ["region", "month", "apt", "amount", "area", "dealt_on", "detail", "_row_hash", "_published_at"]);
    let hash: String = apartments_page(&["a"]).row_hashes[0].0.iter().map(|byte| format!("{byte:02x}")).collect();
    let line = format!("11110|2024-01|{hash}|2026-11-29T18:00:03.000Z");
    world.assert_select("select region, month, _row_hash, _published_at from apt_trade", &[&line]).await;
    world
        .assert_select(
            COLUMNS,
            &[
                "apt|aptNm|text|NULL|Apartment complex|NULL",
                "amount|dealAmount|integer|10000 KRW|NULL|NULL",
                "area|excluUseAr|decimal|NULL|NULL|NULL",
                "dealt_on|dealDate|date|NULL|NULL|NULL",
                "detail|detail|json|NULL|NULL|NULL",
            ],
        )
        .await;
}

async fn a_new_column_is_added_at_the_end(mut world: World) {
    world.collected(SEOUL, &["a"], Verdict::Complete).await;
    let mut grown = dataset(DATASET);
    let mut floor = grown.columns[1].clone();
    (floor.id, floor.field, floor.unit, floor.aliases) = (Name::literal("floor"), "floor".to_owned(), None, Vec::new());
    grown.columns.insert(0, floor);
    grown.columns[1].label = Some("Complex".to_owned());
    for _ in 0..2 {
        world.declared = world.store.declare(&grown, Timestamp::UNIX_EPOCH).await.unwrap();
    }
    let names = world.store.select("select * from apt_trade", |_| ()).await.unwrap();
    assert_eq!(names, ["region", "month", "apt", "amount", "area", "dealt_on", "detail", "floor", "_row_hash", "_published_at"]);
    world.assert_select("select apt, floor from apt_trade", &["a|NULL"]).await;
    let columns = world.select(COLUMNS).await;
    assert_eq!(
        (columns[0].as_str(), columns[5].as_str()),
        ("apt|aptNm|text|NULL|Complex|NULL", "floor|floor|integer|NULL|NULL|NULL")
    );
    // A program with the old definition finds a column it does not know, which is as good as gone.
    let error = world.store.declare(&dataset(DATASET), Timestamp::UNIX_EPOCH).await.unwrap_err();
    assert_eq!(error.to_string(), "column `floor` of `apt_trade` was integer and is now gone");
}

async fn a_changed_or_missing_column_changes_nothing(mut world: World) {
    world.collected(SEOUL, &["a"], Verdict::Complete).await;
    let before = (world.schema().await, world.select(COLUMNS).await);
    let check = async |change: fn(&mut Dataset), message: &str| {
        let mut changed = dataset(DATASET);
        changed.columns[0].label = Some("not to be seen".to_owned());
        change(&mut changed);
        let error = world.store.declare(&changed, Timestamp::UNIX_EPOCH).await.unwrap_err();
        assert_eq!((error.to_string().as_str(), error.kind()), (message, StoreErrorKind::NeedsDecision));
        assert_eq!((world.schema().await, world.select(COLUMNS).await), before);
    };
    check(
        |dataset| dataset.columns[1].kind = ColumnType::Decimal,
        "column `amount` of `apt_trade` was integer and is now decimal",
    )
    .await;
    check(|dataset| drop(dataset.columns.remove(2)), "column `area` of `apt_trade` was decimal and is now gone").await;
    check(|dataset| dataset.axes.truncate(1), "column `axes` of `apt_trade` was `region,month` and is now `region`").await;
}

async fn names_the_store_uses_are_refused(world: World) {
    for name in ["coverage", "columns", "regions", "job", "partition", "apt_trade_rows", "sqlite_schema", "pg_class"] {
        let mut dataset = dataset(DATASET);
        dataset.id = Name::literal(name);
        let error = world.store.declare(&dataset, Timestamp::UNIX_EPOCH).await.unwrap_err();
        assert!(matches!(error, StoreError::ReservedName { .. }), "{name}: {error}");
    }
    // Every table and view of the ledger is among the names that are refused.
    for name in world.relations().await {
        let is_a_datasets = name == "apt_trade" || name.starts_with('_');
        assert!(is_a_datasets || crate::definition::reserved::dataset_objection(&name).is_some(), "{name}");
    }
}

async fn a_dataset_with_one_axis_of_values_has_its_view_too(mut world: World) {
    let mut stations = dataset(DATASET);
    stations.id = Name::literal("station");
    stations.axes.truncate(1);
    stations.axes[0].id = Name::literal("kind");
    stations.axes[0].kind = crate::definition::dataset::AxisKind::Values;
    let declared = world.store.declare(&stations, Timestamp::UNIX_EPOCH).await.unwrap();
    let partition = crate::model::partition::Partition::new([(Name::literal("kind"), "air")]);
    let now = world.now();
    let start =
        JobStart { run: world.run, declared: &declared, partition: &partition, planned: Planned::Anyhow, max_age: MAX_AGE, now };
    let job = world.store.start_job(start).await.unwrap().started().unwrap().job;
    world.page(&job, 1, 1, &apartments_page(&["a"])).await;
    world.end(&job, Verdict::Unverified, 1).await;
    world.assert_select("select kind, apt from station", &["air|a"]).await;
    world.assert_select("select partition, region, month, verdict from coverage", &["kind=air|NULL|NULL|unverified"]).await;
}

use super::stories;
use super::world::{MAX_AGE, SentRow, World, dataset, page};
use crate::model::job::PageNumber;
use crate::model::name::Name;
use crate::model::page::Page;
use crate::model::partition::Partition;
use crate::model::tree::NodeKind::{Array, Boolean, Null, Number, Object, Text};
use crate::model::verdict::Verdict;
use crate::store::dataset::Declared;
use crate::store::job::{JobStart, Planned};

const STORED: &str = "select apt, amount, area, dealt_on, detail, _unparsed, _extra from apt_trade_rows";

stories![
    every_value_is_stored_or_kept_verbatim,
    hostile_texts_are_only_texts,
    identical_rows_of_a_page_are_all_kept,
    hostile_values_of_every_type_are_stored_alike,
    values_that_are_not_those_of_their_answer_are_counted,
];

/// A column of every type.
const EVERY_TYPE: &str = r#"
    id = "every_type"
    provider = "practice"
    path = "values"
    paging = { kind = "page", page_param = "pageNo", size_param = "numOfRows", page_size = 1000 }
    axes = [{ id = "kind", kind = "values", values = ["all"] }]
    column = [
        { id = "a_text", field = "a_text", type = "text" },
        { id = "a_code", field = "a_code", type = "code" },
        { id = "an_integer", field = "an_integer", type = "integer" },
        { id = "a_decimal", field = "a_decimal", type = "decimal" },
        { id = "a_date", field = "a_date", type = "date" },
        { id = "a_month", field = "a_month", type = "month" },
        { id = "a_time", field = "a_time", type = "time" },
        { id = "a_boolean", field = "a_boolean", type = "boolean" },
        { id = "a_json", field = "a_json", type = "json" },
    ]
"#;

/// What sources send, and what databases choke on.
const HOSTILE: &[&str] = &[
    "\0",
    "a\0b\0",
    "\u{feff}bom",
    "\u{fffe}\u{ffff}",
    "\u{10ffff}",
    "\u{e000}",
    "\u{202e}rtl",
    "\u{200b}",
    "\u{7f}",
    "\u{1}\u{1f}",
    "\r\n",
    "\t",
    "'",
    "''",
    "\"",
    "\\",
    "\\x00",
    "\\N",
    "\\000",
    "E'\\x41'",
    "$1",
    "?1",
    "$$",
    "{}",
    "{a,b}",
    "{\"a\",NULL}",
    "NULL",
    "null",
    "(1,2)",
    "[1,2)",
    "'; drop table job; --",
    "%s%n",
    "서울특별시",
    "가",
    "가",
    "\u{1100}\u{1161}",
    "İ",
    "ß",
    "e\u{301}",
    "👨‍👩‍👧‍👦",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "-0",
    "0",
    "00",
    "007",
    "+1",
    "1,234",
    "1,23",
    "1e5",
    "1e308",
    "1e309",
    "5e-324",
    "4.9e-324",
    "1e-400",
    "0.1",
    "-0.0",
    "1e23",
    "123456789012345678",
    "0.30000000000000004",
    "9007199254740993",
    "NaN",
    "Infinity",
    "-Infinity",
    "inf",
    "infinity",
    "now",
    "today",
    "epoch",
    "allballs",
    "2024-02-29",
    "2023-02-29",
    "0000-01-01",
    "0000-00-00",
    "0001-01-01",
    "9999-12-31",
    "10000-01-01",
    "-0001-01-01",
    "24:00",
    "23:59:60",
    "23:59",
    "2024-03",
    "0000-01",
    "2024-13",
    "t",
    "TRUE",
    "yes",
    "on",
    "2",
    "{\"a\":\"\\ud800\"}",
    "{\"a\":\"\\u0000\"}",
    "[\"\\udc00\\ud800\"]",
    "{\"a\":1,\"a\":2}",
    "{ \"b\" : 1.50 }",
    "[1e400]",
    "true",
    "\"x\"",
];

async fn every_value_is_stored_or_kept_verbatim(mut world: World) {
    let cases: Vec<(SentRow<'_>, &str)> = vec![
        (
            vec![
                ("aptNm", Text, "래미안"),
                ("dealAmount", Text, "  82,500"),
                ("excluUseAr", Number, "84.9900"),
                ("dealDate", Text, "20240310"),
            ],
            "래미안|82500|84.99|2024-03-10|NULL|NULL|NULL",
        ),
        (
            vec![("aptNm", Text, " "), ("dealAmount", Text, "N/A"), ("excluUseAr", Null, "null")],
            "NULL|NULL|NULL|NULL|NULL|NULL|NULL",
        ),
        (
            vec![("dealAmount", Text, "8,25"), ("excluUseAr", Number, "9007199254740993"), ("dealDate", Text, "20240230")],
            r#"NULL|NULL|NULL|NULL|NULL|{"dealAmount":"8,25","excluUseAr":"9007199254740993","dealDate":"20240230"}|NULL"#,
        ),
        (
            vec![
                ("zz", Number, "1.50"),
                ("aptNm", Text, "a"),
                ("b\"q", Boolean, "true"),
                ("A", Null, "null"),
                ("t", Text, "x\"\\\n"),
            ],
            r#"a|NULL|NULL|NULL|NULL|NULL|{"zz":1.50,"b\"q":true,"A":null,"t":"x\"\\\n"}"#,
        ),
        (vec![("detail", Object, r#"{"b": 1, "a": [2]}"#)], r#"NULL|NULL|NULL|NULL|{"b": 1, "a": [2]}|NULL|NULL"#),
        (
            vec![("aptNm", Array, r#"["a", "b"]"#), ("more", Array, "[1]"), ("none", Object, "")],
            r#"NULL|NULL|NULL|NULL|NULL|{"aptNm":"[\"a\", \"b\"]"}|{"more":[1],"none":{}}"#,
        ),
        // The alias stands in, and what comes second is not lost.
        (vec![("amount", Text, "7")], "NULL|7|NULL|NULL|NULL|NULL|NULL"),
        (vec![("dealAmount", Text, ""), ("amount", Text, "7")], "NULL|7|NULL|NULL|NULL|NULL|NULL"),
        (vec![("dealAmount", Text, "6"), ("amount", Text, "7")], r#"NULL|6|NULL|NULL|NULL|NULL|{"amount":"7"}"#),
        (vec![], "NULL|NULL|NULL|NULL|NULL|NULL|NULL"),
    ];
    let job = world.start("11110,2024-01").await;
    let (rows, expected): (Vec<_>, Vec<_>) = cases.into_iter().unzip();
    world.page(&job, 1, 1, &page(&rows)).await;
    assert_eq!(world.select(STORED).await, expected);
}

async fn hostile_texts_are_only_texts(mut world: World) {
    let long = "가".repeat(100_000);
    let texts = ["'; drop table job; --", "a\0b", "\u{1b}[2J", "=1+1", "\u{202e}evil", "%s$1?", "1e999999999", &long];
    let rows: Vec<SentRow<'_>> = texts.iter().map(|text| vec![("aptNm", Text, *text), (*text, Text, *text)]).collect();
    let job = world.start("11110,2024-01").await;
    world.page(&job, 1, 1, &page(&rows)).await;
    world.end(&job, Verdict::Complete, texts.len() as u64).await;
    let stored = world.select("select apt from apt_trade_rows").await;
    let expected: Vec<String> = texts.iter().map(|text| text.replace('\0', "\u{fffd}")).collect();
    assert_eq!(stored, expected);
    let extras = world.select("select _extra from apt_trade_rows").await;
    for (extra, text) in extras.iter().zip(&expected) {
        let extra: serde_json::Value = serde_json::from_str(extra).unwrap();
        assert_eq!(extra, serde_json::json!({ text: text }));
    }
}

async fn identical_rows_of_a_page_are_all_kept(mut world: World) {
    world.collected("11110,2024-01", &["twin", "twin"], Verdict::Complete).await;
    world.assert_select("select apt, count(*) from apt_trade group by apt", &["twin|2"]).await;
}

/// The rows of a store that was sent each hostile value in a column of each type, and in a field of no column.
async fn dump_of_hostile_values(world: &mut World) -> Vec<String> {
    let columns = ["a_text", "a_code", "an_integer", "a_decimal", "a_date", "a_month", "a_time", "a_boolean", "a_json"];
    let long = "한\0".repeat(50_000);
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    let values = HOSTILE.iter().copied().chain([long.as_str(), deep.as_str()]);
    let row = |value| {
        let fields =
            columns.iter().map(|column| (*column, Text, value)).chain([("no_column", Text, value), (value, Text, "named")]);
        fields.collect::<SentRow<'_>>()
    };
    let rows: Vec<SentRow<'_>> = values.map(row).collect();
    let sent = page(&rows);
    collected(world, &sent).await;
    assert_eq!(world.store.audit().await.unwrap(), []);
    assert_eq!(differing_rows(world, &sent).await, 0);
    let mut dump = world
        .select(
            "select _ordinal, a_text, a_code, an_integer, a_decimal, a_date, a_month, a_time, a_boolean, a_json, \
        _unparsed, _extra, _row_hash from every_type_rows order by _ordinal",
        )
        .await;
    dump.extend(world.select("select a_text from every_type where a_text is not null order by a_text").await);
    dump.extend(
        world
            .select(
                "select a_decimal, sum(an_integer), max(a_date), count(a_boolean) from every_type \
        where an_integer between -100000 and 100000 and a_decimal is not null group by a_decimal order by a_decimal",
            )
            .await,
    );
    dump
}

async fn hostile_values_of_every_type_are_stored_alike(mut world: World) {
    let here = dump_of_hostile_values(&mut World::on_sqlite().await).await;
    assert!(here.len() > 2 * HOSTILE.len());
    for (here, there) in here.iter().zip(dump_of_hostile_values(&mut world).await) {
        assert_eq!(*here, there);
    }
}

/// A job of this one page, of a dataset with a column of each type.
async fn collected(world: &mut World, sent: &Page) {
    let now = world.now();
    let declared = world.store.declare(&dataset(EVERY_TYPE), now).await.unwrap();
    let partition = all_kinds();
    let start =
        JobStart { run: world.run, declared: &declared, partition: &partition, planned: Planned::Anyhow, max_age: MAX_AGE, now };
    let job = world.store.start_job(start).await.unwrap().started().unwrap().job;
    world.page(&job, 1, 1, sent).await;
    world.end(&job, Verdict::Complete, sent.rows()).await;
}

fn all_kinds() -> Partition {
    Partition::new([(Name::literal("kind"), "all")])
}

async fn differing_rows(world: &World, sent: &Page) -> u64 {
    let declared = Declared::new(&dataset(EVERY_TYPE));
    let kept = world.store.kept_pages(&declared, &all_kinds()).await.unwrap().expect("it was collected");
    kept.differing_rows(&declared, PageNumber(1), sent).await.unwrap()
}

async fn values_that_are_not_those_of_their_answer_are_counted(mut world: World) {
    let of_each_type: SentRow<'_> = vec![
        ("a_text", Text, "text"),
        ("a_code", Text, "007"),
        ("an_integer", Text, "7"),
        ("a_decimal", Text, "7.5"),
        ("a_date", Text, "2024-03-09"),
        ("a_month", Text, "2024-03"),
        ("a_time", Text, "23:59"),
        ("a_boolean", Text, "Y"),
        ("a_json", Text, "[1]"),
        ("no_column", Text, "extra"),
    ];
    let without_any: SentRow<'_> = vec![("an_integer", Text, "seven")];
    let sent = page(&[without_any.clone(), of_each_type.clone(), of_each_type, without_any]);
    collected(&mut world, &sent).await;
    assert_eq!(differing_rows(&world, &sent).await, 0);
    let others = [
        ("a_text", "'Text'"),
        ("a_code", "'7'"),
        ("an_integer", "8"),
        ("a_decimal", "7.25"),
        ("a_date", "'2024-03-10'"),
        ("a_month", "'2024-04'"),
        ("a_time", "'23:58'"),
        ("a_boolean", "not a_boolean"),
        ("a_json", "'[2]'"),
        ("_unparsed", "'{}'"),
        ("_extra", "'{}'"),
    ];
    for (column, other) in others {
        for value in [other, "null"].into_iter().filter(|value| (column, *value) != ("_unparsed", "null")) {
            world.tampered(&format!("update every_type_rows set {column} = {value} where _ordinal = 3")).await;
            assert_eq!(differing_rows(&world, &sent).await, 1, "{column} = {value}");
            let twin = format!("(select {column} from every_type_rows where _ordinal = 2)");
            world.tampered(&format!("update every_type_rows set {column} = {twin} where _ordinal = 3")).await;
            assert_eq!(differing_rows(&world, &sent).await, 0, "{column} as it was");
        }
    }
    world.tampered("delete from every_type_rows where _ordinal = 2").await;
    assert_eq!(differing_rows(&world, &sent).await, 0, "a row that is missing is for the audit of the ledger");
    world.tampered("update every_type_rows set _ordinal = 9 where _ordinal = 4").await;
    assert_eq!(differing_rows(&world, &sent).await, 1, "a row at a place the answer has not");
}

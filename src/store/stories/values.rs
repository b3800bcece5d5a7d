use super::stories;
use super::world::{SentRow, World, page};
use crate::model::tree::NodeKind::{Array, Boolean, Null, Number, Object, Text};
use crate::model::verdict::Verdict;

const STORED: &str = "select apt, amount, area, dealt_on, detail, _unparsed, _extra from apt_trade_rows";

stories![every_value_is_stored_or_kept_verbatim, hostile_texts_are_only_texts, identical_rows_of_a_page_are_all_kept];

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

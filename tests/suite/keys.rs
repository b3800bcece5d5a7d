//! The key goes to the provider and nowhere else.

use std::fs;
use std::path::Path;

use gapless::model::job::{JobId, PageNumber, ReadNumber};
use gapless::sandbox::{KeyForm, KeySeen};

use crate::world::{CANARY, Ended, World};

/// Letters of the canary as they are in every form of it: bare, percent-encoded once or twice, in upper or lower case hex,
/// escaped for JSON or XML. Both ends, so that half a key shows too.
const TRACES: [&str; 2] = ["cAnArY", "signs0123"];

const COLLECT: &str = "collect apt_trade --partition 11110,2024-01 --create -vv";

fn encoded() -> String {
    gapless::model::secret::encode_query(CANARY)
}

fn is_leaked(bytes: &[u8]) -> bool {
    TRACES.iter().any(|trace| bytes.windows(trace.len()).any(|window| window == trace.as_bytes()))
}

fn assert_silent(run: &Ended, what: &str) {
    assert!(!is_leaked(run.stdout.as_bytes()), "stdout of {what}: {}", run.stdout);
    assert!(!is_leaked(run.stderr.as_bytes()), "stderr of {what}: {}", run.stderr);
}

/// Every file of the folder, and every body as it was before it was compressed.
fn assert_no_trace_is_stored(world: &World, what: &str) {
    assert_no_file_below(world.folder(), what);
    for page in world.query("select job, read, page from body") {
        let [job, read, page] = page.iter().map(|cell| cell.parse::<i64>().unwrap()).collect::<Vec<_>>()[..] else { panic!() };
        let body = world.with_store(async |store| {
            let (read, page) = (ReadNumber(read as u32), PageNumber(page as u32));
            store.body(JobId(job), read, page).await.unwrap().unwrap()
        });
        assert!(!is_leaked(&body.raw().unwrap()), "a kept body of {what}");
    }
}

fn assert_no_file_below(folder: &Path, what: &str) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_no_file_below(&path, what);
        } else {
            assert!(!is_leaked(&fs::read(&path).unwrap()), "{} of {what}", path.display());
        }
    }
}

/// Runs at the loudest, in text and in JSON, and looks for the key in all that is left behind.
///
/// Where an echo is told or kept, the mark of the key must be there in its place: else nothing was taken out.
fn check(fault: &str, echo: Echo) {
    for format in ["text", "json"] {
        let world = World::playing(fault).variable("GAPLESS_LOG", "trace").set("log.format", format);
        let run = world.run(&format!("{COLLECT} --format {format}"));
        assert!(world.requests().iter().any(|line| line.key == KeySeen::Right(KeyForm::Encoded)), "the key was used: {fault}");
        assert_silent(&run, fault);
        assert_no_trace_is_stored(&world, fault);
        match echo {
            Echo::Told => assert!(run.stderr.contains("[key]"), "{fault}: {}", run.stderr),
            Echo::Kept => assert!(body_text(&world).contains("[key]"), "{fault}"),
            Echo::Unheard => {}
        }
    }
}

/// Where the mark of a key that was taken out must be.
#[derive(Clone, Copy)]
enum Echo {
    Told,
    Kept,
    /// What echoes it is not told or kept at all.
    Unheard,
}

fn body_text(world: &World) -> String {
    let job = world.count("select job from body");
    let body = world.with_store(async |store| store.body(JobId(job as i64), ReadNumber::FIRST, PageNumber::FIRST).await.unwrap());
    String::from_utf8(body.unwrap().raw().unwrap()).unwrap()
}

#[test]
fn a_key_echoed_in_a_page_is_kept_nowhere() {
    check(r#"fault = [{ echo_key = "decoded" }]"#, Echo::Kept);
    check(r#"fault = [{ echo_key = "encoded" }]"#, Echo::Kept);
}

#[test]
fn a_key_echoed_in_an_error_is_told_nowhere() {
    for echo in ["decoded", "encoded"] {
        for answer in [
            r#"{ kind = "gateway1", code = "30" }"#,
            r#"{ kind = "gateway3", code = "30" }"#,
            r#"{ kind = "gateway1", code = "77" }"#,
            r#"{ kind = "agency", code = "99" }"#,
            r#"{ kind = "gateway2", text = "unexpected" }"#,
            r#"{ kind = "html", status = 200 }"#,
            r#"{ kind = "html", status = 403 }"#,
        ] {
            check(&format!(r#"fault = [{{ echo_key = "{echo}", answer = {answer} }}]"#), Echo::Unheard);
        }
    }
    // That the key was there to be told shows where an excerpt of the answer is told.
    check(r#"fault = [{ echo_key = "decoded", answer = { kind = "html", status = 200 } }]"#, Echo::Told);
}

#[test]
fn a_key_is_taken_out_in_every_form_it_may_be_echoed_in() {
    let lower = |text: &str| text.replace("%2B", "%2b").replace("%2F", "%2f").replace("%3D", "%3d");
    let twice = encoded().replace('%', "%25");
    let escaped = CANARY.replace('/', "\\/");
    let partly = encoded().replace("%2F", "/");
    let mixed = encoded().replace("%2B", "%2b");
    for form in [CANARY, &encoded(), &lower(&encoded()), &twice, &lower(&twice), &mixed, &partly, &escaped] {
        // A code is told, kept in the ledger and kept with the body.
        check(&format!("fault = [{{ answer = {{ kind = \"agency\", code = '{form}' }} }}]"), Echo::Told);
    }
}

#[test]
fn a_key_in_a_redirect_is_neither_followed_nor_told() {
    let trap = World::playing("");
    let elsewhere = trap.portal().base_url();
    for key in [CANARY, &encoded(), &encoded().replace("%2B", "%2b")] {
        for status in [301, 302, 307, 308] {
            let to = format!("{elsewhere}/?serviceKey={key}");
            check(&format!(r#"fault = [{{ answer = {{ kind = "redirect", status = {status}, to = "{to}" }} }}]"#), Echo::Unheard);
        }
    }
    assert_eq!(trap.requests().len(), 0, "nobody came along");
}

#[test]
fn a_key_is_silent_when_the_connection_fails() {
    for kind in ["reset_before_answer", "reset_after_head", "cut_body"] {
        check(&format!(r#"fault = [{{ wire = {{ kind = "{kind}" }} }}]"#), Echo::Unheard);
    }
    let world = World::playing("").set("providers.data_go_kr.base_url", "http://127.0.0.1:1").variable("GAPLESS_LOG", "trace");
    let run = world.run(COLLECT).exits(3);
    assert_silent(&run, "nobody listens");
    assert_no_trace_is_stored(&world, "nobody listens");
}

#[test]
fn a_wrong_key_is_refused_without_being_told() {
    let world = World::playing(r#"key = "another+key/than=ours""#).variable("GAPLESS_LOG", "trace");
    let run = world.run(COLLECT).exits(5);
    assert_eq!(world.requests()[0].key, KeySeen::Wrong(KeyForm::Encoded));
    assert_silent(&run, "a wrong key");
    assert_no_trace_is_stored(&world, "a wrong key");
}

#[test]
fn the_settings_shown_hold_the_length_of_a_key_and_no_part_of_it() {
    let world = World::playing("");
    let run = world.run("config show").exits(0);
    assert!(run.stdout.contains(&format!("# key of data_go_kr: {} characters", CANARY.len())), "{}", run.stdout);
    assert_silent(&run, "config show");
}

#[test]
fn either_form_of_a_key_is_the_same_at_the_portal() {
    let check = |pasted: &str| {
        let world = World::playing(&format!("key = \"{CANARY}\"\nrows = 5")).variable("GAPLESS_KEY_DATA_GO_KR", pasted);
        world.run(COLLECT).exits(0);
        assert_eq!(world.requests().iter().map(|line| line.key).collect::<Vec<_>>(), [KeySeen::Right(KeyForm::Encoded)]);
    };
    check(CANARY);
    check(&encoded());
    check(&format!(" {CANARY}\n"));
}

#[test]
fn a_key_file_serves_as_well_as_the_environment() {
    let world = World::playing(&format!("key = \"{CANARY}\"\nrows = 5")).without_variable("GAPLESS_KEY_DATA_GO_KR");
    world.file("gapless.toml", "[providers.data_go_kr]\nkey_file = \"portal.key\"\n");
    fs::create_dir(world.folder().join("away")).unwrap();
    // As editors of any system leave it.
    for (before, after) in [("", ""), ("", "\n"), ("\u{feff}", "\r\n"), (" ", " \n\n")] {
        world.file("portal.key", &format!("{before}{}{after}", encoded()));
        world.run(&format!("{COLLECT} --only all")).exits(0);
        assert_eq!(world.requests().last().unwrap().key, KeySeen::Right(KeyForm::Encoded), "{before:?} {after:?}");
    }
}

#[test]
fn a_key_file_that_cannot_be_a_key_is_refused_without_showing_a_part() {
    let world = World::playing("").without_variable("GAPLESS_KEY_DATA_GO_KR");
    world.file("gapless.toml", "[providers.data_go_kr]\nkey_file = \"portal.key\"\n");
    let check = |bytes: &[u8], why: &str| {
        fs::write(world.file("portal.key", ""), bytes).unwrap();
        let run = world.run(COLLECT).exits(2);
        assert_silent(&run, why);
        assert!(run.stderr.contains("portal.key") && run.stderr.contains(why), "{}", run.stderr);
    };
    check(b"", "is empty");
    check(b"cAnArY\nsigns0123\n", "blanks, quotes or control characters");
    check(b"# the key\ncAnArYsigns0123\n", "blanks, quotes or control characters");
    check(b"a\ncAnArY\xffsigns0123\n", "line 2 is not UTF-8 text");
    fs::remove_file(world.folder().join("portal.key")).unwrap();
    let run = world.run(COLLECT).exits(2);
    assert!(run.stderr.contains("portal.key") && run.stderr.contains("cannot be read"), "{}", run.stderr);
    assert_eq!(world.requests().len(), 0);
}

#[test]
fn a_key_file_that_others_may_read_is_warned_of() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::playing("rows = 5").without_variable("GAPLESS_KEY_DATA_GO_KR");
    world.file("gapless.toml", "[providers.data_go_kr]\nkey_file = \"portal.key\"\n");
    let file = world.file("portal.key", CANARY);
    for (mode, is_told) in [(0o600, false), (0o640, true), (0o604, true)] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let run = world.run(COLLECT).exits(0);
        assert_eq!(run.stderr.contains("chmod 600 portal.key"), is_told, "{mode:o}: {}", run.stderr);
        let run = world.run("doctor apt_trade").exits(0);
        assert_eq!(run.stdout.contains("chmod 600 portal.key"), is_told, "{mode:o}: {}", run.stdout);
    }
    // The environment comes first: the file is not in use.
    let world = world.variable("GAPLESS_KEY_DATA_GO_KR", CANARY);
    assert!(!world.run(COLLECT).exits(0).stderr.contains("chmod"));
}

#[test]
fn a_broken_key_is_refused_before_any_call_without_showing_a_part() {
    let check = |pasted: &str, why: &str| {
        let world = World::playing("").variable("GAPLESS_KEY_DATA_GO_KR", pasted).variable("GAPLESS_LOG", "trace");
        for format in ["text", "json"] {
            let run = world.run(&format!("{COLLECT} --format {format}")).exits(2);
            assert_silent(&run, why);
            let told = format!("{}{}", run.stdout, run.stderr);
            assert!(told.contains("GAPLESS_KEY_DATA_GO_KR") && told.contains(why), "{told}");
        }
        assert_silent(&world.run("config show"), why);
        assert_eq!(world.requests().len(), 0);
        assert!(!world.has_store(), "nothing is made for a run that cannot be");
    };
    check("", "empty");
    check("   ", "empty");
    check("cAnArY%G0signs0123", "not followed by two hexadecimal digits");
    check("cAnArYsigns0123%2", "not followed by two hexadecimal digits");
    check(&encoded().replace('%', "%25"), "percent-encoded twice");
    check("cAnArY signs0123", "blanks, quotes or control characters");
    check("\"cAnArYsigns0123\"", "blanks, quotes or control characters");
    check("cAnArY\nsigns0123", "blanks, quotes or control characters");
    check("YOUR_cAnArY_KEY", "placeholder");
}

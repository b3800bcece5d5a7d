use super::*;

fn load(file: &str, environment: &[(&str, &str)], flags: &[(&str, &str, &str)]) -> Result<Settings, SettingsError> {
    let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let flags = flags.iter().map(|(path, value, flag)| ((*path).to_owned(), (*value).to_owned(), (*flag).to_owned()));
    let own = Some((Path::new("/etc/x/gapless.toml"), file));
    Settings::load(Files { own, saved: None }, environment, flags)
}

fn problems(file: &str, environment: &[(&str, &str)]) -> String {
    load(file, environment, &[]).unwrap_err().to_string()
}

#[test]
fn the_defaults_set_every_setting_of_the_schema_and_no_other() {
    let layer = Layer::from_toml(DEFAULTS, "default").unwrap();
    let values = merge([layer]);
    let unnamed: Vec<&str> = SETTINGS.iter().map(|setting| setting.path).filter(|path| !path.contains('*')).collect();
    assert_eq!(values.len(), unnamed.len());
    for path in unnamed {
        assert!(values.contains_key(path), "config/default.toml does not set {path}");
    }
    for setting in named_settings() {
        let name = setting.path.rsplit('.').next().unwrap();
        let is_shown = DEFAULTS.lines().any(|line| line.trim_start_matches(['#', ' ']).starts_with(&format!("{name} =")));
        let is_rare =
            ["key_param", "documented_rps", "invalid_in_a_row", "probed_at", "probed_url", "probed_evidence"].contains(&name);
        assert!(is_shown || is_rare, "config/default.toml does not show {}", setting.path);
    }
}

#[test]
fn flags_win_over_the_environment_over_the_file_over_the_default() {
    let file = "[retry]\ndelay = \"3s\"\nmax_retries = 7\n[http]\nread_timeout = \"20s\"\n";
    let environment = [("GAPLESS__RETRY__DELAY", "4s"), ("GAPLESS__RETRY__MAX_RETRIES", "8")];
    let settings = load(file, &environment, &[("retry.delay", "5s", "--delay")]).unwrap();
    let check = |path: &str, text: &str, origin: &str| {
        assert_eq!(settings.values()[path], Assigned { text: text.to_owned(), origin: origin.to_owned() });
    };
    check("retry.delay", "5s", "--delay");
    check("retry.max_retries", "8", "environment variable GAPLESS__RETRY__MAX_RETRIES");
    check("http.read_timeout", "20s", "/etc/x/gapless.toml:5");
    assert_eq!(settings.origin("retry.multiplier"), Some("default"));
    assert_eq!((settings.retry.delay, settings.retry.max_retries), (Duration::from_secs(5), 8));
}

#[test]
fn every_wrong_name_and_value_of_a_file_is_named_with_its_line() {
    let file = "[retry]\nmax_retires = 3\ndelay = 2\n\n[htpp]\nread_timeout = \"1s\"\n[collect.apt_trade]\nmonth = \"2024-01\"\n";
    let text = problems(file, &[]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "/etc/x/gapless.toml:2: no setting is called `retry.max_retires`; did you mean `retry.max_retries`?",
            "/etc/x/gapless.toml:3: `retry.delay` must be a text in quotes: give a duration such as `2s`, `500ms` or `10m`",
            "/etc/x/gapless.toml:6: no setting is called `htpp.read_timeout`; did you mean `http.read_timeout`?",
            "/etc/x/gapless.toml:8: no setting is called `collect.apt_trade.month`; did you mean `collect.apt_trade.months`?",
        ]
    );
}

#[test]
fn values_that_other_programs_would_bend_are_refused() {
    let check = |file: &str, part: &str| {
        let text = problems(file, &[]);
        assert!(text.contains(part), "{file}: {text}");
    };
    check("[retry]\nmax_retries = 4.7", "give a whole number from 0 to 20");
    check("[retry]\nmax_retries = true", "give a whole number from 0 to 20");
    check("[retry]\nmax_retries = \"4\"", "written without quotes");
    check("[providers.data_go_kr]\nbase_url = 5", "must be a text in quotes");
    check("[providers.data_go_kr]\nrps = 0", "give calls a second");
    check("[providers.data_go_kr]\nrps = nan", "give calls a second");
    check("[providers.data_go_kr]\nconcurrency = 0", "give a whole number from 1 to 1000");
    check("[store]\nkeep_bodies = \"yes\"", "written without quotes");
    check("[store]\nurl = \"a.db\"", "give a store such as");
    check("retry = 5", "no setting is called `retry`");
    check("[retry\n", "/etc/x/gapless.toml:1: ");
    check("[log]\nformat = \"text\"\nformat = \"json\"", "/etc/x/gapless.toml:3: ");
}

#[test]
fn a_variable_with_our_prefix_that_is_no_setting_is_an_error() {
    let check = |name: &str, part: &str| {
        let text = problems("", &[(name, "1")]);
        assert!(text.contains(part), "{name}: {text}");
    };
    check("GAPLESS_RETRY__DELAY", "did you mean GAPLESS__RETRY__DELAY?");
    check("gapless__retry__delay", "did you mean GAPLESS__RETRY__DELAY?");
    check("GAPLESS__RETRY__DEALY", "did you mean GAPLESS__RETRY__DELAY?");
    check("GAPLESS__PROVIDERS__DATA_GO_KR__RPM", "environment variable GAPLESS__PROVIDERS__DATA_GO_KR__RPM: no such setting");
    check("GAPLESS_KEY_", "no such setting");
    check("GAPLESS__RETRY__MAX_RETRIES__", "no such setting");
    assert!(load("", &[("GAPLESS_KEY_DATA_GO_KR", "x"), ("GAPLESS_CONFIG", "y"), ("GAPLESSLY", "z")], &[]).is_ok());
}

#[test]
fn a_value_in_the_environment_keeps_its_zeros() {
    let settings = load("", &[("GAPLESS__COLLECT__APT_TRADE__REGIONS", "01234567890123456789012")], &[]).unwrap();
    assert_eq!(settings.targets["apt_trade"].regions.as_deref(), Some("01234567890123456789012"));
}

#[test]
fn combinations_that_cannot_work_are_refused_with_the_arithmetic() {
    let check = |file: &str, part: &str| {
        let text = problems(file, &[]);
        assert!(text.contains(part), "{file}: {text}");
    };
    check("[http]\nconnect_timeout = \"15s\"", "`http.connect_timeout` (15s) must be shorter than `http.read_timeout` (15s)");
    check("[http]\nconnect_timeout = \"0s\"", "`http.connect_timeout` must be longer than 0s");
    check("[http]\nread_timeout = \"0s\"", "`http.connect_timeout` (5s) must be shorter than `http.read_timeout` (0");
    check("[http]\nread_timeout = \"60s\"", "`http.read_timeout` (60s) must be shorter than `http.total_timeout` (60s)");
    check("[retry]\ntotal_timeout = \"80s\"", "the waits together (2s + 6s + 18s + 54s = 80s)");
    check("[retry]\ndelay = \"61s\"", "`retry.delay` (61s) is longer than `retry.max_delay` (60s)");
}

#[test]
fn a_relative_path_in_the_file_is_relative_to_the_file() {
    let file = "[store]\nurl = \"sqlite://data/a.db\"\n[providers.data_go_kr]\nkey_file = \"key\"\n";
    let settings = load(file, &[("GAPLESS__PATHS__DEFINITIONS", "mine")], &[]).unwrap();
    assert_eq!(settings.store.url, "sqlite:///etc/x/data/a.db");
    assert_eq!(settings.providers["data_go_kr"].key_file.as_deref(), Some(Path::new("/etc/x/key")));
    assert_eq!(settings.definitions, Path::new("mine"));
    let lists = "[collect.apt_trade]\nregions = \"@mine.txt\"\n[collect.apt_rent]\nregions = \"@/all.txt\"\n";
    let regions = |dataset: &str| load(lists, &[], &[]).unwrap().targets[dataset].regions.clone().unwrap();
    assert_eq!([regions("apt_trade"), regions("apt_rent")], ["@/etc/x/mine.txt", "@/all.txt"]);
    assert_eq!(load("", &[], &[]).unwrap().store.url, "sqlite://gapless.db");
}

#[test]
fn a_list_of_texts_is_joined() {
    let settings = load("[collect.apt_trade]\nregions = [\"11110\", \"sido:26\"]\n", &[], &[]).unwrap();
    assert_eq!(settings.targets["apt_trade"].regions.as_deref(), Some("11110,sido:26"));
    assert!(problems("[collect.apt_trade]\nregions = [11110]\n", &[]).contains("must be a text or a list of texts"));
}

#[test]
fn a_dataset_or_provider_that_is_none_is_an_error() {
    let check = |file: &str, part: &str| {
        let text = load(file, &[], &[]).unwrap().check_names(&Catalog::builtin()).unwrap_err().to_string();
        assert!(text.contains(part), "{file}: {text}");
    };
    check("[collect.apt_trad]\nmonths = \"2024-01\"", "/etc/x/gapless.toml:2: no dataset is called `apt_trad`; did you mean");
    check("[providers.data_go]\nrps = 1", "no provider is called `data_go`; did you mean `data_go_kr`?");
    check("[providers.data_go_kr]\nbase_url = \"ftp://x\"", "/etc/x/gapless.toml:2: base_url `ftp://x` must begin with");
    check("[providers.data_go_kr]\nzone = \"Seoul\"", "`Seoul` is no time zone");
}

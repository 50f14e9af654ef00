use proptest::prelude::*;
use serde_json::{Value, json};

use super::samples::{Sample, escaped};
use super::{Redactor, samples, *};

/// Characters that look drawn by chance, the same in every run. Secrets are put together here, so
/// that no scanner of this repository takes them for real.
fn drawn(alphabet: &str, length: usize) -> String {
    let alphabet: Vec<char> = alphabet.chars().collect();
    let mut state = 12_345u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        alphabet[(state >> 33) as usize % alphabet.len()]
    };
    (0..length).map(|_| next()).collect()
}

fn hex(length: usize) -> String {
    drawn("0123456789abcdef", length)
}

fn upper(length: usize) -> String {
    drawn("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", length)
}

fn word(length: usize) -> String {
    drawn("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", length)
}

fn base64(length: usize) -> String {
    drawn("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", length)
}

fn key_block(kind: &str, line_end: &str, end: bool) -> String {
    let lines: String = (0..12).map(|_| base64(64) + line_end).collect();
    let end = if end { format!("-----{} {kind}PRIVATE KEY-----", "END") } else { String::new() };
    let block = format!("-----{} {kind}PRIVATE KEY-----{line_end}{lines}{end}", "BEGIN");
    block.trim_end().to_owned()
}

/// A secret of each rule, with the text around it that the rule needs: `prefix`, secret, `suffix`.
fn secrets() -> Vec<(&'static str, &'static str, String, &'static str)> {
    vec![
        ("private-key", "", key_block("RSA ", "\n", true), ""),
        ("private-key", "{\"key\": \"", key_block("", "\\n", true), "\"}"),
        ("private-key", "", key_block("OPENSSH ", "\n", false), ""),
        ("aws-access-key", "id ", format!("AKIA{}", upper(16)), ""),
        ("aws-access-key", "\"A=1\\n", format!("ASIA{}", upper(16)), "\\nB=2\""),
        ("aws-secret-key", "aws_secret_access_key = ", base64(40), ""),
        ("aws-session-token", "AWS_SESSION_TOKEN=", base64(356), ""),
        ("google-api-key", "key=", format!("AIza{}", word(35)), "&q=1"),
        ("google-oauth", "", format!("ya29.{}", word(60)), ""),
        ("google-oauth", "", format!("GOCSPX-{}", word(28)), ""),
        ("azure-storage-key", "AccountName=a;AccountKey=", base64(86) + "==", ";Endpoint"),
        ("azure-signature", "https://a.net/c?sv=1&sig=", format!("{}%3D", word(43)), "&se=2"),
        ("azure-client-secret", "", format!("{}8Q~{}", word(3), word(34)), ""),
        ("digitalocean-token", "", format!("dop_v1_{}", hex(64)), ""),
        ("cloudflare-key", "", format!("v1.0-{}-{}", hex(24), hex(146)), ""),
        ("fly-token", "", format!("fm2_{}", base64(200)), ""),
        ("heroku-key", "", format!("HRKU-{}", word(60)), ""),
        ("netlify-token", "", format!("nfp_{}", word(36)), ""),
        ("supabase-key", "", format!("sbp_{}", hex(40)), ""),
        ("planetscale-token", "", format!("pscale_tkn_{}", word(43)), ""),
        ("databricks-token", "", format!("dapi{}", hex(32)), ""),
        ("pulumi-token", "", format!("pul-{}", hex(40)), ""),
        ("terraform-token", "", format!("{}.atlasv1.{}", word(14), word(67)), ""),
        ("vault-token", "", format!("hvs.{}", word(90)), ""),
        ("doppler-token", "", format!("dp.st.dev.{}", word(43)), ""),
        ("age-key", "", format!("AGE-SECRET-KEY-1{}", upper(58)), ""),
        ("github-token", "", format!("ghp_{}", word(36)), ""),
        ("github-token", "", format!("github_pat_{}_{}", word(22), word(59)), ""),
        ("gitlab-token", "", format!("glpat-{}", word(20)), ""),
        ("npm-token", "//registry.npmjs.org/:_authToken=", format!("npm_{}", word(36)), ""),
        ("pypi-token", "", format!("pypi-AgEIcHlwaS5vcmc{}", word(130)), ""),
        ("rubygems-key", "", format!("rubygems_{}", hex(48)), ""),
        ("crates-io-token", "", format!("cio{}", word(32)), ""),
        ("nuget-key", "", format!("oy2{}", hex(43)), ""),
        ("docker-token", "", format!("dckr_pat_{}", word(27)), ""),
        ("atlassian-token", "", format!("ATATT3{}", word(186)), ""),
        ("postman-key", "", format!("PMAK-{}-{}", hex(24), hex(34)), ""),
        ("sentry-token", "", format!("sntrys_{}", base64(140)), ""),
        ("grafana-token", "", format!("glsa_{}_{}", word(32), hex(8)), ""),
        ("newrelic-key", "", format!("NRAK-{}", upper(27)), ""),
        ("linear-key", "", format!("lin_api_{}", word(40)), ""),
        ("notion-token", "", format!("ntn_{}", word(46)), ""),
        ("shopify-token", "", format!("shpat_{}", hex(32)), ""),
        ("anthropic-key", "ANTHROPIC_API_KEY=", format!("sk-ant-api03-{}-{}AA", word(60), word(32)), ""),
        ("openrouter-key", "", format!("sk-or-v1-{}", hex(64)), ""),
        ("openai-key", "Bearer ", format!("sk-proj-{}_{}", word(70), word(50)), ""),
        ("openai-key", "", format!("sk-{}", word(48)), ""),
        ("groq-key", "", format!("gsk_{}", word(52)), ""),
        ("xai-key", "", format!("xai-{}", word(80)), ""),
        ("huggingface-token", "", format!("hf_{}", word(34)), ""),
        ("replicate-token", "", format!("r8_{}", word(37)), ""),
        ("perplexity-key", "", format!("pplx-{}", word(48)), ""),
        ("slack-token", "", format!("xoxb-1234-5678-{}", word(24)), ""),
        (
            "slack-webhook",
            "https://hooks.slack.com/services/",
            format!("T0{}/B0{}/{}", upper(8), upper(8), word(24)),
            "",
        ),
        ("discord-webhook", "https://discord.com/api/webhooks/123/", word(68), ""),
        ("telegram-token", "bot ", format!("123456789:AA{}", word(33)), "/getMe"),
        ("stripe-key", "", format!("sk_live_{}", word(24)), ""),
        ("twilio-key", "", format!("SK{}", hex(32)), ""),
        ("sendgrid-key", "", format!("SG.{}.{}", word(22), word(43)), ""),
        ("mailgun-key", "", format!("key-{}", hex(32)), ""),
        ("mailchimp-key", "", format!("{}-us21", hex(32)), ""),
        ("jwt", "token ", format!("eyJ{}.eyJ{}.{}", word(30), word(60), word(43)), ""),
        ("authorization", "Authorization: Basic ", word(24), ""),
        ("bearer-token", "curl -H 'X: Bearer ", word(40), "'"),
        ("url-password", "postgres://app:", "hunter2!x".to_owned(), "@db:5432/app"),
        ("password", "DB_PASSWORD=", "tr0ub4dor&3".replace('&', "+"), ""),
        ("password", "{\\\"password\\\": \\\"", "s3cretpw".to_owned(), "\\\"}"),
        ("secret", "client_secret: \"", word(32), "\""),
        ("secret", "MY_API_KEY=", hex(32), ""),
    ]
}

fn counts(rule: &str) -> BTreeMap<String, u32> {
    BTreeMap::from([(rule.to_owned(), 1)])
}

/// Tables are read only where one of these was found.
#[test]
fn every_name_of_a_column_of_passwords_has_a_keyword() {
    let may_have_passwords =
        |redactor: &Redactor, text: &str| redactor.forms.find_at_keywords(text, 0..text.len(), None).1;
    let redactor = Redactor::shared();
    let names = "password passwd pwd passwort mot_de_passe senha contrase\u{f1}a contra\u{17f}e\u{f1}a \u{43f}\u{430}\u{440}\u{43e}\u{43b}\u{44c} \u{5bc6}\u{7801}";
    for name in names.split(' ').map(|name| name.replace('_', " ")) {
        for name in [name.to_uppercase(), format!("db{name}2"), name] {
            assert_eq!(columns::passwords(&format!("user;{name}\nann;tr0ub4dor+3\n")).len(), 1, "{name}");
            assert!(may_have_passwords(&redactor, &name), "{name}");
        }
    }
    assert!(!may_have_passwords(&redactor, "user;word \u{2014} done"));
    let own = ExtraRule { name: "password".to_owned(), pattern: "hunter[0-9]".to_owned() };
    assert!(may_have_passwords(&Redactor::new(&["password".to_owned()], &[own]), "user;password"));
}

#[test]
fn every_form_is_redacted() {
    for (rule, prefix, secret, suffix) in secrets() {
        let text = format!("before {prefix}{secret}{suffix} after");
        let redacted = Redactor::shared().redact(&text);
        assert_eq!(redacted.text, format!("before {prefix}[redacted:{rule}]{suffix} after"));
        assert_eq!(redacted.counts, counts(rule));
    }
    for rule in rules() {
        assert!(Regex::new(&format!("^(?:{})", rule.pattern)).is_ok(), "{}", rule.name);
    }
}

#[test]
fn what_is_no_secret_stays() {
    let image = format!("data:image/png;base64,iVBORw0KGgo{}", base64(200_000));
    let integrity = format!("\"integrity\": \"sha512-{}==\"", base64(86));
    for text in [
        "",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "id 550e8400-e29b-41d4-a716-446655440000, md5 d41d8cd98f00b204e9800998ecf8427e",
        "/home/user1/project-2/src/key-value-store/0a1b2c3d4e5f/main.rs:12:34",
        "PWD=/home/user1/work2 OLDPWD=/tmp/a1b2c3",
        "https://example.com:8080/a@b?q=1 ssh://git@github.com:22/x/y.git mailto:a@b.c",
        "postgres://user:password@localhost/db redis://:${REDIS_PASSWORD}@cache:6379",
        "const apiKey = process.env.OPENAI_API_KEY_2024;",
        "let token = self.parser.next_token2(input22);",
        "let secret = SecretKeyFactory2025Builder();",
        "export GITHUB_TOKEN=$GITHUB_TOKEN_12345678 API_KEY=${{ secrets.API_KEY_20 }}",
        "password: String, password: Option<String>, password = hash_password2(input)",
        "max_tokens: 13107, token: 1234567890123456789, keepRecentTokens: 20000",
        "API_KEY=your-api-key-here-12345678 SECRET_KEY=xxxxxxxxxxxxxxxx99 password=changeme1",
        "fn passwords_match(password: &str, other: &str)",
        "task-0123456789abcdefghijklmnopqrstuvwxyz risk-management-2024-plan sk-fading-circle",
        "the keyword AKIA stands before sixteen capitals; ghp_ before 36",
        "Authorization: Bearer <token>, Authorization: Bearer $TOKEN",
        "-----BEGIN PUBLIC KEY-----\nMFwwDQYJKoZIhvcNAQEBBQADSwAwSAJB\n-----END PUBLIC KEY-----",
        "looks for `-----BEGIN PRIVATE KEY-----` and then for `-----END PRIVATE KEY-----` in a file",
        "token_path = certs/server2/v2/key-01.pem",
        "[redacted:jwt] and [redacted:aws-access-key]",
        "xAKIAABCDEFGHIJKLMNOP AKIAABCDEFGHIJKLMNOPQ",
        image.as_str(),
        integrity.as_str(),
    ] {
        let redacted = Redactor::shared().redact(text);
        assert_eq!(redacted.text, text);
        assert_eq!(redacted.counts, BTreeMap::new());
        assert!(matches!(redacted.text, Cow::Borrowed(_)));
    }
}

#[test]
fn overlapping_finds_are_one() {
    let secret = format!("API_TOKEN=ghp_{}", word(36));
    let text = format!("{secret} {secret} password=\"{}\"", "abc123xyz");
    let redacted = Redactor::shared().redact(&text);
    let token = "API_TOKEN=[redacted:github-token]";
    assert_eq!(redacted.text, format!("{token} {token} password=\"[redacted:password]\""));
    let counts = BTreeMap::from([("github-token".to_owned(), 2), ("password".to_owned(), 1)]);
    assert_eq!(redacted.counts, counts);
}

#[test]
fn rules_can_be_left_out_and_added() {
    let settings =
        json!({ "rules": { "disable": ["jwt"], "extra": [{ "name": "ticket", "pattern": "TICKET-(\\d+)|" }] } });
    let settings = RedactionSettings::read(&settings).unwrap();
    let redactor = settings.redactor().unwrap();
    let jwt = format!("eyJ{}.eyJ{}.{}", word(30), word(60), word(43));
    let text = format!("{jwt} TICKET-77");
    assert_eq!(redactor.redact(&text).text, format!("{jwt} TICKET-[redacted:ticket]"));
    let earlier = json!({ "rules": { "disable": ["elevenlabs-key"] } });
    assert_eq!(RedactionSettings::read(&earlier).unwrap().disabled, ["secret-key"]);
    assert_eq!(RedactionSettings::read(&json!({ "enabled": false })).unwrap().redactor().map(|_| ()), None);
    assert_eq!(RedactionSettings::read(&json!(null)).unwrap(), RedactionSettings::default());
}

#[test]
fn wrong_settings_are_named_by_their_path() {
    let check = |settings: Value, path: &str| {
        let error = RedactionSettings::read(&settings).unwrap_err();
        let expected = format!("setting compactd.redaction{path}: expected ");
        assert!(error.to_string().starts_with(&expected), "{settings}: {error}");
    };
    check(json!([]), "");
    check(json!({ "enabled": 1 }), ".enabled");
    check(json!({ "rules": 1 }), ".rules");
    check(json!({ "rules": { "disable": "jwt" } }), ".rules.disable");
    check(json!({ "rules": { "disable": ["jwt", "nobody"] } }), ".rules.disable.1");
    check(json!({ "rules": { "extra": {} } }), ".rules.extra");
    check(json!({ "rules": { "extra": [1] } }), ".rules.extra.0.name");
    check(json!({ "rules": { "extra": [{ "name": "A b", "pattern": "x" }] } }), ".rules.extra.0.name");
    check(json!({ "rules": { "extra": [{ "name": "a" }] } }), ".rules.extra.0.pattern");
    check(json!({ "rules": { "extra": [{ "name": "a", "pattern": "(" }] } }), ".rules.extra.0.pattern");
    check(json!({ "rules": { "extra": [{ "name": "a", "pattern": "(\\w{1000}){1000}" }] } }), ".rules.extra.0.pattern");
}

proptest! {
    #[test]
    fn redacting_twice_changes_nothing_more(
        pieces in proptest::collection::vec((0usize..80, "( |\n|\\\\n|\"|=|[a-z0-9]{0,3}|@|://|password=|-){0,3}", any::<bool>()), 0..12)
    ) {
        let secrets = secrets();
        let piece = |(index, between, cut): (usize, String, bool)| {
            let (_, prefix, secret, suffix) = &secrets[index % secrets.len()];
            let end = if cut { secret.len() / 2 } else { secret.len() };
            format!("{prefix}{}{suffix}{between}", &secret[..end])
        };
        let text: String = pieces.into_iter().map(piece).collect();
        let once = Redactor::shared().redact(&text);
        let twice = Redactor::shared().redact(&once.text);
        prop_assert_eq!(&twice.text, &once.text);
        prop_assert!(twice.counts.is_empty());
    }
}

/// Texts are looked at as they are, and as JSON that was escaped up to so often.
const MOST_ESCAPES: usize = 3;

/// Samples that still contain a part of a secret after redaction, with that part.
fn missed(samples: &[Sample], escapes: usize) -> Vec<String> {
    let look = |sample: &Sample| {
        let text = format!("before\n{}\nafter", sample.text);
        let redacted = Redactor::shared().redact(&escaped(&text, escapes)).text.into_owned();
        let left = sample.left_in(&redacted, escapes);
        left.first().map(|part| format!("{}: {part:?} is left of {:?}: {redacted:?}", sample.form, sample.text))
    };
    samples.iter().filter_map(look).collect()
}

/// At least 95 of 100 have to be found, however often they were escaped.
fn check_found(samples: &[Sample]) {
    for escapes in 0..=MOST_ESCAPES {
        let missed = missed(samples, escapes);
        let summary = format!("{} of {} are missed, escaped {escapes} times", missed.len(), samples.len());
        assert!(missed.len() * 20 <= samples.len(), "{summary}:\n{}", missed.join("\n"));
    }
}

#[test]
fn secrets_are_found_however_often_they_are_escaped() {
    let samples = samples::secrets();
    assert!(samples.len() >= 200);
    check_found(&samples);
}

/// Each spelling of a PIN is a rule of its own, so a share of them says little.
#[test]
fn every_spelling_of_a_pin_is_found() {
    let mut pins = samples::secrets();
    pins.retain(|sample| sample.form == "pin");
    assert!(pins.len() > 40);
    let missed = missed(&pins, 0);
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// The line before each match is looked at. It must not be searched for from its start each time.
#[test]
fn many_pins_on_one_line_take_linear_time() {
    let text = "{\"pin\":\"48210\"},".repeat(100_000);
    assert!(!Redactor::shared().redact(&text).text.contains("48210"));
}

#[test]
fn secrets_that_were_written_later_are_found() {
    check_found(&samples::later_secrets());
}

#[test]
fn secrets_of_public_sources_are_found() {
    check_found(&samples::public_secrets());
}

#[test]
fn secrets_of_other_services_are_found_in_all_places() {
    let samples = samples::unseen_secrets();
    for place in ["shell", "config", "json", "net", "code", "prose", "output"] {
        let samples: Vec<Sample> = samples.iter().filter(|sample| sample.form == place).cloned().collect();
        assert!(samples.len() >= 100, "{place}");
        check_found(&samples);
    }
}

#[test]
fn passwords_below_the_name_of_their_column_are_found() {
    for (text, expected) in [
        (
            "name,password\nbob,Zephyr_4k1\namy,Falcon-88x\n",
            "name,password\nbob,[redacted:password]\namy,[redacted:password]\n",
        ),
        ("| password | id |\n|---|---|\n| Mole!Tin7 | 1 |\n", "| [redacted:password] | 1 |\n"),
        (" id | password\n----+----------\n  1 | Heron#42a\n(1 row)\n", "1 | [redacted:password]\n(1 row)\n"),
        ("id;Passwort;Ort\n1;Falcon-88x;Ulm\n", "1;[redacted:password];Ulm\n"),
        ("id,mot de passe\n1,Falcon-88x\n", "1,[redacted:password]\n"),
        ("| id | CONTRASEÑA |\n|---|---|\n| 1 | Mole!Tin7 |\n", "| 1 | [redacted:password] |\n"),
        ("Имя\tПароль\nbob\tMole!Tin7\n", "bob\t[redacted:password]\n"),
        ("用户,密码\nbob,Zephyr_4k1\n", "bob,[redacted:password]\n"),
        // A message that is a table alone, as JSON.
        (
            r#"{"role":"user","content":[{"type":"text","text":"name,Pwd\nbob,Zephyr_4k1\namy,Falcon-88x"}],"timestamp":1}"#,
            r#"name,Pwd\nbob,[redacted:password]\namy,[redacted:password]"}],"timestamp":1}"#,
        ),
        (
            r#"{"text": "\"id\",\"password\"\n\"1\",\"Falcon-88x\"", "b": 1}"#,
            r#"\"1\",\"[redacted:password]\"", "b": 1}"#,
        ),
        (r#"{"text":" id | passwd\n 1 | Heron#42a"}"#, r#" 1 | [redacted:password]"}"#),
    ] {
        let redacted = Redactor::shared().redact(text).text.into_owned();
        assert!(redacted.ends_with(expected), "{redacted}");
    }
    for text in [
        "field,type,password\nname,text,no\nid,uuid,optional\n",
        "user, email, password\nare, all, required2\n",
        "| password | string |\n| token | string |\n",
        "id,password\n\nIndeed,that2Works\n",
        "user,\npassword,\nthat2Works,\n",
    ] {
        assert_eq!(Redactor::shared().redact(text).text, text);
    }
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    let samples: Vec<Sample> = samples::harmless().into_iter().chain(samples::later_harmless()).collect();
    assert!(samples.len() >= 240);
    let mut wrong = Vec::new();
    for escapes in 0..=MOST_ESCAPES {
        for sample in &samples {
            let text = escaped(&format!("before\n{}\nafter", sample.text), escapes);
            let redacted = Redactor::shared().redact(&text);
            if redacted.text != text {
                wrong.push(format!(
                    "{}, escaped {escapes} times: {:?}: {}",
                    sample.form, redacted.counts, redacted.text
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn check(text: &str, plain: &str, part: &str, escaped: &str) {
    let found = Plain::of(text);
    assert_eq!(found.text, plain);
    let start = plain.find(part).unwrap();
    assert_eq!(&text[found.to_escaped(&(start..start + part.len()))], escaped);
}

#[test]
fn escapes_are_read_and_found_again() {
    check("a b", "a b", "b", "b");
    check(r"a\nb", "a\nb", "b", "b");
    check(r#"{\"k\":\"v\\\"w\"}"#, r#"{"k":"v"w"}"#, "v\"w", r#"v\\\"w"#);
    check(r"a\\\\nb\u0026c", "a\nb&c", "b&c", r"b\u0026c");
    check(r"C:\dir\x \ud83d\ude00 \u00zz end\", r"C:\dir\x \ud83d\ude00 \u00zz end\", "end\\", "end\\");
    check("ü\\tß", "ü\tß", "ß", "ß");
}

#[test]
fn values_on_the_next_line_of_a_diff_are_redacted() {
    for text in [
        "+  password: |\n+    Sommer-24wJXT6!\n",
        "-secret_key: >-\n-  9Ha04v6xQw83LmZt27Rb\n",
        "    psk=\"kX93hhQw2vTz\"\n",
    ] {
        let redacted = Redactor::shared().redact(text).text.into_owned();
        assert!(redacted.contains(MARK), "{text}: {redacted}");
    }
    for text in ["tokens:\n- one-name-of-many-things\n- another-name-of-things\n", "key:\n- the-first-of-all-keys\n"] {
        assert_eq!(Redactor::shared().redact(text).text, text);
    }
}

#[test]
fn clients_may_escape_all_but_ascii() {
    let escaped = |text: &str| {
        text.chars().fold(String::new(), |mut all, one| {
            match one {
                '\n' => all.push_str("\\n"),
                '"' => all.push_str("\\\""),
                one if one.is_ascii() => all.push(one),
                one => one.encode_utf16(&mut [0; 2]).iter().for_each(|unit| all.push_str(&format!("\\u{unit:04x}"))),
            }
            all
        })
    };
    let line = base64(64);
    let key =
        |line: &str| format!("     1\u{2192}-----BEGIN PRIVATE KEY-----\n     2\u{2192}{line}\n     3\u{2192}{line}\n");
    for (text, secret) in [
        ("\u{43f}\u{430}\u{440}\u{43e}\u{43b}\u{44c}: \"kX93hhQw2vTz\"".to_owned(), "kX93hhQw2vTz"),
        ("\u{5bc6}\u{7801}: \"kX93hhQw2vTz\"".to_owned(), "kX93hhQw2vTz"),
        ("contrase\u{f1}a: \"kX93hhQw2vTz\"".to_owned(), "kX93hhQw2vTz"),
        ("\u{1f511} password:\u{a0}kX93hhQw2vTz".to_owned(), "kX93hhQw2vTz"),
        (key(&line), line.as_str()),
    ] {
        for form in [text.clone(), escaped(&text)] {
            let redacted = Redactor::shared().redact(&form).text.into_owned();
            assert!(!redacted.contains(secret), "{form}: {redacted}");
        }
    }
}

#[test]
fn unusual_blocks_of_keys_are_redacted() {
    let data = base64(8192);
    for (text, expected) in [
        // Lines that are longer than the part that is read at once, after a character of two bytes.
        (format!("\u{e9}{data}\n-----END PRIVATE KEY-----"), "\u{e9}[redacted:private-key]"),
        (format!("\u{e9}{data}{data}{data}\n-----END PRIVATE KEY-----"), "\u{e9}[redacted:private-key]"),
        // A space where that part begins.
        (format!("{} {}\n-----END PRIVATE KEY-----", &data[..64], &base64(8191)), "[redacted:private-key]"),
        (
            format!("-----BEGIN PRIVATE KEY-----\n{data}\n{}END PRIVATE KEY-----", "-".repeat(200)),
            "[redacted:private-key]",
        ),
        (
            format!("-----BEGIN PRIVATE KEY-----\n{data}\n-----{}END PRIVATE KEY-----", " ".repeat(200)),
            "[redacted:private-key]",
        ),
    ] {
        let redacted = Redactor::shared().redact(&text).text.into_owned();
        assert!(redacted.starts_with(expected) && !redacted.contains(&data[..64]), "{redacted:.200}");
    }
}

/// The time grows with the text: one long text takes about as long as sixteen short ones, and not sixteen times as long.
#[test]
fn beginnings_of_keys_without_keys_are_read_once() {
    let time = |line: &str, bytes: usize, times: usize| {
        let text = line.repeat(bytes / line.len());
        let start = std::time::Instant::now();
        (0..times).for_each(|_| assert_eq!(Redactor::shared().redact(&text).text, text));
        start.elapsed()
    };
    for line in ["private-lines: 4\n", "BEGIN: private key--\n", "-----BEGIN PRIVATE KEY-----\nVersion: 1\n"] {
        // Another program may have the processor for a while.
        let is_linear = |_| time(line, 1 << 17, 1) < 5 * time(line, 1 << 13, 16);
        assert!((0..5).any(is_linear), "{line:?}");
    }
    let headers = |count: usize| {
        let text = format!("-----{} PRIVATE KEY-----\n{}\n{}\n", "BEGIN", "Comment: none\n".repeat(count), base64(64));
        Redactor::shared().redact(&text).counts
    };
    assert_eq!(headers(16), counts("private-key"));
}

/// A key as decorated lines; `{n}` in the decoration is the number of the line.
fn decorated(lines: &[String], first: usize, before: &str, after: &str) -> String {
    let line =
        |(at, line): (usize, &String)| format!("{}{line}{after}\n", before.replace("{n}", &(first + at).to_string()));
    lines.iter().enumerate().map(line).collect()
}

/// What listings, diffs, comments, quotations and programs put around the lines of a text.
const DECORATIONS: [(&str, &str); 25] = [
    ("", ""),
    ("-", ""),
    ("+", ""),
    (" ", ""),
    ("// ", ""),
    ("//", ""),
    ("# ", ""),
    ("-- ", ""),
    ("> ", ""),
    ("> > ", ""),
    (" * ", ""),
    ("k.pem:", ""),
    ("certs/my-key2.pem:", ""),
    ("k.pem:{n}:", ""),
    ("k.pem-{n}-", ""),
    ("{n}: ", ""),
    ("{n}:", ""),
    ("     {n}\t", ""),
    ("  {n} | ", ""),
    ("abc1234f (Jo Do 2024-01-01 10:00:00 +0000  {n}) ", ""),
    ("^bc1234f k.pem (Jo 2024-01-01 10:00:00 +0000 {n}) ", ""),
    ("abc1234f (Jo (x2) Do 2024-01-01 {n}) ", ""),
    ("#", ""),
    ("FILE: ", ""),
    ("    \"", "\\n\" +"),
];

#[test]
fn keys_are_redacted_whatever_stands_before_each_line() {
    let rows = |count: usize, width: usize| -> Vec<String> {
        (0..count).map(|row| drawn(BASE64, width * (row + 2))[width * (row + 1)..].to_owned()).collect()
    };
    let pem = |kind: &str, width: usize, headers: &[&str]| {
        let begin = [format!("-----{} {kind}-----", "BEGIN")];
        let data = rows(5, width);
        let end = [base64(20) + "AAbb", format!("-----{} {kind}-----", "END")];
        let headers = headers.iter().map(|header| (*header).to_owned());
        begin.into_iter().chain(headers).chain(data).chain(end).collect::<Vec<String>>()
    };
    let mut putty = vec!["Public-Lines: 1".to_owned(), "AAAAB3NzaC1".to_owned(), "Private-Lines: 6".to_owned()];
    putty.extend(rows(5, 64));
    putty.push(base64(24));
    putty.push(format!("Private-MAC: {}", hex(40)));
    let keys = [
        pem("RSA PRIVATE KEY", 64, &["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,1234", ""]),
        pem("OPENSSH PRIVATE KEY", 70, &[]),
        pem("PGP PRIVATE KEY BLOCK", 64, &["Version: GnuPG v2", ""]),
        putty,
    ];
    let mut missed = Vec::new();
    for key in &keys {
        for (before, after) in DECORATIONS {
            let text = format!("first\n{}last\n", decorated(key, 7, before, after));
            let last = key.len() - 2;
            let secrets = &key[last - 5..last];
            // The whole, without its first lines, and without its last ones.
            let lines: Vec<&str> = text.lines().collect();
            for (part, cut) in [(0, 0), (8, 0), (0, 5)] {
                let text = lines[part..lines.len() - cut].join("\n");
                for escapes in [0, 2] {
                    let redacted = Redactor::shared().redact(&escaped(&text, escapes)).text.into_owned();
                    if let Some(left) = secrets.iter().find(|secret| redacted.contains(&secret[8..40])) {
                        missed.push(format!("{} {before:?} {part} {cut} {escapes}: {left}", key[0]));
                    }
                }
            }
        }
    }
    assert!(missed.is_empty(), "{}:\n{}", missed.len(), missed.join("\n"));
}

const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#[test]
fn data_of_a_key_without_its_first_and_last_line_is_redacted() {
    for width in [64, 70, 76] {
        for (before, after) in DECORATIONS {
            let data = base64(3 * width);
            let mut lines: Vec<String> = (0..3).map(|row| data[row * width..(row + 1) * width].to_owned()).collect();
            lines.push(base64(8 + 3 * width % 4));
            let text = format!("some words\n{}some more\n", decorated(&lines, 98, before, after));
            let redacted = Redactor::shared().redact(&text).text.into_owned();
            assert!(lines[..3].iter().all(|line| !redacted.contains(&line[8..40])), "{before:?} {width}: {redacted}");
            assert!(redacted.contains("some words") && redacted.contains("some more"), "{redacted}");
        }
    }
}

#[test]
fn a_line_of_a_key_may_end_in_a_sum_sign() {
    let (data, end) = (base64(3 * 64), base64(32));
    for first in ["+", "x"] {
        let text = format!("some words\n{}{first}\n{}\n{}\n{end}\n", &data[..63], &data[64..128], &data[128..]);
        let redacted = Redactor::shared().redact(&text).text.into_owned();
        assert!(!redacted.contains(&data[8..40]) && !redacted.contains(&data[72..104]), "{redacted}");
    }
}

#[test]
fn other_encoded_lines_stay() {
    let data = base64(64 * 200);
    let lines =
        |count: usize| -> String { (0..count).map(|row| data[row * 64..(row + 1) * 64].to_owned() + "\n").collect() };
    let text = "The quick brown fox jumps over the lazy dog, and the dog does not mind it at all. ".repeat(3);
    let encoded: String = {
        let sample = samples::encoded(text.as_bytes());
        sample.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line).into_owned() + "\n").collect()
    };
    for text in [
        format!("-----BEGIN CERTIFICATE-----\n{}{}\n-----END CERTIFICATE-----\n", lines(12), &data[..16]),
        format!("{}{}\n-----END CERTIFICATE-----\n", lines(6), &data[..16]),
        format!("-----BEGIN PGP SIGNATURE-----\nVersion: 2\n\n{}=AbCd\n-----END PGP SIGNATURE-----\n", lines(6)),
        format!("Content-Transfer-Encoding: base64\n\n{}{}\n", lines(6), &data[..16]),
        format!("iVBORw0KGgo{}\n{}{}\n", &data[..53], lines(6), &data[..16]),
        format!("{}{}\n", lines(190), &data[..16]),
        format!("{}and then words\n", lines(6)),
        format!("{}\n{}\n{}\n", hex(64), hex(64), hex(40)),
        encoded,
    ] {
        assert_eq!(Redactor::shared().redact(&text).text, text);
    }
}

#[test]
fn encoded_keys_are_redacted_without_their_lines() {
    let data = base64(600);
    for beginning in
        ["MIIEpAIBAAKCAQEA", "MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgw", "MHcCAQEEI", "b3BlbnNzaC1rZXktdjEAAAAA"]
    {
        for (text, plain) in [
            (format!("APP_PRIVATE={beginning}{data}\nnext"), "next"),
            (format!("data: {beginning}{}\n  {}\nnext", &data[..64], &data[64..128]), "next"),
            (format!("{{\"k\":\"{beginning}{data}\",\"next\":1}}"), "next"),
        ] {
            let redacted = Redactor::shared().redact(&text).text.into_owned();
            assert!(!redacted.contains(&data[..32]) && !redacted.contains(&data[80..120]), "{redacted}");
            assert!(redacted.contains(plain), "{redacted}");
        }
    }
}

/// A secret, named and quoted in many ways, and the text that stays.
#[test]
fn quotes_of_all_kinds_hold_secrets() {
    let value = "kX93hhQw2vTz";
    for (open, close) in [
        ("\u{201c}", "\u{201d}"),
        ("\u{2018}", "\u{2019}"),
        ("\u{ab}", "\u{bb}"),
        ("\u{300c}", "\u{300d}"),
        ("\u{201e}", "\u{201c}"),
        ("\u{ab} ", " \u{bb}"),
        ("\u{ab}\u{a0}", "\u{a0}\u{bb}"),
        ("\u{ab}\u{202f}", "\u{202f}\u{bb}"),
        ("\u{bb}", "\u{ab}"),
        ("\u{2039}", "\u{203a}"),
        ("&quot;", "&quot;"),
        ("&#39;", "&#39;"),
    ] {
        for name in ["password: ", "password = ", "The password is ", "Passwort: ", "password\u{ff1a}"] {
            let text = format!("before {name}{open}{value}{close} after");
            let expected = format!("before {name}{open}[redacted:password]{close} after");
            assert_eq!(Redactor::shared().redact(&text).text, expected);
        }
        let text = format!("before {open}password{close}: {open}string{close}, {open}token{close} after");
        assert_eq!(Redactor::shared().redact(&text).text, text);
    }
}

/// Two letters beyond ASCII are small and capital forms of letters of ASCII, and longer than these.
#[test]
fn names_with_a_long_s_or_the_sign_of_kelvin_are_names() {
    let (password, random) = ("kX93hhQw2vTz", word(24));
    for name in ["password", "DB_PASSWORD", "passphrase", "secret_key", "api_key", "API_KEY", "Client_Secret", "token"]
    {
        let other: String = name
            .chars()
            .map(|character| match character {
                's' | 'S' => '\u{17f}',
                'k' | 'K' => '\u{212a}',
                character => character,
            })
            .collect();
        let value = if name.to_lowercase().contains("pass") { password } else { &random };
        for before in ["", "\u{17f}\u{212a} ", "\u{212a}: \"\u{17f}\"\n"] {
            let redact =
                |name: &str| Redactor::shared().redact(&format!("{before}{name}={value}\nafter")).text.into_owned();
            assert_eq!(redact(&other), redact(name).replacen(name, &other, 1));
            assert!(!redact(&other).contains(value) && redact(&other).starts_with(before), "{other}");
        }
    }
    let text = "\u{17f}o the \u{212a} of a word: \u{17f}\u{212a} means no \u{17f}ecret";
    assert_eq!(Redactor::shared().redact(text).text, text);
}

/// A rule of the settings may match each character, and a mark is longer than that.
#[test]
fn marks_take_no_more_room_than_the_text() {
    let extra = |pattern: &str| ExtraRule { name: "x".repeat(64), pattern: pattern.to_owned() };
    let length = 600_000;
    for (pattern, text) in
        [(".", "some words ".repeat(length / 11)), ("o", "no so ".repeat(length / 6)), ("é", "é".repeat(length / 2))]
    {
        let redacted = Redactor::new(&[], &[extra(pattern)]).redact(&text).text.into_owned();
        assert!(redacted.len() <= 2 * text.len() + 2 * MARK_BYTES, "{pattern}: {}", redacted.len());
        let left = redacted.replace(&format!("{MARK}{}]", "x".repeat(64)), "");
        assert!(redacted.contains(MARK) && (pattern == "." && left.is_empty() || !left.contains(pattern)), "{left}");
    }
    // A few of them keep all that is between.
    let redacted = Redactor::new(&[], &[extra("o")]).redact("no so").text.into_owned();
    assert_eq!(redacted, format!("n{MARK}{0}] s{MARK}{0}]", "x".repeat(64)));
}

#[test]
fn an_apostrophe_in_a_password_ends_nothing() {
    for value in ["Pa\u{2019}s2w0rd!x", "Passw0rd\u{2019}Zk81"] {
        let redacted = Redactor::shared().redact(&format!("password={value} after")).text.into_owned();
        assert!(!redacted.contains("w0rd") && redacted.ends_with(" after"), "{redacted}");
    }
}

/// Places with the same surroundings are examined only once, but no secret is hidden by another place.
#[test]
fn a_secret_behind_the_beginning_of_a_placeholder_is_found() {
    let (before, long) = ("The settings of the first server. ".repeat(40), word(1100));
    let text = format!("{before}token=\"{long}....\" and {before}token=\"{long}\" after");
    let redacted = Redactor::shared().redact(&text).text.into_owned();
    assert!(redacted.contains("token=\"[redacted:") && redacted.ends_with("\" after"), "{redacted}");
}

/// Each line of `text` after `before`.
fn lined(before: &str, text: &str) -> String {
    text.lines().map(|line| format!("{before}{line}\n")).collect()
}

/// Places that contain secrets, and how often their text is escaped there.
fn places(text: &str) -> Vec<(&'static str, usize, String)> {
    let quoted = text.replace('&', "&amp;").replace('"', "&quot;");
    vec![
        ("plain", 0, text.to_owned()),
        ("JSON", 1, format!("{{\"content\": \"{}\"}}", escaped(text, 1))),
        ("JSON in JSON", 2, escaped(&format!("{{\"content\": \"{}\"}}", escaped(text, 1)), 1)),
        ("JSON in JSON in JSON", 3, escaped(&format!("{{\"content\": \"{}\"}}", escaped(text, 2)), 1)),
        ("diff, added", 0, lined("+", text)),
        ("diff, removed", 0, lined("-", text)),
        ("grep", 0, lined("src/settings.py:12:", text)),
        ("YAML block", 0, format!("data:\n  run: |\n{}", lined("    ", text))),
        ("command line", 0, format!("docker run -e '{text}' image:1 --rm")),
        ("mail", 0, lined("> ", text)),
        ("table", 0, format!("| name | value |\n|---|---|\n| one | {text} |\n| two | `{text}` |")),
        ("HTML attribute", 0, format!("<div class=\"a\" data-settings=\"{quoted}\" id=\"b\"></div>")),
        (
            "URL query",
            0,
            format!("GET /settings?page=2&{}&sort=up HTTP/1.1", text.replace(" = ", "=").replace(": ", "=")),
        ),
    ]
}

#[test]
fn what_public_rules_name_is_found_in_all_places() {
    let (mut looked, mut missed, mut by_place) = (0, Vec::new(), BTreeMap::<&str, u32>::new());
    for sample in samples::public_rules() {
        for (place, escapes, text) in places(&sample.text) {
            looked += 1;
            let redacted = Redactor::shared().redact(&text).text.into_owned();
            if let Some(left) = sample.left_in(&redacted, escapes).first() {
                *by_place.entry(place).or_default() += 1;
                missed.push(format!("{}, {place}: {left} is left of {text}", sample.form));
            }
        }
    }
    let summary = format!("{} of {looked} are missed: {by_place:?}", missed.len());
    assert!(missed.len() * 100 <= looked * 3, "{summary}\n{}", missed.join("\n"));
}

/// The marks in the redacted text of each sample, or what is wrong with it.
fn wrong(samples: &[&str], expected: bool) -> Vec<String> {
    let redacted = samples.iter().map(|sample| (sample, Redactor::shared().redact(sample).text.into_owned()));
    let is_wrong = |(sample, redacted): &(&&str, String)| (redacted != **sample) != expected;
    redacted.filter(is_wrong).map(|(sample, redacted)| format!("{sample:?}: {redacted:?}")).collect()
}

#[test]
fn words_are_passwords_where_they_are_assigned() {
    let passwords = [
        "password: correcthorse",
        "db:\n  user: app\n  password: correcthorse\n  port: 5432\n",
        "password: correcthorse # of the test system",
        "- password: correcthorse",
        "password: \"correcthorse\"",
        "\"password\": \"correcthorse\",",
        "{\"user\":\"app\",\"password\":\"swordfish\"}",
        "{'password': 'swordfish'}",
        "password = 'correcthorse'",
        "const password = \"correcthorse\";",
        "let db_password = \"correcthorse\";",
        "connect(user=\"app\", password=\"correcthorse\")",
        "passphrase: \"correct-horse-battery-staple\"",
        "[db]\nuser = app\npassword = correcthorse\n",
        "password=correcthorse",
        "DB_PASSWORD=correcthorse",
        "export MYSQL_PASSWORD=swordfish",
        "app.datasource.password=correcthorse\napp.port=1\n",
        "<password>correcthorse</password>",
        "https://example.org/login?user=app&password=correcthorse&next=1",
        "docker run -e \"POSTGRES_PASSWORD=correcthorse\" postgres",
        "config/app.yml:12:  password: correcthorse",
        "+  password: correcthorse",
        "> password: correcthorse",
        "passwd: sommerferien",
        "Passwort: Sommerferien",
        "Kennwort = \"sommerferien\"",
        "\u{43f}\u{430}\u{440}\u{43e}\u{43b}\u{44c}: \"correcthorse\"",
        "bindpw wintergarten",
        "bindpw \"wintergarten\"\nport 389\n",
        "bindpw 'winter garten'\nport 389\n",
        "bindpw = \"winter g4rten\"\n",
        "rootpw {SSHA}Zm9vYmFyYmF6cXV4cXV1eA==",
        "rootpw --plaintext wintergarten",
        "bind_password = wintergarten",
        "auth_pass wintergarten",
        "account default\nuser jo\npassword hunter2xyz\n",
    ];
    assert_eq!(wrong(&passwords, true), Vec::<String>::new());
}

#[test]
fn words_behind_the_name_of_a_password_stay_in_sentences_types_and_programs() {
    let others = [
        "password: string",
        "password: string;",
        "interface User {\n  name: string\n  password: string\n}",
        "class User(BaseModel):\n    name: str\n    password: SecretStr\n",
        "password: Option<String>,",
        "val password: CharArray",
        "password = getPassword()",
        "password = generate()",
        "password = settings.password",
        "password = password",
        "self.password = plaintext",
        "username = name\npassword = candidate\nlogin(username, password)\n",
        "    user=owner,\n    password=candidate\n)",
        "connect(user, password=candidate)",
        "connect(user, password=candidate, port=1)",
        "def login(username, password=None):",
        "password: required",
        "password: \"required\"",
        "'password' => 'required|min:8',",
        "'password' => 'hashed',",
        "password: optional, at least eight letters",
        "Password: minimum",
        "The password: it was forgotten.",
        "the password is wrong and the password was changed",
        "I forgot the password: sorry about that",
        "password=<password>",
        "password: \"<your password>\"",
        "password: \"changeme\"",
        "password: ${DB_PASSWORD}",
        "password: \"{{ password }}\"",
        "password: !vault |",
        "password: \"Password\"",
        "\"password\": \"Passwort\",",
        "\"password\": \"Contrasena\",",
        "\"forgotPassword\": \"Vergessen\",",
        "\"showPassword\": \"Anzeigen\",",
        "\"password\": \"invalid\"",
        "errors.password = \"required\"",
        "<input type=\"password\" name=\"password\" placeholder=\"Enter\">",
        "<label for=\"password\">Kennwort</label>",
        "<password>string</password>",
        "[\"password\", \"username\", \"email\"]",
        "type: \"password\"",
        "mode == \"password\" ? \"text\" : \"hidden\"",
        "password_field: \"email\"",
        "passwordInput = document",
        "password: userPassword,",
        "password: userInput",
        "{ user, password: candidate }",
        "psql: error: password authentication failed for user \"app\"",
        "pass: success",
        "first_pass = \"lexer\"",
        "bypass: enabled",
        "compass = northwards",
        "bindpw is the password of the directory",
        "bindpw <password>",
        "password sufficient pam_unix.so sha512",
        "password required pam_deny.so",
        "passwd: files systemd",
        "password: \"text\" + value",
        "x = \"password: \" + candidate",
        "--password required",
        "PasswordAuthentication prohibited",
        "password: \"some-secret-name\"",
        "match password:\n    case candidate:\n",
    ];
    assert_eq!(wrong(&others, false), Vec::<String>::new());
}

#[test]
fn keys_of_frameworks_are_redacted_with_all_their_signs() {
    let signs = "(x7&k%2^p$9#w@4!q-z=5+m_e*8)j3r0t6yd1hcbu";
    for text in [
        format!("SECRET_KEY = 'django-insecure-{signs}abc'"),
        format!("SECRET_KEY = '{signs}abcdefg'"),
        format!("SECRET_KEY = \"{signs}abcdefg\""),
        format!("SECRET_KEY = '$%{signs}gf'"),
        format!("SECRET_KEY = '-{signs}gf)'"),
        format!("SECRET_KEY={signs}abcdefg"),
        format!("DJANGO_SECRET_KEY=#{signs}abcdefg"),
        format!("app.config['SECRET_KEY'] = '!{signs}abcdefg'"),
        format!("APP_KEY=base64:{signs}=", signs = base64(43)),
        format!("'key' => env('APP_KEY', 'base64:{signs}='),", signs = base64(43)),
    ] {
        for escapes in 0..=2 {
            let text = escaped(&text, escapes);
            let redacted = Redactor::shared().redact(&text).text.into_owned();
            assert!(redacted.contains(MARK), "{text}");
            assert!(!redacted.contains("p$9#w@4!q") && !redacted.contains(&base64(43)[..20]), "{redacted}");
        }
    }
    for text in [
        "SECRET_KEY = os.environ.get('SECRET_KEY_FOR_DJANGO', default_value_of_2024)",
        "SECRET_KEY = get_random_secret_key(50, allowed_chars=CHARS_2024) + str(seed_2)",
        "SECRET_KEY = 'your-secret-key-(please)-change-it-2024!-&-keep-it-safe'",
    ] {
        assert_eq!(Redactor::shared().redact(text).text, text);
    }
}

#[test]
fn a_text_that_repeats_itself_is_read_in_proportion_to_its_length() {
    let units = [
        "password=",
        "pwd=",
        "senha=\"",
        "secret=",
        "key: ",
        "-key=",
        "token=\"a1",
        "://",
        "://a:b",
        "Bearer ",
        "\\",
        "\"",
        "\\\"",
        "'",
        "-----BEGIN",
        "-----BEGIN PRIVATE KEY-----",
        "END private key--",
        "private-lines",
        "private-mac:",
        "MIIEpAIBAAKCAQEA",
        "\u{201c}",
        "&quot;",
        "[redacted:",
        "curl -u ",
        "cookie: a=",
        "|password=qwertzuiop",
        "password|a\n",
        "senha,a\nb,\"}\n",
        "| aB3dE5gH7jK9mN1pQ3sT |\n",
        "key aB3dE5gH7jK9mN1pQ3sT ",
        "\n  k: aB3dE5gH7jK9mN1pQ3sT",
    ];
    for unit in units {
        let text = unit.repeat((1 << 16) / unit.len());
        let time = || {
            let start = std::time::Instant::now();
            Redactor::shared().redact(&text);
            start.elapsed()
        };
        // Another program may have the processor for a while.
        let limit = std::time::Duration::from_secs(10);
        assert!((0..3).any(|_| time() < limit), "{unit:?} takes longer than {limit:?}");
    }
}

#[test]
fn a_long_text_is_left_once_it_is_cancelled() {
    let cancel = CancellationToken::new();
    let text = "password=\"kX93hhQw2vTz\" ".repeat(10_000);
    let counts = |redacted: Redacted<'_>| redacted.counts.get("password").copied();
    assert_eq!(counts(Redactor::shared().redact_until(&text, Some(&cancel))), Some(10_000));
    cancel.cancel();
    assert_eq!(counts(Redactor::shared().redact_until(&text, Some(&cancel))), None);
}

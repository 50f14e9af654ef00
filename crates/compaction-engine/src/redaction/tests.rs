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

#[test]
fn secrets_that_were_written_later_are_found() {
    check_found(&samples::later_secrets());
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

/// The time grows with the text: four times the text takes about four times as long, and not sixteen times.
#[test]
fn beginnings_of_keys_without_keys_are_read_once() {
    let time = |line: &str, bytes: usize| {
        let text = line.repeat(bytes / line.len());
        let start = std::time::Instant::now();
        assert_eq!(Redactor::shared().redact(&text).text, text);
        start.elapsed()
    };
    for line in ["private-lines: 4\n", "BEGIN: private key--\n", "-----BEGIN PRIVATE KEY-----\nVersion: 1\n"] {
        let short = time(line, 1 << 15).max(time(line, 1 << 15));
        // Another program may have the processor for a while.
        assert!((0..3).any(|_| time(line, 1 << 17) < 10 * short), "{line:?}: {short:?}");
    }
    let headers = |count: usize| {
        let text = format!("-----{} PRIVATE KEY-----\n{}\n{}\n", "BEGIN", "Comment: none\n".repeat(count), base64(64));
        Redactor::shared().redact(&text).counts
    };
    assert_eq!(headers(16), counts("private-key"));
}

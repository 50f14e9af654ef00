//! The rules: what secrets look like. The forms are those that the issuers document; a new form is
//! a new row here and a line in the table of the tests.

/// How one kind of secret is recognised.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// Names the rule in marks, counts and settings.
    pub(super) name: &'static str,
    /// A text that holds none of these, in any case, is not searched.
    pub(super) keywords: &'static [&'static str],
    /// The form. What its first group matches is the secret; without a group, all of it is.
    pub(super) pattern: &'static str,
    /// What else must hold.
    pub(super) check: Check,
}

/// What must hold of a match besides its form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// Nothing.
    None,
    /// It is not a piece of a longer word, as forms occur within encoded data by chance.
    Whole,
    /// It holds encoded data, not just the words around it.
    HoldsData,
    /// It is a value and no placeholder for one.
    NoPlaceholder,
    /// The same, and it is neither a path nor a name in a program.
    Password,
    /// The same, and it looks drawn by chance.
    Random,
}

const fn token(name: &'static str, keywords: &'static [&'static str], pattern: &'static str) -> Rule {
    Rule { name, keywords, pattern, check: Check::Whole }
}

const fn value(name: &'static str, keywords: &'static [&'static str], pattern: &'static str, check: Check) -> Rule {
    Rule { name, keywords, pattern, check }
}

/// All rules; where matches overlap, the mark bears the name of the one that begins first.
pub(super) const RULES: &[Rule] = &[
    value(
        "private-key",
        &["private key"],
        concat!(
            r"-----BEGIN[ A-Z0-9]*PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-[^-])*?-----END[ A-Z0-9]*PRIVATE KEY(?: BLOCK)?-----",
            // One that was cut off, as tool results are.
            r"|-----BEGIN[ A-Z0-9]*PRIVATE KEY(?: BLOCK)?-----(?:(?:[ \t\r\n]|\\+[nr])*[A-Za-z0-9+/=]{16,})+",
        ),
        Check::HoldsData,
    ),
    // Clouds.
    token("aws-access-key", &["akia", "asia", "abia", "acca"], r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    value(
        "aws-secret-key",
        &["secret"],
        r#"(?i-u:secret_?(?:access_?)?key)\\?["']?[ \t]*(?:=>|=|:)[ \t]*\\?["']?([A-Za-z0-9/+]{40})"#,
        Check::Random,
    ),
    value(
        "aws-session-token",
        &["session"],
        r#"(?i-u:aws_?session_?token)\\?["']?[ \t]*(?:=>|=|:)[ \t]*\\?["']?([A-Za-z0-9/+=]{64,})"#,
        Check::None,
    ),
    token("google-api-key", &["aiza"], r"AIza[A-Za-z0-9_-]{35}"),
    token("google-oauth", &["ya29.", "gocspx-"], r"ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{28}"),
    value("azure-storage-key", &["accountkey"], r"AccountKey=([A-Za-z0-9+/]{80,}={0,2})", Check::None),
    value("azure-signature", &["sig="], r"[?&]sig=([A-Za-z0-9%/+]{30,}(?:=|%3[dD])*)", Check::None),
    token("azure-client-secret", &["q~"], r"[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}"),
    token("digitalocean-token", &["doo_v1_", "dop_v1_", "dor_v1_"], r"do[opr]_v1_[a-f0-9]{64}"),
    token("cloudflare-key", &["v1.0-"], r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}"),
    token("fly-token", &["fm1", "fm2", "fo1"], r"f(?:m1[ar]|m2|o1)_[A-Za-z0-9+/=_-]{40,}"),
    token("heroku-key", &["hrku-"], r"HRKU-[A-Za-z0-9_-]{36,}"),
    token("netlify-token", &["nfp_"], r"nfp_[A-Za-z0-9]{36,}"),
    token("supabase-key", &["sbp_", "sb_secret_"], r"sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,}"),
    token("planetscale-token", &["pscale_"], r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{32,}"),
    token("databricks-token", &["dapi"], r"dapi[a-f0-9]{32}(?:-[0-9])?"),
    token("pulumi-token", &["pul-"], r"pul-[a-f0-9]{40}"),
    token("terraform-token", &["atlasv1"], r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}"),
    token("vault-token", &["hvs.", "hvb.", "hvr."], r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    token("doppler-token", &["dp."], r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,}"),
    token("age-key", &["age-secret-key-"], r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    // Code and packages.
    token("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"gh[pousr]_[A-Za-z0-9]{36,}"),
    token("github-token", &["github_pat_"], r"github_pat_[A-Za-z0-9_]{22,}"),
    token(
        "gitlab-token",
        &[
            "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-", "glsoat-",
            "glffct-",
        ],
        r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_.-]{20,}",
    ),
    token("npm-token", &["npm_"], r"npm_[A-Za-z0-9]{36}"),
    token("pypi-token", &["pypi-age"], r"pypi-AgE[A-Za-z0-9_-]{50,}"),
    token("rubygems-key", &["rubygems_"], r"rubygems_[0-9a-f]{48}"),
    token("crates-io-token", &["cio"], r"cio[A-Za-z0-9]{32}"),
    token("nuget-key", &["oy2"], r"oy2[a-z0-9]{43}"),
    token("docker-token", &["dckr_"], r"dckr_[po]at_[A-Za-z0-9_-]{27,}"),
    token("atlassian-token", &["atatt3"], r"ATATT3[A-Za-z0-9_=-]{100,}"),
    token("postman-key", &["pmak-"], r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    token("sentry-token", &["sntry"], r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    token("grafana-token", &["glsa_", "glc_"], r"glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|glc_[A-Za-z0-9+/=]{32,}"),
    token("newrelic-key", &["nrak-"], r"NRAK-[A-Z0-9]{27}"),
    token("linear-key", &["lin_"], r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    token("notion-token", &["ntn_", "secret_"], r"ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}"),
    token("shopify-token", &["shp"], r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    // Models.
    token("anthropic-key", &["sk-ant-"], r"sk-ant-[A-Za-z0-9_-]{20,}"),
    token("openrouter-key", &["sk-or-"], r"sk-or-v1-[0-9a-f]{40,}"),
    token("openai-key", &["sk-"], r"sk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{32,})"),
    token("groq-key", &["gsk_"], r"gsk_[A-Za-z0-9]{40,}"),
    token("xai-key", &["xai-"], r"xai-[A-Za-z0-9]{60,}"),
    token("huggingface-token", &["hf_"], r"hf_[A-Za-z0-9]{30,}"),
    token("replicate-token", &["r8_"], r"r8_[A-Za-z0-9]{37}"),
    token("perplexity-key", &["pplx-"], r"pplx-[A-Za-z0-9]{40,}"),
    // Messages and payments.
    token("slack-token", &["xox", "xapp-"], r"xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-z0-9]+"),
    value(
        "slack-webhook",
        &["hooks.slack.com"],
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_-]{20,})",
        Check::None,
    ),
    value("discord-webhook", &["/api/webhooks/"], r"/api/webhooks/[0-9]+/([A-Za-z0-9_-]{40,})", Check::None),
    token("telegram-token", &[":aa"], r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    token(
        "stripe-key",
        &["k_live_", "k_test_", "whsec_"],
        r"[sr]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{32,}",
    ),
    token("twilio-key", &["sk"], r"SK[0-9a-f]{32}"),
    token("sendgrid-key", &["sg."], r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    token("mailgun-key", &["key-"], r"key-[0-9a-f]{32}"),
    token("mailchimp-key", &["-us"], r"[0-9a-f]{32}-us[0-9]{1,2}"),
    // Forms that many use.
    token("jwt", &["eyj"], r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    value(
        "authorization",
        &["authorization"],
        concat!(
            r#"(?i-u:authorization)\\?["']?[ \t]*[:=][ \t]*\\?["'`]?"#,
            r"(?i-u:bearer|basic|token|apikey)[ \t]+([A-Za-z0-9._~+/=-]{8,})",
        ),
        Check::NoPlaceholder,
    ),
    value("bearer-token", &["bearer"], r"(?i-u:bearer)[ \t]+([A-Za-z0-9._~+/-]{20,}={0,2})", Check::Random),
    value(
        "url-password",
        &["://"],
        r#"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"'<>\[\]\\]*:([^\s/@"'<>\[\]\\]{3,})@"#,
        Check::NoPlaceholder,
    ),
    value(
        "password",
        &["passw", "pwd", "passphrase"],
        concat!(
            r#"(?i-u:passw(?:or)?d|pwd|passphrase)\\?["']?(?:[ \t]*(?::=|=>|=|:)[ \t]*\\?["'`]|=|:[ \t]?)"#,
            r#"([^\s"'`\\,;&<>(){}\[\]$]{6,128})"#,
        ),
        Check::Password,
    ),
    value(
        "secret",
        &["secret", "token", "key", "credential"],
        concat!(
            r"(?i-u:secret|token|credentials?|(?:api|access|auth|private|secret|signing|encryption|master)[_-]?key)",
            r#"\\?["']?[ \t]*(?::=|=>|=|:)[ \t]*\\?["'`]?([A-Za-z0-9._~+/=@!%^*-]{16,})"#,
        ),
        Check::Random,
    ),
];

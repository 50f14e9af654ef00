//! The bundled rules.
//!
//! `TOKENS` are secrets with a form of their own: prefixes, alphabets and lengths that issuers document. `VALUES` are
//! secrets that are recognised by the text before them: a name, an option, a header, a file format. A new form needs
//! a row here and a sample.

use super::check::Check;
use super::rules::Rule;

const fn value(name: &'static str, keywords: &'static [&'static str], pattern: &'static str, check: Check) -> Rule {
    Rule { name, keywords, before: &[0], pattern, check }
}

/// What may follow the significant part of a name: `DB_PASSWORD_PROD`, `SECRET_KEY_BASE`.
macro_rules! rest_of_name {
    () => {
        "(?i-u:[_-]?(?:base|prod|production|dev|development|test|staging|live|root|admin|user|main|old|new|value|text|[0-9]))?"
    };
}

/// From a name to the operator before its value: closing quotes and brackets, a type.
macro_rules! named {
    () => {
        concat!(rest_of_name!(), r#"["'`*]{0,2}\]?\)?(?:[ \t]*:[ \t]*&?(?:'static )?[A-Za-z]+)?[ \t]*"#)
    };
}

/// From a name to its value.
macro_rules! assigned {
    () => {
        concat!(named!(), r#"(?::=|=>|=|:|["'],[ \t]*(?:default[ \t]*=)?|\|\||\?\?)[ \t]*"#)
    };
}

/// From a name to a value in quotes.
macro_rules! compared {
    () => {
        concat!(named!(), r#"(?::=|=>|[!=]?={1,2}|:|["'],[ \t]*(?:default[ \t]*=)?|\|\||\?\?)[ \t]*"#)
    };
}

/// A value that is not on the line of its name: a YAML block, a container's variable, an XML element.
macro_rules! apart {
    ($value:literal) => {
        concat!(
            // A block, or the next line, perhaps in a diff.
            r#"["']?:[ \t]*(?:[|>][0-9+-]*)?[ \t]*\r?\n(?:[+-][ \t])?[ \t]+["']?("#,
            $value,
            r#"(?:\r?\n(?:[+-][ \t])?[ \t]+"#,
            $value,
            r#")*)["']?[ \t]*(?:\r?\n|$)"#,
            // A list of names and values, attributes.
            r#"|["']?,?[ \t\r\n-]*["']?value["']?[ \t]*[:=][ \t]*["']?("#,
            $value,
            ")",
            // An element, and a pair of elements.
            r"|>[ \t\r\n]*(",
            $value,
            r")[ \t\r\n]*</|</key>[ \t\r\n]*<string>(",
            $value,
            ")</"
        )
    };
}

/// The significant part of names of passwords.
macro_rules! password {
    () => {
        "(?:(?i-u:passw(?:or)?d|passphrase|passwort|kennwort|contrasena|senha|mot de passe|pass|pwd|psk|pw)|(?i:contraseña|пароль|密码))"
    };
}

/// The significant part of names of other secrets.
macro_rules! secret {
    () => {
        "(?i-u:secret|token|credentials?|key|salt)"
    };
}

/// The significant part of names that say password, and nothing else.
macro_rules! plain_password {
    () => {
        "(?:(?i-u:passw(?:or)?d|passphrase|passwort|kennwort|contrasena|senha)|(?i:contraseña|пароль|密码))"
    };
}

const PASSWORD_NAMES: &[&str] =
    &["pass", "pwd", "psk", "pw", "kennwort", "contrase", "senha", "mot de passe", "пароль", "密码"];
const SECRET_NAMES: &[&str] = &["secret", "token", "credential", "key", "salt"];

/// Secrets that are recognised by the text before them.
pub(super) const VALUES: &[Rule] = &[
    value(
        "private-key",
        &[
            "private key",
            "private-lines",
            "private-mac:",
            // The encoded beginnings of keys.
            "b3blbnnzac1rzxktdje",
            "mhccaqee",
            "mighageambmgbyqgsm49",
            "mc4caqawbqydk2vwbcie",
            "migkagebbda",
            "ibaakc",
            "ibadanbgkqhkig9w0baq",
        ],
        "",
        Check::PrivateKey,
    ),
    value(
        "aws-secret-key",
        &["secret"],
        r#"(?i-u:secret_?(?:access_?)?key)["']?(?:[ \t]*(?:=>|=|:)[ \t]*|[ \t]+)["']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+]|$)"#,
        Check::Credential,
    ),
    value(
        "aws-session-token",
        &["session"],
        r#"(?i-u:session_?token)["']?[ \t]*(?:=>|=|:)[ \t]*["']?([A-Za-z0-9/+=]{64,})"#,
        Check::None,
    ),
    value(
        "azure-storage-key",
        &["accountkey", "accesskey"],
        r"(?i-u:AccountKey|AccessKey)=([A-Za-z0-9+/]{40,}={0,2})",
        Check::None,
    ),
    value(
        "azure-signature",
        &["sig=", "signature="],
        r"(?i-u:sig|signature)=([A-Za-z0-9%/+_-]{30,}(?:=|%3[dD])*)",
        Check::Random,
    ),
    value(
        "google-key-id",
        &["private_key_id"],
        r#"private_key_id["']?[ \t]*[:=][ \t]*["']?([0-9a-f]{40})"#,
        Check::None,
    ),
    value(
        "slack-webhook",
        &["hooks.slack.com"],
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_-]{20,})",
        Check::None,
    ),
    value(
        "tines-webhook",
        &[".tines.com/webhook/"],
        r"\.tines\.com/webhook/([A-Za-z0-9]{24,}(?:/[A-Za-z0-9]{24,})?)",
        Check::None,
    ),
    value("sonar-token", &["sonar.login"], r#"sonar\.login["']?[ \t]*[:=][ \t]*["']?([a-f0-9]{40})"#, Check::None),
    value(
        "azure-instrumentation-key",
        &["instrumentationkey"],
        r#"(?i-u:InstrumentationKey)["']?[ \t]*[:=][ \t]*["']?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"#,
        Check::NoPlaceholder,
    ),
    // Lines of network devices, with the kind of the password as a number.
    value(
        "device-password",
        &["secret ", "password "],
        r#"(?:secret|password)[ \t]+[0-9][ \t]+([^ \t\r\n"'`&|<]{6,})"#,
        Check::DevicePassword,
    ),
    value("ngrok-token", &["authtoken "], r"authtoken[ \t]+([A-Za-z0-9_]{30,})", Check::Random),
    value(
        "sidekiq-key",
        &["contribsys__com"],
        r#"(?i-u:CONTRIBSYS__COM)["']?[ \t]*[:=][ \t]*["']?([a-f0-9]{8}:[a-f0-9]{8})"#,
        Check::None,
    ),
    value("discord-webhook", &["/api/webhooks/"], r"/api/webhooks/[0-9]+/([A-Za-z0-9_-]{40,})", Check::None),
    value("teams-webhook", &[".office.com/webhookb2/"], r"\.office\.com/webhookb2/([0-9A-Za-z@/-]{40,})", Check::None),
    value(
        "authorization",
        &["authorization"],
        concat!(
            r#"(?i-u:authorization)["']?[ \t]*[:=,][ \t]*["'`]?"#,
            r"(?i-u:bearer|basic|token|apikey|negotiate)[ \t]+([A-Za-z0-9._~+/=-]{8,})",
        ),
        Check::Credential,
    ),
    value(
        "authorization",
        &["authorization"],
        r#"(?i-u:authorization)["']?[ \t]*[:=,][ \t]*["'`]?([A-Za-z0-9._~+/=-]{16,})"#,
        Check::Random,
    ),
    value(
        "token-header",
        &[
            "private-token",
            "x-auth-token",
            "x-api-key",
            "x-vault-token",
            "x-access-token",
            "api-key",
            "subscription-key",
        ],
        r#"(?i-u:[a-z-]*(?:token|key))["']?[ \t]*:[ \t]*["']?([A-Za-z0-9._~+/=-]{12,})"#,
        Check::Credential,
    ),
    value("bearer-token", &["bearer"], r"(?i-u:bearer)[ \t]+([A-Za-z0-9._~+/-]{20,}={0,2})", Check::Random),
    value(
        "cookie",
        &["cookie", " -b "],
        r#"(?i-u:cookie["']?[ \t]*[:=][ \t]*|[ \t]-b[ \t]+)["'`]?([A-Za-z0-9_.%-]+=[^"'`\r\n]{16,})"#,
        Check::Cookie,
    ),
    value(
        "cookie",
        &["sessionid", "sessid", "connect.sid"],
        r#"(?i-u:sessionid|sessid|connect\.sid)["']?[ \t]*=[ \t]*["']?([A-Za-z0-9_.%-]{20,})"#,
        Check::SessionCookie,
    ),
    value(
        "url-password",
        &["://"],
        r#"://[^ \t\r\n/:@"'<>\[\]\\]*:([^ \t\r\n/"'<>\[\]\\]{3,})@"#,
        Check::NoPlaceholder,
    ),
    value("url-token", &["://"], r"://([A-Za-z0-9_.~%-]{16,})(?::[a-z-]*)?@", Check::Random),
    value(
        "netrc",
        &["login", "machine"],
        r#"(?:login|machine)[ \t\r\n]+[^ \t\r\n]+[ \t\r\n]+(?:account[ \t\r\n]+[^ \t\r\n]+[ \t\r\n]+)?password[ \t\r\n]+["']?([^ \t\r\n"']{3,})"#,
        Check::Password,
    ),
    value(
        "redis-password",
        &["requirepass", "masterauth"],
        r#"(?:requirepass|masterauth)[ \t]+["']?([^ \t\r\n"']{4,})"#,
        Check::NoPlaceholder,
    ),
    value(
        "pgpass",
        &[":5432:", ":3306:", ":*:"],
        r"(?::[0-9]{4,5}|:\*):[^ \t\r\n:]+:[^ \t\r\n:]+:([^ \t\r\n:]{4,})",
        Check::Password,
    ),
    value(
        "npmrc",
        &["_auth", "_password"],
        r#"_(?:auth|password)["']?[ \t]*=[ \t]*["']?([A-Za-z0-9+/=]{8,})"#,
        Check::Credential,
    ),
    value("npmrc", &["_authtoken"], r#"_authToken["']?[ \t]*=[ \t]*["']?([A-Za-z0-9+/=_.-]{8,})"#, Check::Password),
    value(
        "docker-auth",
        &["\"auth\"", "'auth'", "auth:"],
        r#"["']?auth["']?[ \t]*:[ \t]*["']?([A-Za-z0-9+/]{8,}={0,2})"#,
        Check::BasicAuth,
    ),
    value(
        "docker-auth",
        &["identitytoken", "dockerconfigjson"],
        r#"(?i-u:identitytoken|dockerconfigjson)["']?[ \t]*:[ \t]*["']?([A-Za-z0-9+/=_.-]{20,})"#,
        Check::Credential,
    ),
    value(
        "kubeconfig-key",
        &["client-key-data"],
        r#"client-key-data["']?:[ \t]*(?:[|>]-?[ \t]*)?[ \t\r\n]*["']?([A-Za-z0-9+/=]{16,}(?:[ \t\r\n]+[A-Za-z0-9+/=]{16,})*)"#,
        Check::None,
    ),
    value("laravel-key", &["base64:"], r"base64:([A-Za-z0-9+/]{42,43}={1,2})", Check::None),
    value(
        "sql-password",
        &["identified"],
        r#"(?i:identified[ \t]+(?:with[ \t]+[^ \t\r\n]+[ \t]+)?by[ \t]+(?:password[ \t]+)?)["']([^"'\r\n]{3,})["']"#,
        Check::NoPlaceholder,
    ),
    value(
        "recovery-phrase",
        &["seed phrase", "recovery phrase", "mnemonic", "seed words"],
        r#"(?i-u:seed phrase|recovery phrase|mnemonic|seed words)["']?[ \t]*(?:is|are)?[ \t]*[:=]?[ \t]*["'`]?([a-z]{3,8}(?: [a-z]{3,8}){11,23})"#,
        Check::None,
    ),
    // Command lines.
    value(
        "command-password",
        &["curl"],
        r#"curl\b[^\r\n]*?[ \t](?:-u|--user|--proxy-user)[ =]?["']?[^ \t\r\n:"']+:([^ \t\r\n"']{3,})"#,
        Check::NoPlaceholder,
    ),
    value(
        "command-password",
        &["mysql", "mariadb", "mongo", "sshpass", "docker login", "7z"],
        concat!(
            r"(?:mysql[a-z]*|mariadb[a-z-]*|7za?)\b[^\r\n|;]*?[ \t]-p",
            r#"(?:"([^"\r\n]{3,})"|'([^'\r\n]{3,})'|([^ \t\r\n"'|;-][^ \t\r\n"'|;]{2,}))"#,
            r"|(?:mongo[a-z]*|sshpass|docker login)\b[^\r\n|;]*?[ \t]-p[ \t]*",
            r#"(?:"([^"\r\n]{3,})"|'([^'\r\n]{3,})'|([^ \t\r\n"'|;-][^ \t\r\n"'|;]{2,}))"#,
        ),
        Check::NoPlaceholder,
    ),
    value(
        "command-password",
        &["redis-cli", "ldap", "sqlcmd", "zip", "smbclient", "htpasswd", "bcp", "ssh-keygen", "http"],
        concat!(
            r#"redis-cli\b[^\r\n|;]*?[ \t]-a[ \t]+["']?([^ \t\r\n"'|;]{4,})"#,
            r#"|ldap[a-z]+\b[^\r\n|;]*?[ \t]-w[ \t]+["']?([^ \t\r\n"'|;]{4,})"#,
            r#"|ssh-keygen\b[^\r\n|;]*?[ \t]-[NP][ \t]+["']?([^ \t\r\n"'|;]{4,})"#,
            r#"|https?[ \t][^\r\n|;]*?(?:-a|--auth)[ =]["']?[^ \t\r\n:"']+:([^ \t\r\n"'|;]{4,})"#,
            r#"|(?:sqlcmd|zip|bcp)\b[^\r\n|;]*?[ \t]-P[ \t]+["']?([^ \t\r\n"'|;]{4,})"#,
            r#"|smbclient\b[^\r\n|;]*?[ \t]-U[ \t]*["']?[^ \t\r\n%"']+%([^ \t\r\n"'|;]{4,})"#,
            r#"|htpasswd[ \t]+-[a-zA-Z]*b[a-zA-Z]*[ \t]+[^ \t\r\n]+[ \t]+[^ \t\r\n]+[ \t]+["']?([^ \t\r\n"'|;]{4,})"#,
        ),
        Check::NoPlaceholder,
    ),
    value(
        "command-password",
        &["echo", "printf"],
        concat!(
            r#"(?:echo|printf)(?:[ \t]+-[a-z]+)?[ \t]+["']?([^ \t\r\n"'|]{4,})["']?[ \t]*\|[ \t]*(?:sudo[ \t]+(?:-[a-zA-Z]+[ \t]+)*-S|docker login|passwd[ \t]+--stdin)"#,
            r#"|(?:echo|printf)[ \t]+["']?[^ \t\r\n"':|]+:([^ \t\r\n"'|]{4,})["']?[ \t]*\|[ \t]*(?:sudo[ \t]+)?chpasswd"#,
        ),
        Check::NoPlaceholder,
    ),
    value(
        "command-password",
        &["net use"],
        r#"net use\b[^\r\n]*?[ \t]/user:[^ \t\r\n]+[ \t]+["']?([^ \t\r\n"'/*][^ \t\r\n"']{3,})"#,
        Check::NoPlaceholder,
    ),
    value("command-password", &["pass:"], r#"pass:([^ \t\r\n"']{4,})"#, Check::OpenSslPassword),
    value(
        "command-password",
        &[" -u ", "--user"],
        r#"(?:[ \t]-u[ \t]+|--user(?:name)?[ =])["']?[^ \t\r\n:"'=]+:([^ \t\r\n"']{6,})"#,
        Check::Password,
    ),
    value(
        "password-pair",
        &["auth=", "auth(", "login", "credentials", "creds"],
        concat!(
            r#"(?i-u:auth=?|basicauth|login)\([ \t]*["'][^"'\r\n]+["'],[ \t]*["']([^"'\r\n]{4,})["']"#,
            r#"|(?:(?i-u:login|credentials|creds)[^\r\n:]*:)[ \t]*[A-Za-z0-9_.@-]+[ \t]?[:/][ \t]?([^ \t\r\n"'`,;<>]{6,})"#,
            r#"|(?i-u:login|credentials|creds)(?: with| are| is)?[ \t]*:?[ \t]+[A-Za-z0-9_.@-]+[ \t]?[:/][ \t]?([^ \t\r\n"'`,;<>]{6,})"#,
        ),
        Check::Password,
    ),
    // Names and values. The names of passwords, and short names, are also common words.
    value(
        "password",
        PASSWORD_NAMES,
        concat!(
            password!(),
            "(?:",
            compared!(),
            r#"(?:"([^" \t\r\n]{4,})"|'([^' \t\r\n]{4,})'|`([^` \t\r\n]{4,})`)"#,
            "|",
            assigned!(),
            r#"["'`]?([^ \t\r\n"'`,;&<>(){}\[\]$|\\]{6,}))"#,
        ),
        Check::NamedPassword,
    ),
    value(
        "password",
        PASSWORD_NAMES,
        concat!(password!(), rest_of_name!(), r#"(?:=|[ \t]+)["']?([^ \t\r\n"'`]{5,})"#),
        Check::VariablePassword,
    ),
    value(
        "password",
        PASSWORD_NAMES,
        concat!(
            password!(),
            r#"(?:(?:[ \t]+(?:for|of|von|für|de)[ \t]+[^ \t\r\n:]+)?[ \t]+(?:is|was|ist|lautet|es|est)[ \t]*:?[ \t]*["'`]?([^ \t\r\n"'`,;<>(){}\[\]]{6,})"#,
            r#"|[ \t]+(?:for|of|von|für|de)[ \t]+[^ \t\r\n:]+:[ \t]*["'`]?([^ \t\r\n"'`,;<>(){}\[\]]{6,})"#,
            r#"|[ \t]*\([ \t]*["']([^"' \t\r\n]{4,})["'][ \t]*\)"#,
            r#"|[ \t]+["']([^"' \t\r\n]{6,})["'])"#,
        ),
        Check::NamedPassword,
    ),
    value(
        "password",
        PASSWORD_NAMES,
        concat!(password!(), r#"[ =\t]+["']?([^ \t\r\n"'`<>|$\[\]-][^ \t\r\n"'`<>|]{3,})"#),
        Check::OptionPassword,
    ),
    value(
        "password",
        PASSWORD_NAMES,
        concat!(password!(), rest_of_name!(), "(?:", apart!(r#"[^ \t\r\n"'<>:]{4,}"#), ")"),
        Check::NamedPassword,
    ),
    // A line that is a name and a value.
    value("password", PASSWORD_NAMES, concat!(password!(), r#"[ \t]+["']?([^ \t\r\n"'`]{6,})"#), Check::LinePassword),
    // Passwords of letters alone.
    value(
        "password",
        PASSWORD_NAMES,
        concat!(
            plain_password!(),
            rest_of_name!(),
            r#"["'`*]{0,2}\]?[ \t]*(?::=|=>|=|:)[ \t]*(?:"([A-Za-z][A-Za-z_-]{5,63})"|'([A-Za-z][A-Za-z_-]{5,63})'|([A-Za-z]{6,64}))"#,
            "|",
            plain_password!(),
            r">[ \t]*([A-Za-z]{6,64})[ \t]*</",
        ),
        Check::WordPassword,
    ),
    value(
        "password",
        &["bindpw", "bind_pass", "bindpass", "bind-pass", "rootpw", "auth_pass", "wpa-psk", "wpa-passphrase"],
        concat!(
            r"(?i-u:bindpw|bind[_-]?pass(?:w(?:or)?d)?|rootpw|auth_pass|wpa-psk|wpa-passphrase)",
            r#"["']?(?:[ \t]*[=:][ \t]*|[ \t]+)(?:--(?:plaintext|iscrypted)[ \t]+)?"#,
            r#"(?:"([^"\r\n]{4,64})"|'([^'\r\n]{4,64})'|["']?([^ \t\r\n"'`|&<]{4,}))"#,
        ),
        Check::ConfiguredPassword,
    ),
    value(
        "secret",
        SECRET_NAMES,
        concat!(
            secret!(),
            "(?:",
            compared!(),
            r#"(?:"([^" \t\r\n]{16,})"|'([^' \t\r\n]{16,})')"#,
            "|",
            assigned!(),
            r#"["'`]?([A-Za-z0-9._~+/=@!%^*#&()-]{15,}))"#,
        ),
        Check::NamedSecret,
    ),
    value(
        "secret",
        SECRET_NAMES,
        concat!(
            secret!(),
            r#"(?:[ \t]+(?:for|of)[ \t]+[^ \t\r\n:]+)?[ \t]+(?:is|was|are)[ \t]*:?[ \t]*["'`]?([A-Za-z0-9._~+/=@!%^*#&()-]{16,})"#
        ),
        Check::SaidSecret,
    ),
    value(
        "secret",
        SECRET_NAMES,
        concat!(secret!(), rest_of_name!(), r#"=["']?([^ \t\r\n"'`]{16,})"#),
        Check::VariableSecret,
    ),
    value(
        "secret",
        SECRET_NAMES,
        concat!(secret!(), compared!(), r#"["']([^"' \t\r\n]{8,15})["']"#),
        Check::ShortSecret,
    ),
    value(
        "secret",
        SECRET_NAMES,
        concat!(secret!(), r#"[ =\t]+["']?([A-Za-z0-9._~+/=@!%^*-]{8,})"#),
        Check::OptionSecret,
    ),
    value(
        "secret",
        SECRET_NAMES,
        concat!(secret!(), rest_of_name!(), "(?:", apart!("[A-Za-z0-9._~+/=-]{16,}"), ")"),
        Check::NamedSecret,
    ),
];

/// A pattern that begins with one of the keywords.
const fn token(name: &'static str, keywords: &'static [&'static str], pattern: &'static str) -> Rule {
    behind(name, keywords, &[0], pattern)
}

/// A pattern whose keyword is `before` bytes after its beginning.
const fn behind(
    name: &'static str,
    keywords: &'static [&'static str],
    before: &'static [usize],
    pattern: &'static str,
) -> Rule {
    Rule { name, keywords, before, pattern, check: Check::Issued }
}

/// Secrets with a form of their own.
pub(super) const TOKENS: &[Rule] = &[
    // Clouds.
    token(
        "aws-access-key",
        &["akia", "asia", "abia", "acca", "a3t"],
        r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z2-7]{16}",
    ),
    token("aws-bedrock-key", &["absk", "bedrock-api-key-"], r"(?:ABSK|bedrock-api-key-)[A-Za-z0-9+/]{100,}={0,2}"),
    token("google-api-key", &["aiza"], r"AIza[A-Za-z0-9_-]{35}"),
    token(
        "google-oauth",
        &["ya29.", "gocspx-", "1//0", "aq.ab8"],
        r"ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{28}|1//0[A-Za-z0-9_-]{40,}|AQ\.Ab8[A-Za-z0-9_-]{40,}",
    ),
    behind("azure-client-secret", &["q~"], &[4], r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    behind(
        "azure-devops-token",
        &["jqqj99"],
        &[52],
        r"[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{18}[A-Za-z0-9]{4}[A-Za-z0-9]{4}",
    ),
    token("alibaba-key", &["ltai"], r"LTAI[A-Za-z0-9]{16,26}"),
    token("yandex-key", &["aqvn"], r"AQVN[A-Za-z0-9_-]{35,38}"),
    token("digitalocean-token", &["doo_v1_", "dop_v1_", "dor_v1_"], r"do[opr]_v1_[a-f0-9]{64}"),
    token("cloudflare-key", &["v1.0-"], r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}"),
    token("fly-token", &["fm1", "fm2", "fo1"], r"f(?:m1[ar]|m2|o1)_[A-Za-z0-9+/=_-]{40,}"),
    token("heroku-key", &["hrku-"], r"HRKU-[A-Za-z0-9_-]{36,}"),
    token("netlify-token", &["nfp_"], r"nfp_[A-Za-z0-9]{36,}"),
    token("supabase-key", &["sbp_", "sb_secret_"], r"sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,}"),
    token("planetscale-token", &["pscale_"], r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{32,}"),
    token("neon-key", &["napi_"], r"napi_[a-z0-9A-Z]{50,}"),
    token("render-key", &["rnd_"], r"rnd_[A-Za-z0-9]{28,}"),
    token("scalingo-token", &["tk-us-"], r"tk-us-[A-Za-z0-9_-]{48}"),
    token("openshift-token", &["sha256~"], r"sha256~[A-Za-z0-9_-]{43}"),
    token("databricks-token", &["dapi"], r"dapi[a-f0-9]{32}(?:-[0-9])?"),
    token("pulumi-token", &["pul-"], r"pul-[a-f0-9]{40}"),
    behind("terraform-token", &[".atlasv1."], &[14], r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}"),
    token("vault-token", &["hvs.", "hvb.", "hvr."], r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    token("doppler-token", &["dp."], r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,}"),
    token(
        "onepassword-key",
        &["ops_eyj", "a3-"],
        r"ops_eyJ[A-Za-z0-9+/_-]{100,}={0,3}|A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
    ),
    token("age-key", &["age-secret-key-"], r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    token("tailscale-key", &["tskey-"], r"tskey-[a-z]+-[A-Za-z0-9]+-[A-Za-z0-9]{16,}"),
    // Code and packages.
    token("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"gh[pousr]_[A-Za-z0-9]{36,}"),
    token("github-token", &["github_pat_"], r"github_pat_[A-Za-z0-9_]{22,}"),
    token(
        "gitlab-token",
        &[
            "glpat-",
            "gldt-",
            "glrt-",
            "glcbt-",
            "glptt-",
            "glft-",
            "glimt-",
            "glagent-",
            "gloas-",
            "glsoat-",
            "glffct-",
            "gr1348941",
        ],
        r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_.-]{20,}|GR1348941[A-Za-z0-9_-]{20,}",
    ),
    token("bitbucket-token", &["atbb", "atctt3"], r"ATBB[A-Za-z0-9]{32}|ATCTT3[A-Za-z0-9_=-]{60,}"),
    token("atlassian-token", &["atatt3"], r"ATATT3[A-Za-z0-9_=-]{100,}"),
    token("npm-token", &["npm_"], r"npm_[A-Za-z0-9]{36}"),
    token("pypi-token", &["pypi-age"], r"pypi-AgE[A-Za-z0-9_-]{50,}"),
    token("rubygems-key", &["rubygems_"], r"rubygems_[0-9a-f]{48}"),
    token("crates-io-token", &["cio"], r"cio[A-Za-z0-9]{32}"),
    token("nuget-key", &["oy2"], r"oy2[a-z0-9]{43}"),
    token("clojars-token", &["clojars_"], r"(?i-u:CLOJARS_)[a-z0-9]{60}"),
    token("artifactory-token", &["akcp", "cmvmd"], r"AKCp[A-Za-z0-9]{60,}|cmVmd[A-Za-z0-9]{59}"),
    token("docker-token", &["dckr_"], r"dckr_[po]at_[A-Za-z0-9_-]{27,}"),
    token("sourcegraph-token", &["sgp_"], r"sgp_(?:[a-fA-F0-9]{16}_|local_)?[a-fA-F0-9]{40}"),
    token("sonar-token", &["sqp_", "squ_", "sqa_"], r"sq[pua]_[a-f0-9]{40}"),
    token("buildkite-token", &["bkua_"], r"bkua_[a-f0-9]{40}"),
    token("circleci-token", &["ccipat_"], r"CCIPAT_[A-Za-z0-9]{22}_[a-f0-9]{40}"),
    token("octopus-key", &["api-"], r"API-[A-Z0-9]{26}"),
    // Services.
    token("postman-key", &["pmak-"], r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    token("sentry-token", &["sntry"], r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    token("grafana-token", &["glsa_", "glc_"], r"glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|glc_[A-Za-z0-9+/=]{32,}"),
    token("newrelic-key", &["nrak-", "nrii-", "nrjs-"], r"NRAK-[A-Z0-9]{27}|NRII-[A-Za-z0-9-]{32}|NRJS-[a-f0-9]{19}"),
    token("dynatrace-token", &["dt0c01."], r"dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    token("adafruit-key", &["aio_"], r"aio_[A-Za-z0-9]{28}"),
    token("clickhouse-key", &["4b1d"], r"4b1d[A-Za-z0-9]{38}"),
    token("defined-key", &["dnkey-"], r"dnkey-[A-Za-z0-9=_-]{26}-[A-Za-z0-9=_-]{52}"),
    token("grafana-token", &["eyjrijoi"], r"eyJrIjoi[A-Za-z0-9]{70,400}={0,3}"),
    token("harness-key", &["pat.", "sat."], r"[ps]at\.[A-Za-z0-9_-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}"),
    token("intra42-secret", &["s-s4t2"], r"s-s4t2(?:ud|af)-[a-f0-9]{64}"),
    token("infracost-key", &["ico-"], r"ico-[A-Za-z0-9]{32}"),
    token("lob-key", &["live_", "test_"], r"(?:live|test)_[a-f0-9]{35}"),
    token("mapbox-token", &["sk.eyj"], r"sk\.eyJ[A-Za-z0-9_-]{60,}\.[A-Za-z0-9_-]{22}"),
    token("yandex-key", &["t1."], r"t1\.[A-Za-z0-9_-]{16,}={0,2}\.[A-Za-z0-9_-]{86}={0,2}"),
    token("ubidots-key", &["bbff-"], r"BBFF-[A-Za-z0-9]{30}"),
    token("voiceflow-key", &["vf."], r"VF\.(?:[A-Z]{2}\.)?[a-f0-9]{24}\.[A-Za-z0-9]{16}"),
    token("apify-token", &["apify_api_"], r"apify_api_[A-Za-z0-9]{36}"),
    token("launchdarkly-key", &["sdk-"], r"sdk-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    token("posthog-key", &["phx_"], r"phx_[A-Za-z0-9]{40,}"),
    token("figma-token", &["figd_"], r"figd_[A-Za-z0-9_-]{36,}"),
    token("airtable-token", &["pat"], r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    token("hubspot-token", &["pat-"], r"pat-[a-z]{2}[0-9]-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    token("linear-key", &["lin_"], r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    token("notion-token", &["ntn_", "secret_"], r"ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}"),
    token("typeform-token", &["tfp_"], r"tfp_[A-Za-z0-9_.=-]{40,}"),
    token("readme-key", &["rdme_"], r"rdme_[a-z0-9]{70}"),
    token("prefect-key", &["pnu_"], r"pnu_[A-Za-z0-9]{36}"),
    token("contentful-token", &["cfpat-"], r"CFPAT-[A-Za-z0-9_-]{40,}"),
    token("adobe-secret", &["p8e-"], r"p8e-[A-Za-z0-9]{32}"),
    token("dropbox-token", &["sl."], r"sl\.[A-Za-z0-9_=-]{120,}"),
    token("frameio-token", &["fio-u-"], r"fio-u-[A-Za-z0-9_=-]{64}"),
    token("wakatime-key", &["waka_"], r"waka_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    token("zuplo-key", &["zpka_"], r"zpka_[A-Za-z0-9]{32}_[a-f0-9]{8}"),
    token("settlemint-token", &["sm_aat_", "sm_pat_", "sm_sat_"], r"sm_[aps]at_[A-Za-z0-9]{16}"),
    // Models.
    token("anthropic-key", &["sk-ant-"], r"sk-ant-[A-Za-z0-9_-]{20,}"),
    token("openrouter-key", &["sk-or-"], r"sk-or-v1-[0-9a-f]{40,}"),
    token("openai-key", &["sk-"], r"sk-(?:(?:proj|svcacct|admin|lf)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{32,})"),
    token("groq-key", &["gsk_"], r"gsk_[A-Za-z0-9]{40,}"),
    token("xai-key", &["xai-"], r"xai-[A-Za-z0-9]{60,}"),
    token("huggingface-token", &["hf_"], r"hf_[A-Za-z0-9]{30,}"),
    token("huggingface-token", &["api_org_"], r"api_org_[A-Za-z0-9]{34}"),
    token("replicate-token", &["r8_"], r"r8_[A-Za-z0-9]{37}"),
    token("perplexity-key", &["pplx-"], r"pplx-[A-Za-z0-9]{40,}"),
    token("nvidia-key", &["nvapi-"], r"nvapi-[A-Za-z0-9_-]{50,}"),
    token("langsmith-key", &["lsv2_"], r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    token("pinecone-key", &["pcsk_"], r"pcsk_[A-Za-z0-9]{5,8}_[A-Za-z0-9]{50,}"),
    token("tavily-key", &["tvly-"], r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{24,}"),
    token("e2b-key", &["e2b_"], r"e2b_[a-f0-9]{40}"),
    token("fireworks-key", &["fw_"], r"fw_[A-Za-z0-9]{22,24}"),
    // Messages and payments.
    token("slack-token", &["xox", "xapp-"], r"xox[a-z][.-][A-Za-z0-9.-]{10,}|xapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-z0-9]+"),
    behind("telegram-token", &[":aa"], &[13, 12, 11, 10, 9, 8], r"(?:bot)?[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    behind("stripe-key", &["k_live_", "k_test_", "k_prod_"], &[1], r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}"),
    token("stripe-key", &["whsec_"], r"whsec_[A-Za-z0-9+/=]{32,}"),
    token("twilio-key", &["sk"], r"SK[0-9a-f]{32}"),
    token("sendgrid-key", &["sg."], r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    token("sendinblue-key", &["xkeysib-"], r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    token("resend-key", &["re_"], r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"),
    token("mailgun-key", &["key-"], r"key-[0-9a-f]{32}"),
    behind("mailchimp-key", &["-us"], &[32], r"[0-9a-f]{32}-us[0-9]{1,2}"),
    token(
        "square-token",
        &["sq0atp-", "sq0csp-", "eaaa"],
        r"sq0(?:atp|csp)-[A-Za-z0-9_-]{22,60}|EAAA[A-Za-z0-9_-]{56,60}",
    ),
    token("facebook-token", &["eaac", "eaam"], r"EAA[CM][A-Za-z0-9]{100,}"),
    token("easypost-key", &["ezak", "eztk"], r"EZ[AT]K[A-Za-z0-9]{54}"),
    token("shippo-token", &["shippo_"], r"shippo_(?:live|test)_[a-fA-F0-9]{40}"),
    token("duffel-token", &["duffel_"], r"duffel_(?:test|live)_[A-Za-z0-9_=-]{43}"),
    token("flutterwave-key", &["flwseck"], r"FLWSECK(?:_TEST)?-[a-hA-H0-9]{12,32}(?:-X)?"),
    token(
        "plaid-token",
        &["access-"],
        r"access-(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    ),
    token("shopify-token", &["shp"], r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    behind("maxmind-key", &["_mmk"], &[36], r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    // Passwords as systems keep them.
    token(
        "password-hash",
        &["$1$", "$5$", "$6$", "$y$", "$2a$", "$2b$", "$2y$", "$apr1$", "$argon2"],
        r"\$(?:1|5|6|y|apr1|2[aby])\$[./A-Za-z0-9=$]{24,}|\$argon2(?:id|i|d)\$[./A-Za-z0-9=,$+]{40,}",
    ),
    // Signed and encrypted tokens of any issuer. The signature may be empty or cut off.
    token(
        "jwt",
        &["eyj"],
        concat!(
            r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
            r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{8,}){1,2}",
        ),
    ),
    token("django-key", &["django-insecure-"], r#"django-insecure-([^\s"']{20,})"#),
];

//! Secrets that are known by what stands before them: a name, an option, a header, a file's form.

use super::rules::{Check, Rule};

const fn value(name: &'static str, keywords: &'static [&'static str], pattern: &'static str, check: Check) -> Rule {
    Rule { name, keywords, before: &[0], pattern, check }
}

/// What may follow the telling part of a name: `DB_PASSWORD_PROD`, `SECRET_KEY_BASE`.
macro_rules! rest_of_name {
    () => {
        "(?i-u:[_-]?(?:base|prod|production|dev|development|test|staging|live|root|admin|user|main|old|new|value|text|[0-9]))?"
    };
}

/// From a name to the sign before its value: the end of quotes and brackets, a type.
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

/// A value that is not on the line of its name: a block of YAML, a variable of a container, an element.
macro_rules! apart {
    ($value:literal) => {
        concat!(
            // A block, or the next line.
            r#"["']?:[ \t]*(?:[|>][0-9+-]*)?[ \t]*\r?\n[ \t]+["']?("#,
            $value,
            r#"(?:\r?\n[ \t]+"#,
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

/// The telling part of names of passwords.
macro_rules! password {
    () => {
        "(?:(?i-u:passw(?:or)?d|passphrase|passwort|kennwort|contrasena|senha|mot de passe|pass|pwd|pw)|(?i:contraseña|пароль|密码))"
    };
}

/// The telling part of names of other secrets.
macro_rules! secret {
    () => {
        "(?i-u:secret|token|credentials?|key|salt)"
    };
}

const PASSWORD_NAMES: &[&str] =
    &["pass", "pwd", "pw", "kennwort", "contrase", "senha", "mot de passe", "пароль", "密码"];
const SECRET_NAMES: &[&str] = &["secret", "token", "credential", "key", "salt"];

/// The rules.
pub(super) const VALUES: &[Rule] = &[
    value("private-key", &["private key", "private-lines"], "", Check::PrivateKey),
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
    // Names and values. The names of passwords are common words, and so are short ones.
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
            r#"["'`]?([A-Za-z0-9._~+/=@!%^*#&()-]{16,}))"#,
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

//! The address under which a provider's methods lie.

use hyper::Uri;

/// An `http` or `https` address without user, password and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    uri: Uri,
}

impl BaseUrl {
    /// Reads an address; `None` if it is none, or holds a user or a password: those would show in
    /// errors.
    pub fn parse(text: &str) -> Option<Self> {
        let uri: Uri = text.parse().ok()?;
        let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
        let authority = uri.authority()?.as_str();
        let is_plain = !authority.contains('@') && uri.host().is_some_and(|host| !host.is_empty());
        (is_web && is_plain && !text.contains('#')).then_some(Self { uri })
    }

    /// Name or address of the host, in lower case.
    pub fn host(&self) -> String {
        self.uri.host().unwrap_or_default().to_lowercase()
    }

    /// Whether the path ends in `segment`, such as `/v1`.
    pub fn ends_with(&self, segment: &str) -> bool {
        self.path().ends_with(segment)
    }

    /// The address of `path` under this one, with `query` beside the query of this one.
    pub fn join(&self, path: &str, query: Option<&str>) -> Option<Uri> {
        let scheme = self.uri.scheme_str()?;
        let queries: Vec<&str> = self.uri.query().into_iter().chain(query).collect();
        let question = if queries.is_empty() { "" } else { "?" };
        let authority = self.uri.authority()?;
        format!("{scheme}://{authority}{}{path}{question}{}", self.path(), queries.join("&")).parse().ok()
    }

    fn path(&self) -> &str {
        self.uri.path().trim_end_matches('/')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_web_addresses_without_a_user() {
        for wrong in
            ["", "localhost", "localhost:1", "ftp://host/", "http://", "http://a:b@host/", "https://h/#x", "/v1"]
        {
            assert_eq!(BaseUrl::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn paths_are_joined_with_one_slash() {
        for (base, joined) in [
            ("http://host", "http://host/chat?a=1"),
            ("http://host:8080/", "http://host:8080/chat?a=1"),
            ("https://[::1]/v1/", "https://[::1]/v1/chat?a=1"),
            ("https://host/v1?v=2", "https://host/v1/chat?v=2&a=1"),
        ] {
            assert_eq!(BaseUrl::parse(base).unwrap().join("/chat", Some("a=1")).unwrap().to_string(), joined);
        }
    }
}

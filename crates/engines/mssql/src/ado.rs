//! Connection strings as ADO.NET has them: `Server=tcp:host,1433;Database=sales;User Id=ann;Password=...`.

use plimsoll_engine::{Error, ErrorKind, Pairs, Result};

use super::wire::Endpoint;

/// The keys of such a string that name the server or hold no secret.
pub(super) const PAIRS: Pairs = Pairs {
    server: &["server", "datasource", "address", "addr", "networkaddress"],
    shown: "applicationintent authentication commandtimeout connecttimeout connectiontimeout database encrypt \
            hostnameincertificate initialcatalog multisubnetfailover packetsize trustservercertificate uid user userid",
};

fn usage(message: &str) -> Error {
    Error::new(ErrorKind::Usage, message)
        .hint("write Server=host,port;Database=name;User Id=user;Password=..., a value with ';' in double quotes")
}

/// The keys and values in their order; of a key that occurs twice the last counts. Values may be in quotes, where a quote is
/// written twice.
pub(super) fn pairs(text: &str) -> Result<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
        if rest.is_empty() {
            return Ok(pairs);
        }
        let (key, after) = rest.split_once('=').ok_or_else(|| usage("a part of the connection string has no value"))?;
        let (value, behind) = value(after.trim_start())?;
        pairs.push((key.trim().to_owned(), value));
        rest = behind;
    }
}

/// A value, and what stands behind it.
fn value(text: &str) -> Result<(String, &str)> {
    let Some(quote) = text.chars().next().filter(|c| ['"', '\''].contains(c)) else {
        let end = text.find(';').unwrap_or(text.len());
        return Ok((text[..end].trim_end().to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut rest = &text[1..];
    loop {
        let end = rest.find(quote).ok_or_else(|| usage("a quote in the connection string is not closed"))?;
        value.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        let Some(more) = rest.strip_prefix(quote) else { break };
        value.push(quote);
        rest = more;
    }
    if rest.trim_start().is_empty() || rest.trim_start().starts_with(';') {
        Ok((value, rest))
    } else {
        Err(usage("something follows a quoted value of the connection string"))
    }
}

/// A server as these strings name it: `tcp:host\INSTANCE,port`, where all but the host may be missing.
pub(super) fn server(text: &str) -> Result<Endpoint> {
    let text = text.trim();
    let text = text.strip_prefix("tcp:").or_else(|| text.strip_prefix("TCP:")).unwrap_or(text);
    // A path of a pipe or a name of another protocol may be anything, so it is not repeated.
    if text.starts_with("\\\\")
        || ["np:", "lpc:", "admin:"].iter().any(|way| text.to_ascii_lowercase().starts_with(way))
    {
        return Err(Error::new(ErrorKind::Unsupported, "only TCP is supported as a way to the server")
            .hint("write Server=tcp:host,port"));
    }
    let (name, port) = text.split_once(',').map_or((text, None), |(name, port)| (name, Some(port.trim())));
    let port = port
        .map(str::parse)
        .transpose()
        .map_err(|_| usage("the port behind the server's name is not a number from 1 to 65535"))?;
    let (host, instance) = name.split_once('\\').map_or((name, None), |(host, instance)| (host, Some(instance)));
    let host = match host.trim() {
        "" | "." | "(local)" => "localhost",
        // As URLs have it; an address of IPv6 has more colons.
        host if host.matches(':').count() == 1 => {
            return Err(usage("a ':' stands in the server's name; its port comes behind a comma"));
        }
        host => host,
    };
    let instance = instance.map(str::trim).filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("mssqlserver"));
    Ok(Endpoint { host: host.to_owned(), port, instance: instance.map(str::to_owned) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, String)> {
        pairs(text).unwrap()
    }

    #[test]
    fn values_may_be_quoted() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            read("Server = tcp:h,7 ; User Id=a b;Password=\"x;'y\"\"z\" ;;Database='d''1'; "),
            [pair("Server", "tcp:h,7"), pair("User Id", "a b"), pair("Password", "x;'y\"z"), pair("Database", "d'1"),]
        );
        for bad in ["Server=h;Password=\"x", "Server=h;Password=\"x\"y", "Server=h;Database"] {
            assert_eq!(pairs(bad).unwrap_err().kind, ErrorKind::Usage, "{bad}");
        }
    }

    #[test]
    fn servers_have_ports_or_instances() {
        let endpoint = |host: &str, port, instance: Option<&str>| Endpoint {
            host: host.to_owned(),
            port,
            instance: instance.map(str::to_owned),
        };
        for (text, expected) in [
            ("tcp:h.example,1434", endpoint("h.example", Some(1434), None)),
            ("h\\SQL2022", endpoint("h", None, Some("SQL2022"))),
            ("(local)", endpoint("localhost", None, None)),
            (".\\MSSQLSERVER", endpoint("localhost", None, None)),
            ("h\\I, 7", endpoint("h", Some(7), Some("I"))),
        ] {
            assert_eq!(server(text).unwrap(), expected, "{text}");
        }
        assert_eq!(server("np:\\\\h\\pipe").unwrap_err().kind, ErrorKind::Unsupported);
        for bad in ["h,x", "h:1433", "tcp:h:1433,7"] {
            assert_eq!(server(bad).unwrap_err().kind, ErrorKind::Usage, "{bad}");
        }
        assert_eq!(server("::1,7").unwrap(), endpoint("::1", Some(7), None));
    }
}

//! Secrets in URLs, and in texts that look like them.

use super::*;
use crate::error::{ErrorKind, Result};
use crate::target::Target;
use proptest::prelude::*;

const NOTATIONS: [Notation; 3] = [
    Notation { schemes: &["sqlite", "lab"], is_path: true, shown: "cache_size", pairs: None },
    Notation { schemes: &["postgres"], is_path: false, shown: "passfile sslmode user", pairs: None },
    Notation {
        schemes: &["mssql"],
        is_path: false,
        shown: "encrypt",
        pairs: Some(Pairs { server: &["server", "datasource"], shown: "database encrypt initialcatalog userid" }),
    },
];

fn parse(url: &str) -> Result<Target> {
    register(NOTATIONS.to_vec());
    Target::parse(url)
}

fn shown(url: &str) -> String {
    parse(url).unwrap().display().to_owned()
}

#[test]
fn a_name_from_elsewhere_shows_nothing_behind_a_word_for_a_secret() {
    for (name, shown) in [
        ("//srv/share,username=u,password=S3cretPwd", "//srv/share,username=u,password=***"),
        ("AccountName=x;AccountKey=S3cretPwd==", "AccountName=x;AccountKey=***"),
        ("PASSWORD = \"S3cretPwd\"", "PASSWORD =***"),
        ("Server=h;Pasword=S3cretPwd", "Server=h;Pasword=***"),
        ("host=x password='S3cret Pwd' user=y", "host=x password=***"),
        ("smb://h/x#pw=S3cretPwd", "smb://h/x#pw=***"),
        ("mount -o username=u,password=S3cretPwd //h/x", "mount -o username=u,password=***"),
        ("\"password\": \"S3cretPwd\"", "\"password\":***"),
        ("postgres://u:S3cretPwd@h/db", "postgres://u:***@h/db"),
        ("e:\\testfile.dat", "e:\\testfile.dat"),
        ("random reads, 8 KiB: t=4", "random reads, 8 KiB: t=4"),
    ] {
        assert_eq!(mask_name(name), shown);
    }
}

#[test]
fn passwords_are_hidden_wherever_they_stand() {
    assert_eq!(shown("postgres://u:s3cret@h:5432/db?sslmode=require"), "postgres://u:***@h:5432/db?sslmode=require");
    assert_eq!(shown("postgres://h/db?user=u&password=s3cret"), "postgres://h/db?user=u&password=***");
    assert_eq!(shown("postgres://u:p/a@ss@h/db"), "postgres://u:***@h/db");
    assert_eq!(shown("postgres://u@h/db?passfile=/home/u/.pgpass"), "postgres://u@h/db?passfile=/home/u/.pgpass");
    assert_eq!(shown("sqlite:some dir/file.db"), "sqlite:some dir/file.db");
    let target = parse("postgres://u:s3cret@h/db").unwrap();
    assert!(!format!("{target:?}").contains("s3cret"));
    assert!(target.has_inline_password() && !parse("postgres://u@h/db").unwrap().has_inline_password());
}

#[test]
fn too_much_is_hidden_rather_than_too_little() {
    for (url, expected) in [
        ("postgres://h/db?password=pa@ss", "postgres://h/db?***"),
        ("postgres://u:x@h/db?password=a@bc", "postgres://u:***"),
        ("postgres://u:pa?ss@h/db", "postgres://u:***"),
        ("postgres://u%3Asecret@h/db", "postgres://u:***@h/db"),
        ("postgres://u:secret/db", "postgres://u:***"),
        ("postgres://:secret@h/db", "postgres://:***@h/db"),
        ("postgres:u:secret@h/db", "postgres:***"),
        ("postgres:/u:secret@h/db", "postgres:***"),
        ("postgres://h/db?p%61ssword=secret", "postgres://h/db?***"),
        ("postgres://h/db?password=se&cret&sslmode=require", "postgres://h/db?password=***&***&sslmode=require"),
        ("sqlite:file.db?password=secret", "sqlite:file.db?password=***"),
    ] {
        let target = parse(url).unwrap();
        assert_eq!(target.display(), expected);
        assert!(target.has_inline_password(), "{url}");
    }
}

#[test]
fn what_holds_no_password_is_shown_as_it_is() {
    for url in [
        "postgres://us%40er@h1:5432,[::1]:7,h2/my%20db?sslmode=require&user=u",
        "postgres://u@/d?host=/tmp/x&port=6000",
        "postgres://:5433/d",
        "sqlite:///home/a:b@c/file.db?cache_size=-64",
        "SQLite:C:/x@y",
        "lab:azure-sql-db/S2@v12-ga-2015-01?clock=real&scale=1/16",
    ] {
        let target = parse(url).unwrap();
        assert_eq!(target.display(), url);
        assert!(!target.has_inline_password(), "{url}");
    }
}

#[test]
fn passwords_in_a_text_are_hidden() {
    register(NOTATIONS.to_vec());
    for (text, expected) in [
        ("unknown word 'postgres://u:pw@h/db'", "unknown word 'postgres://u:***@h/db'"),
        ("(postgres://u:my pass word@h/db) is  bad", "(postgres://u:***@h/db) is  bad"),
        ("--target=postgres://h/db?password=pa@ss, or", "--target=postgres://h/db?***, or"),
        ("postgres:u:secret@h/db", "postgres:***"),
        ("see ?sslmode=require&password=x and PGPASSWORD=y", "see ?sslmode=require&password=*** and PGPASSWORD=***"),
        ("a line\n\tand at 12:30 x=1: sqlite:f.db", "a line\n\tand at 12:30 x=1: sqlite:f.db"),
        ("postgres://h:5432/db: refused", "postgres://h:5432/db: refused"),
        (
            "cannot use host=h user=u password='x \\' y & z' port=1: no",
            "cannot use host=h user=u password=*** port=1: no",
        ),
        ("no test 'host=h password='x y'', known", "no test 'host=h password=***', known"),
        ("password=\"never ends & so on", "password=***"),
    ] {
        assert_eq!(mask_urls(text), expected);
    }
}

#[test]
fn connection_strings_are_targets_too() {
    for (text, expected) in [
        (
            "Server=tcp:h.example,1433;Database=d;User Id=ann;Password=s3cret;Encrypt=true",
            "Server=tcp:h.example,1433;Database=d;User Id=ann;Password=***;Encrypt=true",
        ),
        ("Data Source=h\\I;PWD=\"a;Server=b\";Initial Catalog=d", "Data Source=h\\I;PWD=***;***;Initial Catalog=d"),
        ("Password=a;b=c;Server=h", "Password=***;***;Server=h"),
        ("Server=h;Database=d", "Server=h;Database=d"),
    ] {
        let target = parse(text).unwrap();
        assert_eq!((target.scheme.as_str(), target.display()), ("mssql", expected));
        assert_eq!(target.has_inline_password(), expected.contains("***"), "{text}");
    }
    assert_eq!(
        mask_urls("no such 'Server=h;User Id=u;Password=my pass;word' here"),
        "no such 'Server=h;User Id=u;Password=***"
    );
}

#[test]
fn what_is_no_url_is_refused_without_repeating_it() {
    for bad in ["", "file.db", ":x", "sqlite:", "a b:c"] {
        let error = parse(bad).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Usage);
    }
}

/// URLs with a password in each of the places where one may stand. None of their own words is in upper case.
fn planted(password: &str) -> Vec<String> {
    [
        "postgres://us:PW@h:54/d",
        "postgres://us:PW@h/d?sslmode=require",
        "postgres://us:PW@h/d?password=PW",
        "postgres://us:PW@h/d?user=us&password=PW&sslmode=require",
        "postgres://us:BARE",
        "postgres:us:PW@h/d",
        "postgres://h/d?password=PW",
        "postgres://us@h:54/d?user=us&sslpassword=PW&sslmode=require",
        "postgres://h/d?p%61ssword=PW",
        "mysql://us:PW@[::5]:54,h2/d",
        "sqlite:x?token=PW",
        "mssql://us:PW@h:54/d?encrypt=strict",
        "mssql://h/d?user=us&password=PW&encrypt=strict",
        "Server=h,54;User Id=us;Password=PW;Encrypt=strict",
        "Server=h;Pwd=\"PW\"",
        "Password=PW;Data Source=h",
    ]
    // Without the host's '@', one in the password could be it.
    .map(|url| url.replace("PW", password).replace("BARE", &password.replace('@', "")))
    .to_vec()
}

proptest! {
    /// Not even a piece of four characters of a password is shown, whatever it holds unescaped.
    #[test]
    fn no_piece_of_a_password_survives(password in "[A-Z/?@:#%&=;.,)]{4,20}") {
        for url in planted(&password) {
            let target = parse(&url).unwrap();
            prop_assert!(target.has_inline_password(), "{}", url);
            let message = mask_urls(&format!("no such '{url}'"));
            for at in 0..=password.len() - 4 {
                let piece = &password[at..at + 4];
                prop_assert!(!target.display().contains(piece), "{} of {}", target.display(), url);
                prop_assert!(!message.contains(piece), "{} of {}", message, url);
            }
        }
    }

    #[test]
    fn a_text_without_urls_stays(text in "[a-z '().,0-9\n]{0,60}") {
        prop_assert_eq!(mask_urls(&text), text);
    }

    #[test]
    fn parsing_never_panics(text in "\\PC{0,60}") {
        let _ = parse(&text);
        let _ = mask_urls(&text);
    }

    #[test]
    fn hiding_never_panics(text in "[a@:/?&=%3 é'\\[\\],]{0,40}") {
        let _ = parse(&format!("postgres:{text}"));
        let _ = mask_urls(&text);
    }
}

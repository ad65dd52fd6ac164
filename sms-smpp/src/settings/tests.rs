use std::collections::BTreeMap;

use super::*;

fn read(settings: &[(&str, &str)]) -> Result<RouteSettings, BadSetting> {
    let mut variables: BTreeMap<String, String> = BTreeMap::from([
        ("SMS_ROUTE_MAIN_URL".to_owned(), "smpp://example@smsc.example.com".to_owned()),
        ("SMS_ROUTE_MAIN_PASSWORD".to_owned(), "secret".to_owned()),
    ]);
    for (setting, value) in settings {
        variables.insert(format!("SMS_ROUTE_MAIN_{setting}"), (*value).to_owned());
    }
    RouteSettings::read("main", &|name| variables.get(name).cloned())
}

#[test]
fn url_and_password_are_enough() {
    let settings = read(&[]).unwrap();
    assert_eq!(settings.peer.to_string(), "smpp://smsc.example.com:2775");
    assert_eq!(settings.bind.system_id, "example");
    assert_eq!(settings.bind.version, 0x34);
    assert_eq!((settings.binds, settings.window), (Binds::Transceivers(1), 10));
    assert_eq!((settings.rate, settings.unanswered), (None, Unanswered::Again));
    assert_eq!(settings.failover, Duration::from_mins(1));
}

#[test]
fn every_setting_is_read() {
    let settings = read(&[
        ("URL", "smpps://example@[::1]:3551/"),
        ("SYSTEM_TYPE", "VMA"),
        ("VERSION", "5.0"),
        ("BIND", "separate"),
        ("BINDS", "2"),
        ("WINDOW", "100"),
        ("RATE", "250"),
        ("LONG_TEXTS", "sar"),
        ("GSM7", "packed"),
        ("IDS", "hex-decimal"),
        ("UNANSWERED", "undelivered"),
        ("PATIENCE", "10s"),
        ("IDLE", "500ms"),
        ("FAILOVER", "2m"),
    ]);
    let settings = settings.unwrap();
    let peer = Peer { host: "::1".to_owned(), port: 3551, transport: Transport::Tls };
    assert_eq!(settings.peer, peer);
    assert_eq!((settings.bind.system_type.as_str(), settings.bind.version), ("VMA", 0x50));
    assert_eq!((settings.binds, settings.window), (Binds::Separate(2), 100));
    assert_eq!((settings.rate, settings.ids), (Some(250), IdForm::HexThenDecimal));
    let style = Style { long_texts: LongTexts::Sar, septets: Septets::Packed };
    assert_eq!((settings.style, settings.unanswered), (style, Unanswered::Undelivered));
    let times = [settings.patience, settings.idle, settings.failover];
    assert_eq!(times.map(|time| time.as_millis()), [10_000, 500, 120_000]);
}

#[test]
fn a_setting_that_cannot_be_is_named_and_its_value_is_not() {
    for (setting, value) in [
        ("URL", ""),
        ("URL", "http://example@smsc.example.com"),
        ("URL", "smpp://smsc.example.com"),
        ("URL", "smpp://example:secret@smsc.example.com"),
        ("URL", "smpp://example@:2775"),
        ("URL", "smpp://example@host:port"),
        ("URL", "smpp://a-name-of-sixteen@smsc.example.com"),
        ("PASSWORD", "longer-than-8"),
        ("VERSION", "3.3"),
        ("BIND", "both"),
        ("BINDS", "0"),
        ("BINDS", "17"),
        ("WINDOW", "1001"),
        ("RATE", "0"),
        ("LONG_TEXTS", "udh"),
        ("GSM7", "7bit"),
        ("IDS", "hex"),
        ("UNANSWERED", "drop"),
        ("PATIENCE", "30"),
        ("IDLE", "11m"),
        ("FAILOVER", "99ms"),
        ("SYSTEM_TYPE", "thirteen-char"),
    ] {
        let refused = read(&[(setting, value)]).unwrap_err();
        assert_eq!(refused.variable, format!("SMS_ROUTE_MAIN_{setting}"), "{value}");
        let told = refused.to_string();
        assert!(!told.contains("secret") && !told.contains("longer-than-8"), "{told}");
    }
}

#[test]
fn a_password_may_come_from_a_file() {
    let path = std::env::temp_dir().join(format!("sms-smpp-password-{}", std::process::id()));
    std::fs::write(&path, "secret\n").unwrap();
    let file = path.display().to_string();
    let settings = read(&[("PASSWORD", ""), ("PASSWORD_FILE", &file)]).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(settings.bind.password, "secret");
    let refused = read(&[("PASSWORD", ""), ("PASSWORD_FILE", &file)]).unwrap_err();
    assert_eq!(refused.to_string(), "SMS_ROUTE_MAIN_PASSWORD_FILE: cannot be read");
    assert!(!format!("{settings:?}").contains("secret"));
}

#[test]
fn a_file_of_authorities_that_is_missing_empty_or_broken_is_told_at_once() {
    let path = std::env::temp_dir().join(format!("sms-smpp-ca-{}.pem", std::process::id()));
    let file = path.display().to_string();
    let over_tls = ("URL", "smpps://example@smsc.example.com");
    let told = |settings: &[(&str, &str)]| read(settings).unwrap_err().to_string();
    let missing = told(&[over_tls, ("CA_FILE", &file)]);
    assert_eq!(missing, "SMS_ROUTE_MAIN_CA_FILE: cannot be read");
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (content, problem) in [
        ("", "holds no certificate in PEM"),
        ("no certificate", "holds no certificate in PEM"),
        (broken, "holds a certificate that cannot be read"),
        (&broken[..40], "holds a certificate that cannot be read"),
    ] {
        std::fs::write(&path, content).unwrap();
        let told = told(&[over_tls, ("CA_FILE", &file)]);
        assert_eq!(told, format!("SMS_ROUTE_MAIN_CA_FILE: {problem}"), "{content}");
    }
    std::fs::remove_file(&path).unwrap();
    let plain = told(&[("CA_FILE", &file)]);
    assert_eq!(plain, "SMS_ROUTE_MAIN_CA_FILE: is of use with smpps:// only");
}

#[test]
fn a_route_has_variables_of_its_own() {
    assert_eq!(prefix("main"), "SMS_ROUTE_MAIN_");
    assert_eq!(prefix("backup-2"), "SMS_ROUTE_BACKUP_2_");
}

use super::*;

const URL: &str = "smpp://example@smsc.example.com";

fn settings() -> RouteSettings {
    RouteSettings::new(URL, "secret").unwrap()
}

#[test]
fn url_and_password_are_enough() {
    let settings = settings();
    assert_eq!(settings.peer().to_string(), "smpp://smsc.example.com:2775");
    assert_eq!(settings.bind.system_id, "example");
    assert_eq!(settings.bind.version, 0x34);
    assert_eq!((settings.binds, settings.window), (Binds::Transceivers(1), 10));
    assert_eq!((settings.rate, settings.unanswered), (None, Unanswered::Again));
    let times = [settings.patience, settings.idle, settings.failover];
    assert_eq!(times.map(|time| time.as_secs()), [30, 30, 60]);
}

#[test]
fn a_url_has_a_system_id_a_host_and_optionally_a_port() {
    let settings = RouteSettings::new("smpps://example@[::1]:3551/", "secret").unwrap();
    let peer = Peer { host: "::1".to_owned(), port: 3551, transport: Transport::Tls };
    assert_eq!(settings.peer(), &peer);
    for (url, bad) in [
        ("", BadUrl::Form),
        ("http://example@smsc.example.com", BadUrl::Form),
        ("smpp://smsc.example.com", BadUrl::SystemIdMissing),
        ("smpp://example:secret@smsc.example.com", BadUrl::Password),
        ("smpp://example@:2775", BadUrl::Form),
        ("smpp://example@host:port", BadUrl::Form),
        ("smpp://a-name-of-sixteen@smsc.example.com", BadUrl::SystemIdLength),
        ("smpp://@smsc.example.com", BadUrl::SystemIdLength),
    ] {
        let refused = RouteSettings::new(url, "secret").unwrap_err();
        assert_eq!(refused, InvalidSetting::Url(bad), "{url}");
        assert!(!refused.to_string().contains("secret"), "{refused}");
    }
}

#[test]
fn limits_are_inclusive_and_anything_beyond_is_refused() {
    use InvalidSetting as I;
    for password in ["", "longer-th", "nul\0"] {
        assert_eq!(RouteSettings::new(URL, password), Err(I::Password));
    }
    let time = Duration::from_millis;
    for (range, refused) in [
        ([0, 17].map(|n| settings().binds(Binds::Transceivers(n))), I::Binds),
        ([0, 17].map(|n| settings().binds(Binds::Separate(n))), I::Binds),
        ([0, 1_001].map(|n| settings().window(n)), I::Window),
        ([0, 100_001].map(|n| settings().rate(n)), I::Rate),
        (["thirteen-char", "nul\0"].map(|it| settings().system_type(it)), I::SystemType),
        ([99, 600_001].map(|n| settings().response_timeout(time(n))), I::Timeout),
        ([99, 600_001].map(|n| settings().idle(time(n))), I::Timeout),
        ([99, 600_001].map(|n| settings().failover(time(n))), I::Timeout),
    ] {
        assert_eq!(range, [Err(refused), Err(refused)]);
    }
    let within = || -> Result<(), InvalidSetting> {
        for n in [1, 16] {
            let _ = settings().binds(Binds::Transceivers(n))?.binds(Binds::Separate(n))?;
        }
        let _ = settings().window(1)?.window(1_000)?.rate(1)?.rate(100_000)?;
        for n in [100, 600_000] {
            let _ = settings().response_timeout(time(n))?.idle(time(n))?.failover(time(n))?;
        }
        Ok(())
    };
    assert_eq!(within(), Ok(()));
}

#[test]
fn certificate_authorities_need_tls() {
    let refused = settings().roots(Roots::public());
    assert_eq!(refused, Err(InvalidSetting::RootsWithoutTls));
    let over_tls = RouteSettings::new("smpps://example@smsc.example.com", "secret").unwrap();
    assert!(over_tls.roots(Roots::public()).is_ok());
}

#[test]
fn debug_output_shows_no_password() {
    assert!(!format!("{:?}", settings()).contains("secret"));
}

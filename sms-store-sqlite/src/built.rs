//! How SQLite was built: what is too old is refused, and what costs time is logged. The store works
//! with every SQLite that passes. Its connections take no mutexes (`open::connect`), whichever mode
//! of threads SQLite was built for; `rusqlite` refuses one that was built for a single thread.

/// Earlier versions of SQLite may corrupt a log that two connections restart at once.
const OLDEST: i32 = 3_051_003;

/// The flag with which SQLite syncs by `fdatasync`, in what the build of `libsqlite3-sys` reads.
const FDATASYNC: &str = "-DHAVE_FDATASYNC=1";
/// The flags that SQLite was built with, if the program contains its own.
const FLAGS: Option<&str> = option_env!("LIBSQLITE3_FLAGS");

/// Why the store cannot use a version of SQLite.
pub(crate) fn refusal(version: i32) -> Option<String> {
    let name = |version: i32| {
        format!("{}.{}.{}", version / 1_000_000, version / 1_000 % 1_000, version % 1_000)
    };
    if version >= OLDEST {
        return None;
    }
    Some(format!(
        "SQLite {} may damage files: build this program with SQLite {} or newer",
        name(version),
        name(OLDEST)
    ))
}

/// Logs what the build of SQLite lacks.
pub(crate) fn log() {
    if let Some(advice) = advice(FLAGS, std::env::consts::OS) {
        tracing::warn!("{advice}");
    }
}

/// What to change in the build, for this system.
fn advice(flags: Option<&str>, system: &str) -> Option<&'static str> {
    let is_set = flags.is_some_and(|flags| flags.split_whitespace().any(|flag| flag == FDATASYNC));
    if is_set || system != "linux" {
        return None;
    }
    Some(
        "SQLite was built without fdatasync, so it flushes the disk about twice as often: build \
         this program with LIBSQLITE3_FLAGS=-DHAVE_FDATASYNC=1 in the environment",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_may_damage_files_is_refused() {
        let too_old = "SQLite 3.51.2 may damage files: build this program with SQLite 3.51.3 or \
                       newer";
        for (version, refused) in [
            (3_051_002, Some(too_old)),
            (3_051_003, None),
            (3_052_000, None),
            (rusqlite::version_number(), None),
        ] {
            assert_eq!(refusal(version).as_deref(), refused, "{version}");
        }
    }

    #[test]
    fn a_build_without_fdatasync_is_named_where_it_costs_time() {
        for (flags, system, is_named) in [
            (None, "linux", true),
            (Some(""), "linux", true),
            (Some("-DSQLITE_DQS=0 -DHAVE_FDATASYNC=0"), "linux", true),
            (Some("-DHAVE_FDATASYNC=1"), "linux", false),
            (Some("-DSQLITE_DQS=0  -DHAVE_FDATASYNC=1"), "linux", false),
            // Syncs with `F_FULLFSYNC`.
            (None, "macos", false),
            (None, "windows", false),
        ] {
            assert_eq!(advice(flags, system).is_some(), is_named, "{flags:?} on {system}");
        }
    }

    #[test]
    fn a_sqlite_for_one_thread_is_refused_in_words() {
        let error = crate::open::explain(
            std::path::Path::new("sms.db"),
            rusqlite::Error::SqliteSingleThreadedMode,
        );
        assert_eq!(
            error.to_string(),
            "SQLite could not open sms.db: SQLite was compiled or configured for single-threaded \
             use only"
        );
    }
}

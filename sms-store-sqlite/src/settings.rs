//! How a store uses its file and the machine.

/// How a store uses its file and the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqliteSettings {
    /// How many threads read pages and search, at least 1. Default 4.
    pub readers: usize,
    /// The memory that the writer keeps pages in, in bytes. Default 12 MiB.
    pub writer_cache: usize,
    /// The memory that each reader keeps pages in, in bytes. Default 2 MiB.
    pub reader_cache: usize,
    /// After how many pages of 4 KiB the log is written back to the file. Default 1,000. 0 leaves
    /// it to another program, such as Litestream.
    pub checkpoint_pages: u32,
    /// Up to how many contacts a list is launched in one transaction. A longer one is staged in
    /// portions, so that it holds nobody up. Default 500.
    pub launch_at_once: u64,
    /// Up to how many rows of contacts are imported in one transaction. More take effect in
    /// portions, so that they hold nobody up. Default 200.
    pub import_at_once: usize,
}

impl Default for SqliteSettings {
    fn default() -> Self {
        Self {
            readers: 4,
            writer_cache: 12 << 20,
            reader_cache: 2 << 20,
            checkpoint_pages: 1_000,
            launch_at_once: 500,
            import_at_once: 200,
        }
    }
}

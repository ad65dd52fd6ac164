//! Which file of a crate imports which: read from the source, tests left out.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Ident, Item, ItemUse, UseTree, Visibility};

/// For each file, by its path below `src`, the files whose items it names.
pub(super) type Imports = BTreeMap<String, BTreeSet<String>>;

/// A path such as `crate::phone::E164`, in pieces.
type Pieces = Vec<String>;

/// What a file says, as far as imports go.
#[derive(Default)]
struct Module {
    file: String,
    /// `use` items: what each brings in, under which name, and whether it only passes it on.
    uses: Vec<Use>,
    /// Every path outside of them; a name that stands alone is a path as well.
    paths: Vec<Pieces>,
}

struct Use {
    path: Pieces,
    name: String,
    is_public: bool,
}

/// Modules by their path from the root, whose own is empty.
struct Modules(BTreeMap<Pieces, Module>);

/// Reads a crate from its root, `lib.rs` or `main.rs`. `source` finds a file below `src`.
///
/// What counts as an import:
///
/// - A file imports the file that *defines* an item, wherever the item was passed on from.
/// - `mod child;` and `pub use child::Item` import nothing: a module only shows what is below it.
///   A `pub use` whose name the file needs for its own code does import, as does any glob.
/// - `use super::Item` imports the parent, like any other file.
pub(super) fn imports(root: &str, source: &dyn Fn(&str) -> Option<String>) -> Imports {
    let modules = Modules::of(root, source);
    modules.by_file(|path| modules.imported_by(path))
}

/// Reads a crate in the same way, by the paths that a reader follows:
///
/// - A file imports the file of the module that a path *names*, even if that only passes the item
///   on from another.
/// - `pub use child::Item` imports the child; `mod child;` imports nothing.
/// - Where `use` brings in a module, a path that begins with its name goes on from there.
pub(super) fn imports_by_path(root: &str, source: &dyn Fn(&str) -> Option<String>) -> Imports {
    let modules = Modules::of(root, source);
    modules.by_file(|path| modules.named_by(path))
}

impl Modules {
    fn of(root: &str, source: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut modules = Self(BTreeMap::new());
        modules.read(root, &[], source);
        modules
    }

    fn by_file(&self, imported: impl Fn(&[String]) -> BTreeSet<String>) -> Imports {
        self.0.iter().map(|(path, module)| (module.file.clone(), imported(path))).collect()
    }

    fn read(&mut self, file: &str, path: &[String], source: &dyn Fn(&str) -> Option<String>) {
        let text = source(file).unwrap_or_else(|| panic!("{file} is there"));
        let syntax = syn::parse_file(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        for item in syntax.items {
            if is_for_tests(&item) {
                continue;
            }
            match item {
                Item::Mod(child) if child.content.is_none() => {
                    let child: Pieces = [path, &[child.ident.to_string()]].concat();
                    let (flat, nested) = (child.join("/") + ".rs", child.join("/") + "/mod.rs");
                    let file = if source(&flat).is_some() { flat } else { nested };
                    self.read(&file, &child, source);
                }
                Item::Use(item) => module.uses.extend(uses(&item)),
                other => read_paths(other.to_token_stream(), &[], &mut module.paths),
            }
        }
        self.0.insert(path.to_vec(), module);
    }

    fn imported_by(&self, path: &[String]) -> BTreeSet<String> {
        let module = &self.0[path];
        let used: HashSet<&String> = module.paths.iter().filter_map(|path| path.first()).collect();
        let imported = module
            .uses
            .iter()
            .filter(|item| !item.is_public || item.name == "*" || used.contains(&item.name))
            .map(|item| &item.path);
        imported
            .chain(&module.paths)
            .filter_map(|pieces| self.defining(path, pieces, 0))
            .map(|definer| self.0[&definer].file.clone())
            .filter(|file| *file != module.file)
            .collect()
    }

    fn named_by(&self, path: &[String]) -> BTreeSet<String> {
        let module = &self.0[path];
        let file = |named: (Pieces, &[String])| self.0[&named.0].file.clone();
        let brought_in =
            module.uses.iter().filter_map(|item| self.named(path, &item.path).map(file));
        let written_out = module.paths.iter().filter_map(|pieces| {
            let begins = module.uses.iter().find(|item| item.name == pieces[0]);
            let begin = begins.map_or(&pieces[..1], |item| &item.path);
            let whole = [begin, &pieces[1..]].concat();
            // `pub(in crate::noun)` names a module and nothing in it.
            self.named(path, &whole).filter(|(_, rest)| !rest.is_empty()).map(file)
        });
        brought_in.chain(written_out).filter(|file| *file != module.file).collect()
    }

    /// The module that a path names, seen from the module `from`, and what it names in there.
    /// `None` if it names none.
    fn named<'a>(&self, from: &[String], path: &'a [String]) -> Option<(Pieces, &'a [String])> {
        let (mut module, mut rest) = match path.first()?.as_str() {
            "crate" => (Pieces::new(), &path[1..]),
            "self" => (from.to_vec(), &path[1..]),
            "super" => {
                let up = path.iter().take_while(|piece| *piece == "super").count();
                (from[..from.len().checked_sub(up)?].to_vec(), &path[up..])
            }
            _ => (from.to_vec(), path),
        };
        let child = |module: &Pieces, rest: &[String]| {
            let child = [&module[..], rest.get(..1)?].concat();
            self.0.contains_key(&child).then_some(child)
        };
        while let Some(deeper) = child(&module, rest) {
            (module, rest) = (deeper, &rest[1..]);
        }
        // A name that stands alone and is not brought in is of this file, or of the prelude.
        (rest.len() < path.len()).then_some((module, rest))
    }

    /// The module that defines the item that a path names, seen from the module `from`. `None` if
    /// the path names a module, or something of another crate.
    fn defining(&self, from: &[String], path: &[String], passed_on: usize) -> Option<Pieces> {
        let named = self.named(from, path);
        let (module, rest) = named.clone().unwrap_or_else(|| (from.to_vec(), path));
        let name = rest.first()?;
        if let Some(item) = self.0.get(&module)?.uses.iter().find(|item| item.name == *name) {
            let onward = [&item.path[..], &rest[1..]].concat();
            // `use name::name` of another crate leads back here.
            return (passed_on < 10).then(|| self.defining(&module, &onward, passed_on + 1))?;
        }
        named.map(|(module, _)| module)
    }
}

/// Whether only tests have the item.
fn is_for_tests(item: &Item) -> bool {
    let attributes = match item {
        Item::Mod(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Const(item) => &item.attrs,
        _ => return false,
    };
    let asks_for_test = |attribute: &Attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<Ident>().is_ok_and(|name| name == "test")
    };
    attributes.iter().any(asks_for_test)
}

fn uses(item: &ItemUse) -> Vec<Use> {
    fn walk(tree: &UseTree, before: &[String], found: &mut Vec<(Pieces, String)>) {
        let and = |piece: &dyn ToString| [before, &[piece.to_string()]].concat();
        match tree {
            UseTree::Path(path) => walk(&path.tree, &and(&path.ident), found),
            UseTree::Group(group) => group.items.iter().for_each(|tree| walk(tree, before, found)),
            UseTree::Glob(_) => found.push((and(&"*"), "*".to_owned())),
            UseTree::Rename(item) => found.push((and(&item.ident), item.rename.to_string())),
            UseTree::Name(item) if item.ident == "self" => {
                found.push((before.to_vec(), before.last().cloned().unwrap_or_default()));
            }
            UseTree::Name(item) => found.push((and(&item.ident), item.ident.to_string())),
        }
    }
    let mut found = Vec::new();
    walk(&item.tree, &[], &mut found);
    let is_public = !matches!(item.vis, Visibility::Inherited);
    found.into_iter().map(|(path, name)| Use { path, name, is_public }).collect()
}

/// Every path among the tokens, those in macros included. Inside a function, `use a::{b, c}` is the
/// paths `a::b` and `a::c`: what stands in the braces is read with `a` as its prefix.
fn read_paths(tokens: TokenStream, prefix: &[String], found: &mut Vec<Pieces>) {
    let begin = || (prefix.to_vec(), if prefix.is_empty() { 0 } else { 2 });
    let (mut path, mut colons) = begin();
    for token in tokens {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ':' => {
                colons += 1;
                continue;
            }
            TokenTree::Ident(ident) if colons == 2 => path.push(ident.to_string()),
            TokenTree::Group(group) if colons == 2 && group.delimiter() == Delimiter::Brace => {
                read_paths(group.stream(), &path, found);
            }
            ends_it => {
                found.push(path);
                (path, colons) = begin();
                match ends_it {
                    TokenTree::Ident(ident) => path = vec![ident.to_string()],
                    TokenTree::Group(group) => read_paths(group.stream(), &[], found),
                    TokenTree::Punct(_) | TokenTree::Literal(_) => continue,
                }
            }
        }
        colons = 0;
    }
    found.push(path);
    found.retain(|path| !path.is_empty());
}

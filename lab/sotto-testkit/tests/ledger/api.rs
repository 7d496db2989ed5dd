//! The public items of every published crate, each with its signature. Lints allow nothing
//! unreachable to be `pub`, so `pub` in the source is public. Implementations of traits and items
//! from macros are not listed.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use sotto_testkit::ledger;
use std::collections::BTreeSet;
use std::path::Path;

/// A stream without the attributes in its groups.
fn stripped(tokens: TokenStream) -> TokenStream {
    let (tokens, _) = bare(tokens.into_iter().collect());
    let within = |token| match token {
        TokenTree::Group(group) => TokenTree::Group(Group::new(group.delimiter(), stripped(group.stream()))),
        token => token,
    };
    tokens.into_iter().map(within).collect()
}

/// Tokens as text, with spaces about where people put them.
fn written(tokens: &[TokenTree]) -> String {
    let mut text = stripped(tokens.iter().cloned().collect()).to_string();
    let closer = [
        (" , ", ", "),
        (" ,", ","),
        (" :: ", "::"),
        (":: ", "::"),
        (" : ", ": "),
        (" ;", ";"),
        ("& ", "&"),
        (" >", ">"),
    ];
    let opener = [
        (" < ", "<"),
        (" <", "<"),
        ("< ", "<"),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        ("' ", "'"),
        (" ::", "::"),
        ("- >", "->"),
        ("->", " -> "),
        ("= >", "=>"),
    ];
    for (from, to) in closer.into_iter().chain(opener) {
        text = text.replace(from, to);
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn word(token: Option<&TokenTree>) -> String {
    match token {
        Some(TokenTree::Ident(ident)) => ident.to_string(),
        _ => String::new(),
    }
}

fn is_punct(token: &TokenTree, c: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == c)
}

fn braces(token: &TokenTree) -> Option<TokenStream> {
    match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group.stream()),
        _ => None,
    }
}

/// The tokens without their attributes, and whether one of these says that this is for tests.
fn bare(tokens: Vec<TokenTree>) -> (Vec<TokenTree>, bool) {
    let (mut out, mut is_test) = (Vec::new(), false);
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        if is_punct(&token, '#') && matches!(tokens.peek(), Some(TokenTree::Group(_))) {
            let attribute = tokens.next().map(|group| group.to_string().replace(' ', "")).unwrap_or_default();
            is_test |= attribute.contains("cfg(test)");
        } else {
            out.push(token);
        }
    }
    (out, is_test)
}

/// The items of a stream, each up to its braces or its semicolon.
fn split(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let (mut all, mut item, mut to_semicolon) = (Vec::new(), Vec::new(), false);
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let next = word(tokens.peek());
        to_semicolon |= match word(Some(&token)).as_str() {
            "use" | "static" | "type" => true,
            "const" => !["fn", "unsafe", "extern"].contains(&next.as_str()),
            _ => false,
        } && item
            .iter()
            .all(|token| !matches!(word(Some(token)).as_str(), "fn" | "impl" | "struct" | "enum" | "trait"));
        let ends = is_punct(&token, ';') || (!to_semicolon && braces(&token).is_some());
        item.push(token);
        if ends {
            all.push(std::mem::take(&mut item));
            to_semicolon = false;
        }
    }
    all.extend((!item.is_empty()).then_some(item));
    all
}

/// Lists the public items of a stream; in a trait, all are.
fn list(tokens: TokenStream, path: &str, is_trait: bool, found: &mut Vec<String>) {
    for item in split(tokens) {
        let (mut item, is_test) = bare(item);
        let is_public = is_trait
            || (word(item.first()) == "pub"
                && !matches!(item.get(1), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis));
        let keyword = item.iter().map(|token| word(Some(token)));
        let keyword = keyword.into_iter().find(|word| {
            ["fn", "struct", "enum", "trait", "mod", "impl", "use", "const", "static", "type", "union"]
                .contains(&word.as_str())
        });
        let (Some(keyword), false) = (keyword, is_test) else { continue };
        let body = item.last().and_then(braces).filter(|_| keyword != "use");
        if item.last().is_some_and(|last| is_punct(last, ';')) || body.is_some() {
            item.pop();
        }
        if keyword == "const" || keyword == "static" {
            item = item.into_iter().take_while(|token| !is_punct(token, '=')).collect();
        }
        let name = written(&item);
        if keyword == "impl" {
            // Of its own, and not of a trait.
            let is_inherent = !item.iter().any(|token| word(Some(token)) == "for");
            body.filter(|_| is_inherent)
                .into_iter()
                .for_each(|body| list(body, &format!("{path} / {name}"), false, found));
            continue;
        }
        if !is_public {
            continue;
        }
        found.push(format!("{path} / {name}\n"));
        let Some(body) = body else { continue };
        let within = format!("{path} / {}", name.trim_start_matches("pub "));
        match keyword.as_str() {
            "mod" => list(body, &within, false, found),
            "trait" => list(body, &within, true, found),
            "enum" | "struct" | "union" => {
                let mut open = Vec::new();
                let end = TokenTree::Punct(proc_macro2::Punct::new(',', proc_macro2::Spacing::Alone));
                for token in body.into_iter().chain([end]) {
                    if !is_punct(&token, ',')
                        || written(&open).matches('<').count()
                            > written(&open).replace("->", "").matches('>').count()
                    {
                        open.push(token);
                        continue;
                    }
                    let (field, _) = bare(std::mem::take(&mut open));
                    let shown = keyword == "enum" || word(field.first()) == "pub";
                    let text = written(&field);
                    found.extend(
                        (shown && !text.is_empty() && !text.starts_with("pub("))
                            .then(|| format!("{within} / {text}\n")),
                    );
                }
            }
            _ => {}
        }
    }
}

fn walk(folder: &Path, path: &str, found: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let file = entry.unwrap().path();
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if stem == "tests" || stem.ends_with("_tests") || stem == "bin" || stem == "main" {
            continue;
        }
        let inner = if stem == "lib" || stem == "mod" { path.to_owned() } else { format!("{path}::{stem}") };
        if file.is_dir() {
            walk(&file, &inner, found);
        } else if file.extension().is_some_and(|end| end == "rs") {
            list(std::fs::read_to_string(&file).unwrap().parse().unwrap(), &inner, false, found);
        }
    }
}

#[test]
fn ledger_of_public_items() {
    let mut crates = BTreeSet::new();
    for folder in ["crates", "guests", "lab", "schemes", "schemes/baselines"] {
        for krate in std::fs::read_dir(ledger::root().join(folder)).unwrap() {
            let krate = krate.unwrap();
            let manifest = std::fs::read_to_string(krate.path().join("Cargo.toml")).unwrap_or_default();
            if manifest.is_empty()
                || manifest.contains("publish = false")
                || !krate.path().join("src/lib.rs").exists()
            {
                continue;
            }
            let (name, mut found) = (krate.file_name().to_string_lossy().into_owned(), Vec::new());
            walk(&krate.path().join("src"), &name.replace('-', "_"), &mut found);
            found.sort();
            found.dedup();
            ledger::check(&format!("api/{name}.txt"), &found.concat());
            crates.insert(format!("{name}.txt"));
        }
    }
    assert!(crates.len() > 20, "{crates:?}");
    for file in std::fs::read_dir(ledger::root().join("ledger/api")).unwrap() {
        let name = file.unwrap().file_name().to_string_lossy().into_owned();
        assert!(crates.contains(&name), "ledger/api/{name}: no such crate is published: delete the file");
    }
}

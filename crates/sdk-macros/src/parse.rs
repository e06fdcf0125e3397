//! From tokens to items and clauses. Knows the punctuation of a declaration, not its words.
//!
//! A declaration is cut at its top level first: an item ends at `;` or `{ … }`, a clause at `,`. So a
//! mistake inside one item or clause leaves all the others readable.

use proc_macro2::{Delimiter, Group, Ident, Literal, Spacing, TokenStream, TokenTree};
use syn::{
    Attribute, LitStr, Token, Type,
    parse::{ParseStream, Parser},
};

use crate::mistake::Mistakes;

/// What a correct declaration looks like, for messages at items that cannot be read at all.
const APP_LINE: &str = "app Pomodoro in \"pomodoro\";";
const TOOL_LINE: &str = "tool start(Start) -> Started { version: 1, … }";
const ACTION_LINE: &str = "action set_state(SetState) { handler: MyApp::set_state }";

/// One item.
#[expect(clippy::large_enum_variant, reason = "there are a handful, for the time of one expansion")]
pub(crate) enum Item {
    App(AppItem),
    Tool(ToolItem),
    Action(ActionItem),
}

/// `app Name in "scope" { … }`.
pub(crate) struct AppItem {
    pub docs: Vec<Attribute>,
    pub name: Ident,
    /// `None` when it cannot be read, which is noted.
    pub scope: Option<LitStr>,
    pub clauses: Vec<Clause>,
}

/// `tool name(Input) -> Output { … }`.
pub(crate) struct ToolItem {
    pub docs: Vec<Attribute>,
    pub name: Ident,
    pub input: Option<Type>,
    pub output: Option<(Token![->], Type)>,
    pub clauses: Vec<Clause>,
}

/// `action name(Input) { … }`.
pub(crate) struct ActionItem {
    pub docs: Vec<Attribute>,
    pub name: Ident,
    pub input: Option<Type>,
    pub clauses: Vec<Clause>,
}

/// `name`, `name: value`, or `name "label" { … }`.
pub(crate) struct Clause {
    pub name: Ident,
    pub label: Option<LitStr>,
    /// The tokens after the colon or the label; empty for a bare flag.
    pub value: TokenStream,
}

/// The items of a declaration.
pub(crate) struct Items {
    /// Every item that can be read.
    pub read: Vec<Item>,
    /// Whether there is an `app` item, readable or not.
    pub has_app: bool,
}

/// Reads every item that can be read.
pub(crate) fn declaration(tokens: TokenStream, mistakes: &mut Mistakes) -> Items {
    let items = cut_items(tokens);
    let has_app = items
        .iter()
        .any(|item| item.clone().into_iter().any(|token| matches!(token, TokenTree::Ident(word) if word == "app")));
    let read = items.into_iter().filter_map(|item| read_item(item, mistakes)).collect();
    Items { read, has_app }
}

/// Reads the clauses between braces.
pub(crate) fn clauses(tokens: TokenStream, mistakes: &mut Mistakes) -> Vec<Clause> {
    let mut cut = Vec::new();
    for clause in cut_clauses(tokens) {
        cut.extend(cut_at_forgotten_commas(clause, mistakes));
    }
    cut.into_iter().filter_map(|clause| mistakes.keep(Parser::parse2(read_clause, clause))).collect()
}

/// `version: 1 invocation: operation` is two clauses and a mistake.
fn cut_at_forgotten_commas(clause: TokenStream, mistakes: &mut Mistakes) -> Vec<TokenStream> {
    let tokens: Vec<TokenTree> = clause.into_iter().collect();
    let mut clauses = Vec::new();
    let mut from = 0;
    for at in 3..tokens.len().saturating_sub(1) {
        if let [TokenTree::Ident(name), TokenTree::Punct(colon)] = &tokens[at..at + 2]
            && colon.as_char() == ':'
            && colon.spacing() == Spacing::Alone
            && !matches!(&tokens[at - 1], TokenTree::Punct(before) if before.as_char() == ':')
        {
            let write = format!("…, {name}: …,");
            mistakes.add(name, format!("a comma is missing before `{name}`"), write);
            clauses.push(tokens[from..at].iter().cloned().collect());
            from = at;
        }
    }
    clauses.push(tokens[from..].iter().cloned().collect());
    clauses
}

fn cut_items(tokens: TokenStream) -> Vec<TokenStream> {
    let (mut items, mut item) = (Vec::new(), Vec::new());
    for token in tokens {
        let ends = match &token {
            TokenTree::Punct(punct) => punct.as_char() == ';',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            TokenTree::Ident(_) | TokenTree::Literal(_) => false,
        };
        // `{ … };` is one item, not two.
        let stray = item.is_empty() && matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ';');
        if stray && !items.is_empty() {
            continue;
        }
        item.push(token);
        if ends {
            items.push(item.drain(..).collect());
        }
    }
    if !item.is_empty() {
        items.push(item.into_iter().collect());
    }
    items
}

fn cut_clauses(tokens: TokenStream) -> Vec<TokenStream> {
    let (mut clauses, mut clause) = (Vec::new(), Vec::new());
    for token in tokens {
        if matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ',') {
            if clause.is_empty() {
                clause.push(token);
            }
            clauses.push(clause.drain(..).collect());
        } else {
            clause.push(token);
        }
    }
    if !clause.is_empty() {
        clauses.push(clause.into_iter().collect());
    }
    clauses
}

fn read_item(tokens: TokenStream, mistakes: &mut Mistakes) -> Option<Item> {
    let (mut body, mut problem) = (None, None);
    let read = |input: ParseStream<'_>| {
        let docs = input.call(Attribute::parse_outer)?;
        let keyword: Ident = input
            .parse()
            .map_err(|error| say(error.span(), "an item starts with `app`, `tool` or `action`", TOOL_LINE))?;
        let item = match keyword.to_string().as_str() {
            "app" => Item::App(app(docs, input, &mut problem)?),
            "tool" => Item::Tool(tool(docs, input)?),
            "action" => Item::Action(action(docs, input)?),
            other => {
                let found = format!("`{other}` is not an item: an item starts with `app`, `tool` or `action`");
                input.parse::<TokenStream>()?;
                return Err(say(keyword.span(), &found, TOOL_LINE));
            }
        };
        if problem.is_some() {
            // The name is known; what comes after it is not worth guessing at.
            input.parse::<TokenStream>()?;
        } else {
            body = read_body(input, &item, &keyword)?;
        }
        Ok(item)
    };
    let mut item = mistakes.keep(Parser::parse2(read, tokens))?;
    if let Some(problem) = problem {
        mistakes.take(problem);
    }
    let read = body.map(|group| clauses(group.stream(), mistakes)).unwrap_or_default();
    match &mut item {
        Item::App(app) => app.clauses = read,
        Item::Tool(tool) => tool.clauses = read,
        Item::Action(action) => action.clauses = read,
    }
    Some(item)
}

fn app(docs: Vec<Attribute>, input: ParseStream<'_>, problem: &mut Option<syn::Error>) -> syn::Result<AppItem> {
    let name = input
        .parse()
        .map_err(|error| say(error.span(), "`app` needs the name of a type, which the macro defines", APP_LINE))?;
    let scope = app_scope(input).map_err(|error| *problem = Some(error)).ok();
    Ok(AppItem { docs, name, scope, clauses: Vec::new() })
}

fn app_scope(input: ParseStream<'_>) -> syn::Result<LitStr> {
    input
        .parse::<Token![in]>()
        .map_err(|error| say(error.span(), "after the app's name comes `in` and the app's scope", APP_LINE))?;
    input.parse().map_err(|error| say(error.span(), "the app's scope is a text in double quotes", APP_LINE))
}

fn tool(docs: Vec<Attribute>, input: ParseStream<'_>) -> syn::Result<ToolItem> {
    let (name, taken) = head("tool", input, TOOL_LINE)?;
    let output = if input.peek(Token![->]) {
        let arrow = input.parse()?;
        let output = input
            .parse()
            .map_err(|error| say(error.span(), "after `->` comes the type that the tool returns", TOOL_LINE))?;
        Some((arrow, output))
    } else {
        None
    };
    Ok(ToolItem { docs, name, input: taken, output, clauses: Vec::new() })
}

fn action(docs: Vec<Attribute>, input: ParseStream<'_>) -> syn::Result<ActionItem> {
    let (name, taken) = head("action", input, ACTION_LINE)?;
    if input.peek(Token![->]) {
        let arrow: Token![->] = input.parse()?;
        let output: Type = input.parse()?;
        let place = quote::quote!(#arrow #output);
        return Err(syn::Error::new_spanned(
            place,
            format!("an action returns nothing to anybody\n\nwrite, for example:\n    {ACTION_LINE}"),
        ));
    }
    Ok(ActionItem { docs, name, input: taken, clauses: Vec::new() })
}

fn head(item: &str, input: ParseStream<'_>, line: &str) -> syn::Result<(Ident, Option<Type>)> {
    let name = input.parse().map_err(|error| say(error.span(), &format!("after `{item}` comes its name"), line))?;
    let group = match input.parse::<TokenTree>() {
        Ok(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => group,
        Ok(other) => {
            input.parse::<TokenStream>()?;
            return Err(say(
                other.span(),
                &format!("after the name of {} `{item}` comes its input type in parentheses, or `()`", article(item)),
                line,
            ));
        }
        Err(error) => {
            return Err(say(error.span(), "after the name comes the input type in parentheses, or `()`", line));
        }
    };
    if group.stream().is_empty() {
        return Ok((name, None));
    }
    let span = group.span();
    let taken = syn::parse2(group.stream()).map_err(|_| {
        say(span, "in the parentheses stands one type, the input; its fields are what the agent fills in", line)
    })?;
    Ok((name, Some(taken)))
}

fn article(item: &str) -> &'static str {
    if item == "action" { "an" } else { "a" }
}

/// `{ … }`; for an app `;` will do.
fn read_body(input: ParseStream<'_>, item: &Item, keyword: &Ident) -> syn::Result<Option<Group>> {
    let line = match item {
        Item::App(_) => APP_LINE,
        Item::Tool(_) => TOOL_LINE,
        Item::Action(_) => ACTION_LINE,
    };
    let bodiless = matches!(item, Item::App(_));
    match input.parse::<Option<TokenTree>>()? {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => Ok(Some(group)),
        Some(TokenTree::Punct(punct)) if punct.as_char() == ';' && bodiless => Ok(None),
        Some(other) => {
            input.parse::<TokenStream>()?;
            let wanted = if bodiless { "`;` or `{ … }`" } else { "`{ … }`" };
            Err(say(other.span(), &format!("here the `{keyword}` goes on with {wanted}"), line))
        }
        None => Err(say(keyword.span(), &format!("this `{keyword}` has no end"), line)),
    }
}

fn read_clause(input: ParseStream<'_>) -> syn::Result<Clause> {
    const LINE: &str = "readiness: app_ready,";
    if input.peek(Token![,]) {
        let comma: Token![,] = input.parse()?;
        return Err(say(comma.span, "a comma without a clause before it", LINE));
    }
    let name: Ident = input.parse().map_err(|error| say(error.span(), "a clause starts with its name", LINE))?;
    if input.is_empty() {
        return Ok(Clause { name, label: None, value: TokenStream::new() });
    }
    if input.peek(LitStr) {
        let label = Some(input.parse()?);
        return Ok(Clause { name, label, value: input.parse()? });
    }
    if !input.peek(Token![:]) || input.peek(Token![::]) {
        let span = input.span();
        input.parse::<TokenStream>()?;
        return Err(say(
            span,
            &format!("after the name of the clause `{name}` comes `:` and its value; is a comma missing before this?"),
            LINE,
        ));
    }
    let colon: Token![:] = input.parse()?;
    if input.is_empty() {
        return Err(say(colon.span, &format!("the clause `{name}` has no value"), LINE));
    }
    let value: TokenStream = input.parse()?;
    Ok(Clause { name, label: None, value })
}

fn say(span: proc_macro2::Span, what: &str, write: &str) -> syn::Error {
    syn::Error::new(span, format!("{what}\n\nwrite, for example:\n    {write}"))
}

/// The text of doc comments, one line each, without the space after `///`.
pub(crate) fn doc_text(docs: &[Attribute], mistakes: &mut Mistakes) -> String {
    let mut lines = Vec::new();
    for attribute in docs {
        match &attribute.meta {
            syn::Meta::NameValue(meta) if meta.path.is_ident("doc") => {
                if let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &meta.value {
                    lines
                        .extend(text.value().split('\n').map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned()));
                }
            }
            _ => mistakes.add(
                attribute,
                "an item takes doc comments and no other attribute",
                "/// What it does, for the agent.",
            ),
        }
    }
    lines.join("\n").trim().to_owned()
}

/// A literal's tokens as text, for messages.
pub(crate) fn shown(tokens: &TokenStream) -> String {
    let text = tokens.to_string().replace(" :: ", "::").replace(" . ", ".");
    if text.chars().count() > 40 { format!("{}…", text.chars().take(40).collect::<String>()) } else { text }
}

/// The one literal that these tokens are.
pub(crate) fn literal(tokens: &TokenStream) -> Option<Literal> {
    let mut tokens = tokens.clone().into_iter();
    match (tokens.next(), tokens.next()) {
        (Some(TokenTree::Literal(literal)), None) => Some(literal),
        _ => None,
    }
}

//! `#[derive(KernelParams)]`.

use proc_macro::{Delimiter, TokenStream, TokenTree};

/// The implementation for a struct with named fields; `path` is the crate that has the trait, unless an attribute
/// `#[kernel_params(path = some::path)]` says otherwise.
pub(crate) fn derive(input: TokenStream, path: &str) -> Result<TokenStream, String> {
    let mut path = path.to_owned();
    let mut name = None;
    let mut body = None;
    let mut tokens = input.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                if let Some(TokenTree::Group(group)) = tokens.next() {
                    path = attribute(group.stream()).unwrap_or(path);
                }
            }
            TokenTree::Ident(word) if word.to_string() == "struct" => {
                name = tokens.next().map(|token| token.to_string());
                match tokens.next() {
                    Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                        body = Some(group.stream());
                    }
                    Some(TokenTree::Punct(mark)) if mark.as_char() == '<' => {
                        return Err("a struct of kernel parameters has no generics".to_owned());
                    }
                    _ => {}
                }
            }
            TokenTree::Ident(word) if ["enum", "union"].contains(&word.to_string().as_str()) => {
                return Err("kernel parameters are a struct with named fields".to_owned());
            }
            _ => {}
        }
    }
    let (Some(name), Some(body)) = (name, body) else {
        return Err("kernel parameters are a struct with named fields".to_owned());
    };
    let fields = fields(body)?;
    if fields.is_empty() {
        return Err(format!("`{name}` has no fields: WGSL has no empty structs"));
    }
    implementation(&path, &name, &fields)
        .parse()
        .map_err(|error| format!("`{name}`: {error}"))
}

/// The tokens of an implementation for fields of these names and types.
pub(crate) fn implementation(path: &str, name: &str, fields: &[(String, String)]) -> String {
    let wgsl_name = |field: &str| field.trim_start_matches("r#").to_owned();
    let list: String = fields
        .iter()
        .map(|(field, ty)| format!("{path}::ParamField::of::<{ty}>({:?}),", wgsl_name(field)))
        .collect();
    let fill: String = fields
        .iter()
        .enumerate()
        .map(|(at, (field, _))| {
            format!(
                "if let Some(place) = fields.get({at}).and_then(|f| bytes.get_mut(f.offset..)) {{ \
                 {path}::ParamType::fill(&self.{field}, place); }}"
            )
        })
        .collect();
    format!(
        "#[automatically_derived] impl {path}::KernelParams for {name} {{
            const FIELDS: &'static [{path}::ParamField] = &{path}::ParamField::layout([{list}]);
            fn to_bytes(&self) -> ::std::vec::Vec<u8> {{
                let fields = <Self as {path}::KernelParams>::FIELDS;
                let mut bytes = ::std::vec![0u8; {path}::ParamField::struct_bytes(fields)];
                {fill}
                bytes
            }}
        }}"
    )
}

/// The path of `kernel_params(path = some::path)`.
fn attribute(stream: TokenStream) -> Option<String> {
    let mut tokens = stream.into_iter();
    if tokens.next()?.to_string() != "kernel_params" {
        return None;
    }
    let TokenTree::Group(group) = tokens.next()? else {
        return None;
    };
    let mut inside = group.stream().into_iter();
    let (key, _equals) = (inside.next()?, inside.next()?);
    (key.to_string() == "path").then(|| inside.collect::<TokenStream>().to_string())
}

/// Names and types.
fn fields(body: TokenStream) -> Result<Vec<(String, String)>, String> {
    let mut fields = Vec::new();
    let mut tokens = body.into_iter().peekable();
    while tokens.peek().is_some() {
        let mut name = None;
        // Attributes and visibility come before the name, which a colon follows.
        for token in tokens.by_ref() {
            match &token {
                TokenTree::Punct(mark) if mark.as_char() == ':' => break,
                TokenTree::Ident(word) => name = Some(word.to_string()),
                _ => {}
            }
        }
        let mut ty = TokenStream::new();
        let mut depth = 0usize;
        for token in tokens.by_ref() {
            if let TokenTree::Punct(mark) = &token {
                match mark.as_char() {
                    ',' if depth == 0 => break,
                    '<' => depth += 1,
                    '>' => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
            ty.extend([token]);
        }
        match name {
            Some(name) if !ty.is_empty() => fields.push((name, ty.to_string())),
            _ => return Err("a field of kernel parameters has a name and a type".to_owned()),
        }
    }
    Ok(fields)
}

//! Can a tool be made of this function, and what of it does a model see?

use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, Ident, ItemFn, Lit, Meta, Pat, PatType, Result, Safety,
    Token, Type, spanned::Spanned,
};

const CONTEXT: &str = "ToolContext";

/// The parts of a function that a tool is made of.
pub(crate) struct Signature {
    pub(crate) description: String,
    /// True if the first argument is the context of the call.
    pub(crate) takes_context: bool,
    pub(crate) arguments: Vec<Argument>,
}

/// A property of the input.
pub(crate) struct Argument {
    /// True if the function may change it.
    pub(crate) mutability: Option<Token![mut]>,
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    /// Its documentation, and what else is said of the property.
    pub(crate) attributes: Vec<Attribute>,
}

impl Signature {
    /// # Errors
    ///
    /// No tool can be made of this function: where, why, and what to write instead.
    pub(crate) fn of(function: &ItemFn) -> Result<Self> {
        let signature = &function.sig;
        if let Some(parameter) = signature.generics.params.first() {
            let why = "a tool has one input schema: write out the type instead of a parameter";
            return Err(Error::new(parameter.span(), why));
        }
        let is_safe = !matches!(signature.safety, Safety::Unsafe(_));
        if signature.variadic.is_some() || !is_safe || signature.abi.is_some() {
            let why = "a tool is made of a safe function of Rust";
            return Err(Error::new(signature.span(), why));
        }
        let description = documentation(&function.attrs);
        if description.is_empty() {
            let why = format!(
                "a model reads the doc comment to know when to call {}: write one above the function",
                signature.ident
            );
            return Err(Error::new(signature.ident.span(), why));
        }
        let name = signature.ident.to_string();
        if name.len() > 64 || !name.is_ascii() {
            let why = "the name of a tool has at most 64 characters of A-Z, a-z, 0-9 and _";
            return Err(Error::new(signature.ident.span(), why));
        }
        let mut arguments = Vec::new();
        let mut takes_context = false;
        for (place, argument) in signature.inputs.iter().enumerate() {
            let argument = match argument {
                FnArg::Typed(argument) => argument,
                FnArg::Receiver(receiver) => {
                    let why = "a tool is made of a function, not of a method: use Tool::typed with a closure for what holds state";
                    return Err(Error::new(receiver.span(), why));
                }
            };
            match (is_context(&argument.ty), place) {
                (true, 0) => takes_context = true,
                (true, _) => {
                    let why = "the context is the first argument";
                    return Err(Error::new(argument.span(), why));
                }
                (false, _) => arguments.push(property(argument)?),
            }
        }
        Ok(Self {
            description,
            takes_context,
            arguments,
        })
    }
}

fn property(argument: &PatType) -> Result<Argument> {
    let (mutability, name) = match &*argument.pat {
        Pat::Ident(named) if named.by_ref.is_none() && named.subpat.is_none() => {
            (named.mutability, &named.ident)
        }
        pattern => {
            let why = "the argument's name is the property's: write a name, and take the value apart in the function";
            return Err(Error::new(pattern.span(), why));
        }
    };
    if name.to_string().starts_with('_') {
        let why = "the argument's name is the property's, so it begins with a letter";
        return Err(Error::new(name.span(), why));
    }
    match &*argument.ty {
        Type::Reference(borrowed) => {
            let why = "the argument is read from what the model wrote, so it is owned: use String for &str, Vec<T> for &[T]";
            Err(Error::new(borrowed.span(), why))
        }
        Type::ImplTrait(any) => {
            let why = "a tool has one input schema: write out the type instead of impl Trait";
            Err(Error::new(any.span(), why))
        }
        ty => Ok(Argument {
            mutability,
            name: name.clone(),
            ty: ty.clone(),
            attributes: argument.attrs.clone(),
        }),
    }
}

fn is_context(ty: &Type) -> bool {
    match ty {
        Type::Path(path) => path
            .path
            .segments
            .last()
            .is_some_and(|last| last.ident == CONTEXT),
        _ => false,
    }
}

/// The text of a doc comment, its lines without the space before them.
fn documentation(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| {
        let Meta::NameValue(named) = &attribute.meta else {
            return None;
        };
        match &named.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(line),
                ..
            }) if named.path.is_ident("doc") => Some(line.value()),
            _ => None,
        }
    });
    let lines = lines.map(|line| {
        line.strip_prefix(' ')
            .unwrap_or(&line)
            .trim_end()
            .to_owned()
    });
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(function: &str) -> String {
        let function = syn::parse_str(function).expect("a function");
        match Signature::of(&function) {
            Ok(_) => panic!("it is no tool"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_is_no_tool_is_refused_with_what_to_write_instead() {
        for (function, told) in [
            ("fn f() {}", "write one above the function"),
            ("/// F.\nfn f<T>(t: T) {}", "write out the type"),
            (
                "/// F.\nfn f(t: impl Into<String>) {}",
                "write out the type",
            ),
            ("/// F.\nfn f(&self) {}", "not of a method"),
            ("/// F.\nfn f(city: &str) {}", "use String for &str"),
            ("/// F.\nfn f((a, b): (u8, u8)) {}", "write a name"),
            ("/// F.\nfn f(_city: String) {}", "begins with a letter"),
            (
                "/// F.\nfn f(a: u8, call: ToolContext) {}",
                "first argument",
            ),
            ("/// F.\nunsafe fn f() {}", "safe function"),
        ] {
            let error = refused(function);
            assert!(error.contains(told), "{function}: {error}");
        }
    }

    #[test]
    fn a_doc_comment_of_several_lines_keeps_them() {
        let function = "/// One.\n///\n///   - two  \nfn f(call: sdk::ToolContext, mut a: u8) {}";
        let function = syn::parse_str(function).expect("a function");
        let signature = Signature::of(&function).expect("it is a tool");
        assert_eq!(signature.description, "One.\n\n  - two");
        assert!(signature.takes_context);
        assert_eq!(signature.arguments.len(), 1);
    }
}

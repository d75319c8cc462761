//! The function that a tool's function becomes.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Attribute, Error, FnArg, ItemFn, Result, Visibility, parse_quote};

use crate::signature::{Argument, Signature};

/// `fn weather() -> Tool` in place of `async fn weather(city: String) -> …`, with the function and a struct of its arguments inside.
pub(crate) fn tool(attribute: TokenStream, function: TokenStream) -> Result<TokenStream> {
    if !attribute.is_empty() {
        let why =
            "#[tool] takes nothing: the name is the function's, the description its doc comment";
        return Err(Error::new_spanned(attribute, why));
    }
    let mut function: ItemFn = syn::parse2(function)?;
    let Signature {
        description,
        takes_context,
        arguments,
    } = Signature::of(&function)?;
    let sdk = quote!(::agenthub_sdk);

    let name = function.sig.ident.clone();
    let (tool_name, visibility) = (unraw(&name.to_string()), function.vis.clone());
    let documentation: Vec<Attribute> = take(&mut function.attrs, |a| a.path().is_ident("doc"));
    // Names that hide nothing the function's types and body may mean.
    let call = format_ident!("__{tool_name}_function");
    let input = format_ident!("__{tool_name}_input");
    // The function takes its arguments out of the struct in a pattern, where `#[cfg]` may stand as it may before a parameter.
    let taken = arguments.iter().map(|argument| {
        let Argument {
            mutability, name, ..
        } = argument;
        let conditions = argument.attributes.iter().filter(|a| is_condition(a));
        quote!(#(#conditions)* #mutability #name)
    });
    let taken: FnArg = parse_quote!(#input { #(#taken),* }: #input);
    let context = function.sig.inputs.into_iter().take(takes_context.into());
    let context = context.map(|mut context| {
        if let FnArg::Typed(context) = &mut context {
            context.attrs.clear();
        }
        context
    });
    function.sig.inputs = context.chain([taken]).collect();
    function.vis = Visibility::Inherited;
    function.sig.ident = call.clone();
    let awaited = function.sig.asyncness.is_some().then(|| quote!(.await));

    let fields = arguments.iter().map(|argument| {
        let Argument {
            name,
            ty,
            attributes,
            ..
        } = argument;
        quote!(#(#attributes)* #name: #ty)
    });
    let context = takes_context.then(|| quote!(context,));
    Ok(quote! {
        #(#documentation)*
        #visibility fn #name() -> #sdk::Tool {
            #[derive(#sdk::internal::serde::Deserialize, #sdk::schemars::JsonSchema)]
            #[serde(crate = "::agenthub_sdk::internal::serde")]
            #[schemars(crate = "::agenthub_sdk::schemars", rename = #tool_name)]
            #[allow(non_camel_case_types)]
            struct #input {
                #(#fields,)*
            }
            #function
            #sdk::Tool::typed(#tool_name, #description, async |context: #sdk::ToolContext, input: #input| {
                let _ = &context;
                #call(#context input) #awaited
            })
        }
    })
}

/// Takes the attributes of which this is so.
fn take(attributes: &mut Vec<Attribute>, is: impl Fn(&Attribute) -> bool) -> Vec<Attribute> {
    let (taken, left) = std::mem::take(attributes).into_iter().partition(is);
    *attributes = left;
    taken
}

/// True for `#[cfg]`.
fn is_condition(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
}

fn unraw(name: &str) -> String {
    name.strip_prefix("r#").unwrap_or(name).to_owned()
}

//! serde's and schemars' derives for crates that depend on neither.
//!
//! The originals write paths such as `::serde::…` unless the type itself carries
//! `#[serde(crate = "…")]`, and a derive cannot add an attribute to the type. So the type's
//! definition is written down once more, privately, with the attribute, and the trait of the real
//! type forwards to that copy (serde's `remote`).

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Data, DeriveInput, Fields};

const SERDE: &str = "::lineup_sdk::__private::serde";
const SCHEMARS: &str = "::lineup_sdk::__private::schemars";

pub(crate) fn deserialize(input: TokenStream) -> TokenStream {
    forward(input, |name, copy, item| {
        let closed = (is_closed(item)).then(|| quote!(#[serde(deny_unknown_fields)]));
        let remote = name.to_string();
        quote! {
            #[derive(::lineup_sdk::__private::serde::Deserialize)]
            #[serde(crate = #SERDE, remote = #remote)]
            #closed
            #item

            #[automatically_derived]
            impl<'de> ::lineup_sdk::__private::serde::Deserialize<'de> for #name {
                fn deserialize<D>(deserializer: D) -> ::core::result::Result<Self, D::Error>
                where
                    D: ::lineup_sdk::__private::serde::Deserializer<'de>,
                {
                    #copy::deserialize(deserializer)
                }
            }
        }
    })
}

pub(crate) fn serialize(input: TokenStream) -> TokenStream {
    forward(input, |name, copy, item| {
        let remote = name.to_string();
        quote! {
            #[derive(::lineup_sdk::__private::serde::Serialize)]
            #[serde(crate = #SERDE, remote = #remote)]
            #item

            #[automatically_derived]
            impl ::lineup_sdk::__private::serde::Serialize for #name {
                fn serialize<S>(&self, serializer: S) -> ::core::result::Result<S::Ok, S::Error>
                where
                    S: ::lineup_sdk::__private::serde::Serializer,
                {
                    #copy::serialize(self, serializer)
                }
            }
        }
    })
}

pub(crate) fn json_schema(input: TokenStream) -> TokenStream {
    forward(input, |name, copy, item| {
        let text = name.to_string();
        quote! {
            #[derive(::lineup_sdk::__private::schemars::JsonSchema)]
            #[schemars(crate = #SCHEMARS)]
            #item

            #[automatically_derived]
            impl ::lineup_sdk::__private::schemars::JsonSchema for #name {
                fn schema_name() -> ::std::borrow::Cow<'static, str> {
                    ::std::borrow::Cow::Borrowed(#text)
                }

                fn schema_id() -> ::std::borrow::Cow<'static, str> {
                    ::std::borrow::Cow::Borrowed(::core::concat!(::core::module_path!(), "::", #text))
                }

                fn json_schema(
                    generator: &mut ::lineup_sdk::__private::schemars::SchemaGenerator,
                ) -> ::lineup_sdk::__private::schemars::Schema {
                    <#copy as ::lineup_sdk::__private::schemars::JsonSchema>::json_schema(generator)
                }
            }
        }
    })
}

fn forward(
    input: TokenStream,
    write: impl FnOnce(&Ident, &Ident, &DeriveInput) -> TokenStream,
) -> TokenStream {
    match syn::parse2::<DeriveInput>(input).and_then(plain) {
        Ok(mut item) => {
            let name = item.ident.clone();
            item.ident = quote::format_ident!("__{name}");
            item.vis = syn::Visibility::Inherited;
            // Only what the originals read; `#[must_use]` or `#[non_exhaustive]` are the real type's.
            item.attrs.retain(read_by_the_originals);
            let copy = item.ident.clone();
            let code = write(&name, &copy, &item);
            quote! {
                #[allow(dead_code, clippy::all, clippy::pedantic, missing_docs, reason = "a copy, for the derive alone")]
                const _: () = { #code };
            }
        }
        Err(error) => error.into_compile_error(),
    }
}

fn plain(item: DeriveInput) -> syn::Result<DeriveInput> {
    if item.generics.params.is_empty() {
        return Ok(item);
    }
    Err(syn::Error::new_spanned(
        &item.generics,
        format!(
            "a type that is published cannot be generic: its schema would depend on who uses it\n\nwrite, for \
             example:\n    pub struct {} {{ pub items: Vec<Item> }}",
            item.ident
        ),
    ))
}

fn read_by_the_originals(attribute: &syn::Attribute) -> bool {
    ["serde", "schemars", "doc", "cfg"].iter().any(|name| attribute.path().is_ident(name))
}

/// Whether unknown members are to be refused: structs with named fields, none of them flattened.
fn is_closed(item: &DeriveInput) -> bool {
    let Data::Struct(data) = &item.data else { return false };
    let Fields::Named(fields) = &data.fields else { return false };
    let says = |attributes: &[syn::Attribute], word: &str| {
        attributes.iter().filter(|attribute| attribute.path().is_ident("serde")).any(|attribute| {
            attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string().contains(word))
        })
    };
    !says(&item.attrs, "deny_unknown_fields") && !fields.named.iter().any(|field| says(&field.attrs, "flatten"))
}

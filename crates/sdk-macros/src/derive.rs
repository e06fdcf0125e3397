//! serde's and schemars' derives for crates that depend on neither.
//!
//! The originals write paths such as `::serde::…` unless the type itself carries
//! `#[serde(crate = "…")]`, and a derive cannot add an attribute to the type. So the type's
//! definition is written down once more, privately, with the attribute, and the trait of the real
//! type forwards to that copy (serde's `remote`).

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Fields};

const SERDE: &str = "::lineup_sdk::__private::serde";
const SCHEMARS: &str = "::lineup_sdk::__private::schemars";

pub(crate) fn deserialize(input: TokenStream) -> TokenStream {
    forward(input, &["serde", "cfg"], |name, copy, item| {
        let remote = name.to_string();
        quote! {
            #[derive(::lineup_sdk::__private::serde::Deserialize)]
            #[serde(crate = #SERDE, remote = #remote)]
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
    forward(input, &["serde", "cfg"], |name, copy, item| {
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
    forward(
        input,
        &["serde", "schemars", "doc", "cfg", "deprecated"],
        |name, copy, item| {
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
        },
    )
}

fn forward(
    input: TokenStream,
    read: &[&str],
    write: impl FnOnce(&Ident, &Ident, &DeriveInput) -> TokenStream,
) -> TokenStream {
    match syn::parse2::<DeriveInput>(input).and_then(plain) {
        Ok(mut item) => {
            let name = item.ident.clone();
            item.ident = quote::format_ident!("__{name}");
            item.vis = syn::Visibility::Inherited;
            keep_attributes(&mut item, read);
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

/// Keeps the attributes that the original derive reads; others, such as `#[must_use]`, are the real
/// type's alone.
fn keep_attributes(item: &mut DeriveInput, read: &[&str]) {
    let keep = |attributes: &mut Vec<Attribute>| {
        attributes.retain(|attribute| read.iter().any(|name| attribute.path().is_ident(name)));
    };
    keep(&mut item.attrs);
    let of_fields =
        |fields: &mut Fields| fields.iter_mut().for_each(|field| keep(&mut field.attrs));
    match &mut item.data {
        Data::Struct(data) => of_fields(&mut data.fields),
        Data::Enum(data) => {
            for variant in &mut data.variants {
                keep(&mut variant.attrs);
                of_fields(&mut variant.fields);
            }
        }
        Data::Union(data) => data
            .fields
            .named
            .iter_mut()
            .for_each(|field| keep(&mut field.attrs)),
    }
}

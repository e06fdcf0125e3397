//! serde's and schemars' derives for crates that depend on neither.
//!
//! The originals write paths such as `::serde::…` unless the type itself carries
//! `#[serde(crate = "…")]`, and a derive cannot add an attribute to the type. So the type's
//! definition is written down once more, privately, with the attribute, and the trait of the real
//! type forwards to that copy (serde's `remote`).

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Attribute, Data, DeriveInput, Fields, Generics, parse_quote};

const SERDE: &str = "::lineup_sdk::__private::serde";
const SCHEMARS: &str = "::lineup_sdk::__private::schemars";

/// One of the derives.
struct Derive {
    /// The attributes that the original reads.
    attributes: &'static [&'static str],
    /// The copy of the type, with the original derive on it.
    copy: fn(&Ident, &DeriveInput) -> TokenStream,
    /// The trait of the real type; forwards to the copy, or to nothing when there is a mistake.
    forward: fn(&Ident, &Generics, Option<&Ident>) -> TokenStream,
}

pub(crate) fn deserialize(input: TokenStream) -> TokenStream {
    Derive {
        attributes: &["serde", "cfg"],
        copy: |name, item| {
            let remote = name.to_string();
            quote! {
                #[derive(::lineup_sdk::__private::serde::Deserialize)]
                #[serde(crate = #SERDE, remote = #remote)]
                #item
            }
        },
        forward: |name, generics, copy| {
            let mut with_lifetime = generics.clone();
            with_lifetime.params.insert(0, parse_quote!('de));
            let (impl_generics, ..) = with_lifetime.split_for_impl();
            let (_, type_generics, bounds) = generics.split_for_impl();
            let body = body(copy, |copy| quote!(#copy::deserialize(deserializer)));
            quote! {
                #[automatically_derived]
                impl #impl_generics ::lineup_sdk::__private::serde::Deserialize<'de> for #name #type_generics #bounds {
                    fn deserialize<D>(deserializer: D) -> ::core::result::Result<Self, D::Error>
                    where
                        D: ::lineup_sdk::__private::serde::Deserializer<'de>,
                    {
                        #body
                    }
                }
            }
        },
    }
    .of(input)
}

pub(crate) fn serialize(input: TokenStream) -> TokenStream {
    Derive {
        attributes: &["serde", "cfg"],
        copy: |name, item| {
            let remote = name.to_string();
            quote! {
                #[derive(::lineup_sdk::__private::serde::Serialize)]
                #[serde(crate = #SERDE, remote = #remote)]
                #item
            }
        },
        forward: |name, generics, copy| {
            let (impl_generics, type_generics, bounds) = generics.split_for_impl();
            let body = body(copy, |copy| quote!(#copy::serialize(self, serializer)));
            quote! {
                #[automatically_derived]
                impl #impl_generics ::lineup_sdk::__private::serde::Serialize for #name #type_generics #bounds {
                    fn serialize<S>(&self, serializer: S) -> ::core::result::Result<S::Ok, S::Error>
                    where
                        S: ::lineup_sdk::__private::serde::Serializer,
                    {
                        #body
                    }
                }
            }
        },
    }
    .of(input)
}

pub(crate) fn json_schema(input: TokenStream) -> TokenStream {
    Derive {
        attributes: &["serde", "schemars", "doc", "cfg", "deprecated"],
        copy: |_, item| {
            quote! {
                #[derive(::lineup_sdk::__private::schemars::JsonSchema)]
                #[schemars(crate = #SCHEMARS)]
                #item
            }
        },
        forward: |name, generics, copy| {
            let text = name.to_string();
            let (impl_generics, type_generics, bounds) = generics.split_for_impl();
            let body = body(
                copy,
                |copy| quote!(<#copy as ::lineup_sdk::__private::schemars::JsonSchema>::json_schema(generator)),
            );
            quote! {
                #[automatically_derived]
                impl #impl_generics ::lineup_sdk::__private::schemars::JsonSchema for #name #type_generics #bounds {
                    fn schema_name() -> ::std::borrow::Cow<'static, str> {
                        ::std::borrow::Cow::Borrowed(#text)
                    }

                    fn schema_id() -> ::std::borrow::Cow<'static, str> {
                        ::std::borrow::Cow::Borrowed(::core::concat!(::core::module_path!(), "::", #text))
                    }

                    fn json_schema(
                        generator: &mut ::lineup_sdk::__private::schemars::SchemaGenerator,
                    ) -> ::lineup_sdk::__private::schemars::Schema {
                        #body
                    }
                }
            }
        },
    }
    .of(input)
}

impl Derive {
    fn of(self, input: TokenStream) -> TokenStream {
        let mut item: DeriveInput = match syn::parse2(input) {
            Ok(item) => item,
            Err(error) => return error.into_compile_error(),
        };
        let name = item.ident.clone();
        if let Err(error) = refuse_generics(&item) {
            let error = error.into_compile_error();
            let silence = (self.forward)(&name, &item.generics, None);
            return quote! { #error #[allow(unused_variables)] const _: () = { #silence }; };
        }
        item.ident = format_ident!("__{name}");
        item.vis = syn::Visibility::Inherited;
        keep_attributes(&mut item, self.attributes);
        let copy = (self.copy)(&name, &item);
        let forward = (self.forward)(&name, &item.generics, Some(&item.ident));
        quote! {
            #[allow(dead_code, clippy::all, clippy::pedantic, missing_docs, reason = "a copy, for the derive alone")]
            const _: () = {
                #copy
                #forward
            };
        }
    }
}

/// The body of a forwarding method.
fn body(copy: Option<&Ident>, forward: impl FnOnce(&Ident) -> TokenStream) -> TokenStream {
    copy.map_or_else(|| quote!(loop {}), forward)
}

fn refuse_generics(item: &DeriveInput) -> syn::Result<()> {
    if item.generics.params.is_empty() {
        return Ok(());
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
    let of_fields = |fields: &mut Fields| fields.iter_mut().for_each(|field| keep(&mut field.attrs));
    match &mut item.data {
        Data::Struct(data) => of_fields(&mut data.fields),
        Data::Enum(data) => {
            for variant in &mut data.variants {
                keep(&mut variant.attrs);
                of_fields(&mut variant.fields);
            }
        }
        Data::Union(data) => data.fields.named.iter_mut().for_each(|field| keep(&mut field.attrs)),
    }
}

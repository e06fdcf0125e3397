//! The SDK's derives are serde's and schemars' own, reached without naming either crate.

use lineup_sdk::{
    __private::{schemars, serde},
    prelude::*,
};

/// Writes one definition down twice: with the SDK's derives, and with the originals.
macro_rules! twice {
    ($($item:item)*) => {
        mod ours {
            use lineup_sdk::prelude::*;
            $(#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)] $item)*
        }
        mod originals {
            use super::{schemars, serde};
            $(
                #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
                #[serde(crate = "serde")]
                #[schemars(crate = "schemars")]
                $item
            )*
        }
    };
}

twice! {
    /// A note.
    ///
    /// In two paragraphs.
    #[serde(rename_all = "camelCase")]
    pub struct Note {
        /// Its title.
        #[schemars(length(min = 1, max = 64))]
        pub long_title: String,
        /// How much it matters.
        #[serde(default)]
        pub weight: Weight,
        /// Where it hangs.
        pub place: Option<Place>,
        /// Its words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub words: Vec<String>,
        secret: u8,
    }

    /// How much something matters.
    #[derive(Default)]
    #[serde(rename_all = "snake_case")]
    pub enum Weight {
        /// A little.
        #[default]
        VeryLight,
        /// A lot.
        #[serde(rename = "massive")]
        Heavy,
    }

    /// Where something hangs.
    #[serde(deny_unknown_fields)]
    pub struct Place {
        /// From the left.
        #[schemars(range(min = 0, max = 99))]
        pub x: u16,
        /// From the top.
        pub y: u16,
    }

    /// A wrapper.
    #[serde(transparent)]
    pub struct Id(pub String);

    /// What happened to a note.
    #[serde(tag = "kind", rename_all = "snake_case")]
    pub enum Event {
        /// It was hung.
        Hung(Place),
        /// It was renamed.
        Renamed {
            /// The title before.
            before: String,
        },
        /// It was burnt.
        Burnt,
    }

    /// Nothing.
    pub struct Unit;
}

/// Reads a text as both types and writes both back; the answers are the same.
macro_rules! same {
    ($name:ident, $text:expr) => {{
        let ours: Result<ours::$name, _> = serde_json::from_str($text);
        let original: Result<originals::$name, _> = serde_json::from_str($text);
        match (ours, original) {
            (Ok(ours), Ok(original)) => assert_eq!(json!(ours), json!(original), "{}", $text),
            (Err(ours), Err(original)) => assert_eq!(ours.to_string(), original.to_string(), "{}", $text),
            (ours, original) => panic!("{}: {ours:?} against {original:?}", $text),
        }
    }};
}

#[test]
fn a_type_reads_and_writes_as_it_does_with_serdes_own_derives() {
    for text in [
        r#"{"longTitle":"a","secret":1}"#,
        r#"{"longTitle":"a","secret":1,"weight":"massive","place":{"x":1,"y":2},"words":["b"]}"#,
        r#"{"longTitle":"a","secret":1,"weight":"very_light","place":null,"words":[],"more":true}"#,
        r#"{"longTitle":"a"}"#,
        r#"{"long_title":"a","secret":1}"#,
        r#"{"longTitle":"a","secret":1,"weight":"Heavy"}"#,
        r#"{"longTitle":"a","secret":1,"place":{"x":1,"y":2,"z":3}}"#,
        r#"{"longTitle":"a","secret":1,"secret":2}"#,
        r#"["a","massive",null,[],1]"#,
        "[]",
        "null",
    ] {
        same!(Note, text);
    }
    for text in [r#""a""#, "1", r#"{"0":"a"}"#] {
        same!(Id, text);
    }
    for text in [
        r#"{"kind":"hung","x":1,"y":2}"#,
        r#"{"kind":"renamed","before":"a"}"#,
        r#"{"kind":"burnt"}"#,
        r#"{"kind":"lost"}"#,
        "{}",
    ] {
        same!(Event, text);
    }
    for text in ["null", "{}"] {
        same!(Unit, text);
    }
}

#[test]
fn a_type_has_the_schema_that_it_has_with_schemars_own_derive() {
    assert_eq!(json!(schemars::schema_for!(ours::Note)), json!(schemars::schema_for!(originals::Note)));
    assert_eq!(json!(schemars::schema_for!(ours::Event)), json!(schemars::schema_for!(originals::Event)));
    assert_eq!(json!(schemars::schema_for!(ours::Id)), json!(schemars::schema_for!(originals::Id)));
    assert_eq!(json!(schemars::schema_for!(ours::Unit)), json!(schemars::schema_for!(originals::Unit)));
}

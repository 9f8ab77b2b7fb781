//! Objects that are objects: serde takes a list for a struct too, by position, where nobody means that.

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;

struct Members<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

/// For `#[serde(deserialize_with)]`: an object.
///
/// # Errors
/// It is anything else, or its members do not fit.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_map(Members(PhantomData))
}

struct Maybe<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Maybe<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_none<E>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Option<T>, D::Error> {
        object(from).map(Some)
    }
}

/// For `#[serde(default, deserialize_with)]`: an object, `null` or nothing.
///
/// # Errors
/// It is anything else, or its members do not fit.
pub fn maybe<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    from.deserialize_option(Maybe(PhantomData))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Inner {
        steps: Option<u32>,
    }

    #[derive(Debug, Deserialize)]
    struct Outer {
        #[serde(default, deserialize_with = "object")]
        one: Inner,
        #[serde(default, deserialize_with = "maybe")]
        other: Option<Inner>,
    }

    #[test]
    fn a_list_is_no_object_though_its_members_would_fit() {
        let read = |text: &str| serde_json::from_str::<Outer>(text);
        let read_well = read(r#"{"one": {"steps": 3}, "other": {"steps": 4}}"#).unwrap();
        assert_eq!(read_well.one.steps, Some(3));
        assert_eq!(read_well.other.unwrap().steps, Some(4));
        for text in ["{}", r#"{"other": null}"#] {
            assert_eq!(read(text).unwrap().other, None);
        }
        for text in [r#"{"one": [3]}"#, r#"{"other": [4]}"#, r#"{"other": 4}"#] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains("expected an object"), "{error}");
        }
    }
}

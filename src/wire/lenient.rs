//! Reading what Lua writes: it has no difference between `{}` and `[]`, and some versions write whole numbers
//! as floats (`1e+15`).

use super::MAX_NUMBER;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;
use std::marker::PhantomData;

/// A JSON object; an empty array stands for an empty one.
pub fn object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Array(items) if items.is_empty() => Ok(Value::Object(Map::new())),
        value @ Value::Object(_) => Ok(value),
        other => Err(D::Error::custom(format_args!(
            "expected an object, got {}",
            kind_of(&other)
        ))),
    }
}

/// As [`object`], where the field may be missing or null.
pub fn maybe_object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        Value::Array(items) if items.is_empty() => Ok(Some(Value::Object(Map::new()))),
        value @ Value::Object(_) => Ok(Some(value)),
        other => Err(D::Error::custom(format_args!(
            "expected an object, got {}",
            kind_of(&other)
        ))),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: DeserializeOwned> Visitor<'de> for ListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        match map.next_key::<String>()? {
            None => Ok(Vec::new()),
            Some(_) => Err(A::Error::custom("expected an array, got an object")),
        }
    }
}

/// An array; an empty object or null stands for an empty one.
pub fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    deserializer.deserialize_any(ListVisitor(PhantomData))
}

/// As [`list`], telling apart whether the field is there.
pub fn maybe_list<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    list(deserializer).map(Some)
}

struct WholeVisitor;

impl Visitor<'_> for WholeVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from 0 to {MAX_NUMBER}")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        if number <= MAX_NUMBER {
            return Ok(number);
        }
        Err(E::invalid_value(
            serde::de::Unexpected::Unsigned(number),
            &self,
        ))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        let unexpected = serde::de::Unexpected::Signed(number);
        u64::try_from(number).map_err(|_| E::invalid_value(unexpected, &self))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<u64, E> {
        if number.fract() == 0.0 && number >= 0.0 && number <= MAX_NUMBER as f64 {
            return Ok(number as u64);
        }
        Err(E::invalid_value(
            serde::de::Unexpected::Float(number),
            &self,
        ))
    }
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Whole(#[serde(deserialize_with = "whole")] u64);

/// A whole number from 0 to [`MAX_NUMBER`], also when it is written as a float.
pub fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    deserializer.deserialize_any(WholeVisitor)
}

/// As [`whole`], where the field may be missing or null.
pub fn maybe_whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(Option::<Whole>::deserialize(deserializer)?.map(|whole| whole.0))
}

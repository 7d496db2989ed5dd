//! JSON of peers, files and callers, in one form: a struct is an object.
//!
//! What serde derives reads a struct from an object of its fields, and from an array of their
//! values in order as well. The second form is in no specification of this project, and doubles the
//! code of every type, which browsers load. [`from_slice`] and [`from_value`] refuse it.

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde_json::Value;
use std::fmt;

/// Parses the text of a JSON value; a struct is an object in it, and never an array.
///
/// ```
/// #[derive(serde::Deserialize)]
/// struct Shape {
///     rows: u64,
///     row_bytes: u64,
/// }
///
/// let shape: Shape = sotto_core::json::from_slice(br#"{"rows": 1000, "row_bytes": 64}"#)?;
/// assert_eq!((shape.rows, shape.row_bytes), (1000, 64));
/// assert!(sotto_core::json::from_slice::<Shape>(b"[1000, 64]").is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
/// An error of `serde_json` for any other text.
pub fn from_slice<'a, T: Deserialize<'a>>(text: &'a [u8]) -> serde_json::Result<T> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let value = T::deserialize(ObjectReader(&mut json))?;
    json.end()?;
    Ok(value)
}

/// Reads a parsed JSON value as [`from_slice`] reads its text.
///
/// # Errors
/// An error of `serde_json` for a value of another type.
pub fn from_value<'a, T: Deserialize<'a>>(value: &'a Value) -> serde_json::Result<T> {
    T::deserialize(ObjectReader(value))
}

/// A deserializer, visitor, seed or access of serde that reads structs from objects alone, at any
/// depth.
struct ObjectReader<T>(T);

/// A struct's visitor, which is given an object or nothing.
struct StructVisitor<V>(V);

macro_rules! forward {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            self.0.$method(visitor)
        })*
    };
}

macro_rules! forward_nested {
    ($($method:ident($($name:ident: $type:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, Self::Error> {
            self.0.$method($($name,)* ObjectReader(visitor))
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for ObjectReader<D> {
    type Error = D::Error;

    forward! {
        deserialize_bool
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64 deserialize_char deserialize_str deserialize_string
        deserialize_bytes deserialize_byte_buf deserialize_unit
        deserialize_identifier deserialize_ignored_any
    }

    forward_nested! {
        deserialize_any()
        deserialize_option()
        deserialize_seq()
        deserialize_map()
        deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str)
        deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.0.deserialize_struct(name, fields, StructVisitor(visitor))
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for StructVisitor<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(ObjectReader(fields))
    }
}

macro_rules! forward_value {
    ($($method:ident($($value:ident: $type:ty)?))*) => {
        $(fn $method<E: serde::de::Error>(self $(, $value: $type)?) -> Result<V::Value, E> {
            self.0.$method($($value)?)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for ObjectReader<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    forward_value! {
        visit_unit() visit_none() visit_bool(value: bool)
        visit_i64(value: i64) visit_i128(value: i128) visit_u64(value: u64) visit_u128(value: u128)
        visit_f64(value: f64) visit_str(value: &str) visit_borrowed_str(value: &'de str) visit_string(value: String)
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(ObjectReader(value))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(ObjectReader(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(ObjectReader(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(ObjectReader(entries))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(ObjectReader(variant))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for ObjectReader<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(ObjectReader(value))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for ObjectReader<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(ObjectReader(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for ObjectReader<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(ObjectReader(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for ObjectReader<A> {
    type Error = A::Error;
    type Variant = ObjectReader<A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        let (name, contents) = self.0.variant_seed(seed)?;
        Ok((name, ObjectReader(contents)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for ObjectReader<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.0.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.0.newtype_variant_seed(ObjectReader(seed))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.0.tuple_variant(len, ObjectReader(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.struct_variant(fields, StructVisitor(visitor))
    }
}

#[cfg(test)]
mod tests {
    use super::{from_slice, from_value};
    use serde::Deserialize;
    use std::collections::BTreeMap;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Point {
        x: u8,
        y: Option<u8>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Figure {
        Nothing,
        Line(Box<[Point; 2]>),
        Circle { center: Point, radius: u8 },
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Drawing(BTreeMap<String, Option<Vec<Figure>>>);

    fn figures(text: &str) -> Option<Vec<Figure>> {
        let by_text: Result<Drawing, _> = from_slice(text.as_bytes());
        let by_value = serde_json::from_str(text).and_then(|value| from_value::<Drawing>(&value));
        assert_eq!(by_text.as_ref().ok(), by_value.as_ref().ok(), "{text}");
        by_text.ok().map(|mut drawing| drawing.0.remove("all").flatten().unwrap_or_default())
    }

    #[test]
    fn objects_are_structs_at_any_depth() {
        let text = r#"{"all": ["nothing", {"line": [{"x": 1, "y": 2}, {"x": 3}]},
            {"circle": {"center": {"x": 4, "y": null}, "radius": 5}}], "none": null}"#;
        let [a, b, center] = [(1, Some(2)), (3, None), (4, None)].map(|(x, y)| Point { x, y });
        let line = Figure::Line(Box::new([a, b]));
        assert_eq!(figures(text), Some(vec![Figure::Nothing, line, Figure::Circle { center, radius: 5 }]));
    }

    #[test]
    fn arrays_are_no_structs_at_any_depth() {
        let point = r#"{"x": 1, "y": 2}"#;
        for [line, center, circle] in [
            [point, point, "{\"center\": CENTER, \"radius\": 5}"],
            ["[1, 2]", point, "{\"center\": CENTER, \"radius\": 5}"],
            [point, "[1, 2]", "{\"center\": CENTER, \"radius\": 5}"],
            [point, point, "[CENTER, 5]"],
        ] {
            let circle = circle.replace("CENTER", center);
            let text = format!(r#"{{"all": [{{"line": [{point}, {line}]}}, {{"circle": {circle}}}]}}"#);
            let is_of_objects = line == point && center == point && circle.starts_with('{');
            assert_eq!(figures(&text).is_some(), is_of_objects, "{text}");
            // The form that serde reads, and this module does not.
            assert!(serde_json::from_str::<Drawing>(&text).is_ok(), "{text}");
        }
    }

    #[test]
    fn text_after_the_value_is_refused() {
        assert!(from_slice::<Point>(b"{\"x\": 1} ").is_ok());
        assert!(from_slice::<Point>(b"{\"x\": 1} 2").is_err());
        assert!(from_slice::<Point>(b"{\"x\": 1, \"x\": 1}").is_err());
    }
}

//! JSON Schema reduced to what type systems can say.

use serde_json::Value;

use super::document::{description, list, type_name};

/// A type.
#[derive(Debug, PartialEq)]
pub(super) enum Shape {
    /// A type with a name.
    Named(String),
    /// Any JSON value.
    Any,
    /// `null`.
    Null,
    /// A text.
    Text,
    /// A number, whole or not.
    Number,
    /// A whole number.
    Integer {
        /// Whether it may be below zero.
        negative: bool,
    },
    /// True or false.
    Boolean,
    /// One certain text.
    Literal(String),
    /// A list.
    List(Box<Shape>),
    /// An object whose members have names of any kind and values of one shape.
    Map(Box<Shape>),
    /// One of several, without doubles.
    OneOf(Vec<Shape>),
    /// An object.
    Object(Object),
}

/// An object.
#[derive(Debug, PartialEq)]
pub(super) struct Object {
    /// Its known members, required ones first, else by name.
    pub(super) members: Vec<Member>,
    /// Whether it may have other members.
    pub(super) open: bool,
}

/// A member of an object.
#[derive(Debug, PartialEq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) required: bool,
    /// Whether null means something else than no member.
    pub(super) null_differs: bool,
    pub(super) shape: Shape,
}

impl Shape {
    /// Reads a schema. What it cannot say becomes [`Shape::Any`].
    pub(super) fn read(schema: &Value) -> Self {
        if let Some(name) = type_name(schema) {
            return Self::Named(name.to_owned());
        }
        let one_of = ["oneOf", "anyOf"].into_iter().map(|key| list(&schema[key])).find(|shapes| !shapes.is_empty());
        match (one_of, schema["const"].as_str(), list(&schema["enum"])) {
            (Some(shapes), ..) => Self::one_of(shapes.iter().map(Self::read)),
            (None, Some(text), _) => Self::Literal(text.to_owned()),
            (None, None, []) => Self::of_types(schema),
            (None, None, texts) => Self::one_of(texts.iter().map(literal)),
        }
    }

    fn of_types(schema: &Value) -> Self {
        let types = match &schema["type"] {
            Value::String(name) => vec![name.as_str()],
            other => list(other).iter().filter_map(Value::as_str).collect(),
        };
        match types[..] {
            [] => Self::Any,
            _ => Self::one_of(types.into_iter().map(|name| Self::of_type(name, schema))),
        }
    }

    fn of_type(name: &str, schema: &Value) -> Self {
        match name {
            "null" => Self::Null,
            "string" => Self::Text,
            "number" => Self::Number,
            "integer" => Self::Integer { negative: schema["minimum"].as_f64().is_none_or(|least| least < 0.0) },
            "boolean" => Self::Boolean,
            "array" => Self::List(Box::new(Self::read(&schema["items"]))),
            "object" if schema["additionalProperties"].is_object() => {
                Self::Map(Box::new(Self::read(&schema["additionalProperties"])))
            }
            "object" => Self::Object(Object::read(schema)),
            _ => Self::Any,
        }
    }

    fn one_of(shapes: impl Iterator<Item = Self>) -> Self {
        let mut all = Vec::new();
        for shape in shapes {
            match shape {
                Self::OneOf(inner) => all.extend(inner),
                other => all.push(other),
            }
        }
        let mut distinct: Vec<Self> = Vec::new();
        for shape in all {
            if !distinct.contains(&shape) {
                distinct.push(shape);
            }
        }
        if distinct.len() == 1 { distinct.remove(0) } else { Self::OneOf(distinct) }
    }
}

impl Object {
    fn read(schema: &Value) -> Self {
        let required: Vec<&str> = list(&schema["required"]).iter().filter_map(Value::as_str).collect();
        let properties = schema["properties"].as_object().into_iter().flatten();
        let mut members: Vec<Member> = properties.map(|(name, schema)| member(name, schema, &required)).collect();
        members.sort_by_key(|member| (!member.required, required.iter().position(|name| *name == member.name)));
        let open = schema["additionalProperties"].as_bool().unwrap_or(false);
        Self { members, open }
    }
}

fn member(name: &str, schema: &Value, required: &[&str]) -> Member {
    Member {
        name: name.to_owned(),
        description: description(schema).to_owned(),
        required: required.contains(&name),
        null_differs: schema["x-nullDiffers"] == true,
        shape: Shape::read(schema),
    }
}

fn literal(value: &Value) -> Shape {
    value.as_str().map_or(Shape::Any, |text| Shape::Literal(text.to_owned()))
}

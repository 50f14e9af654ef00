//! What requests cost, as providers tell it.

use serde_json::{Value, json};

/// What two requests cost together: numbers are added, at any depth.
pub(crate) fn sum_usage(first: Option<Value>, second: Option<Value>) -> Option<Value> {
    let (Some(first), Some(second)) = (&first, &second) else {
        return first.or(second);
    };
    Some(match (first, second) {
        (Value::Object(left), Value::Object(right)) => {
            let mut sum = left.clone();
            for (key, value) in right {
                let added = sum_usage(sum.remove(key), Some(value.clone()));
                sum.insert(key.clone(), added.unwrap_or_default());
            }
            Value::Object(sum)
        }
        (left, right) => match (left.as_u64(), right.as_u64(), left.as_f64(), right.as_f64()) {
            (Some(left), Some(right), ..) => json!(left.saturating_add(right)),
            (_, _, Some(left), Some(right)) => json!(left + right),
            _ => right.clone(),
        },
    })
}

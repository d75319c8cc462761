//! Static analysis of JSON Schemas: the values that a schema can allow, computed without a value.
//!
//! Supports `type`, `enum`, `const`, `properties`, `patternProperties`, `additionalProperties`, `items`, `prefixItems`,
//! `maxItems`, `allOf`, `anyOf`, `oneOf` and `$ref` within the document. Every other keyword is treated as allowing any
//! value, so that a reported conflict is certain.

use serde_json::{Map, Value};

use super::{faults::listed, references::index, types::Types};
use crate::schema::referred;

/// Maximum schemas visited for one shape.
const FUEL: usize = 256;

/// Maximum alternatives of a shape. Keywords that would exceed it are ignored.
const MAX_ALTERNATIVES: usize = 64;

/// Set of possible values: alternatives, each a list of schemas that all apply.
#[derive(Clone, Debug)]
pub(super) struct Shape<'s> {
    root: &'s Value,
    alternatives: Vec<Vec<&'s Map<String, Value>>>,
}

/// Interpretation of properties that a schema does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// Input of an agent: they are allowed.
    Takes,
    /// Output of an agent: they cannot be relied upon.
    Gives,
}

impl<'s> Shape<'s> {
    /// The shape of the values that fit the schema.
    pub(super) fn of(schema: &'s Value) -> Self {
        Self {
            root: schema,
            alternatives: expanded(schema, schema, &mut FUEL.clone()),
        }
    }

    /// The shape of a member or item.
    pub(super) fn within(&self, part: &str, view: View) -> Self {
        let mut fuel = FUEL;
        let mut alternatives = Vec::new();
        for together in &self.alternatives {
            let types = types_of(together);
            let field = types
                .meets(Types::OBJECT)
                .then(|| field(together, part, view));
            let item =
                (types.meets(Types::ARRAY)).then(|| index(part).and_then(|at| item(together, at)));
            for schemas in [field, item].into_iter().flatten().flatten() {
                let all = schemas.into_iter().fold(vec![Vec::new()], |all, schema| {
                    both(all, expanded(self.root, schema, &mut fuel))
                });
                alternatives.extend(all);
            }
        }
        if alternatives.len() > MAX_ALTERNATIVES {
            alternatives = vec![Vec::new()];
        }
        Self {
            root: self.root,
            alternatives,
        }
    }

    /// Possible types; empty if no value fits.
    pub(super) fn types(&self) -> Types {
        let types = self.alternatives.iter().map(|together| types_of(together));
        types.fold(Types::NONE, Types::or)
    }

    /// Possible members, in words.
    pub(super) fn contents(&self) -> String {
        let all = self.alternatives.iter().flatten();
        let mut names: Vec<&str> = Vec::new();
        for name in all.filter_map(|s| properties(s)).flat_map(Map::keys) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        match names.is_empty() {
            true => self.types().to_string(),
            false => listed(names),
        }
    }
}

type Alternatives<'s> = Vec<Vec<&'s Map<String, Value>>>;

/// Expands combining keywords and references into alternatives.
fn expanded<'s>(root: &'s Value, schema: &'s Value, fuel: &mut usize) -> Alternatives<'s> {
    let anything = vec![Vec::new()];
    let fields = match schema {
        Value::Bool(false) => return Vec::new(),
        Value::Object(fields) => fields,
        _ => return anything,
    };
    let Some(left) = fuel.checked_sub(1) else {
        return anything;
    };
    *fuel = left;
    let mut all = vec![vec![fields]];
    let reference = fields.get("$ref").and_then(Value::as_str);
    if let Some(target) = reference.and_then(|to| referred(root, to)) {
        all = both(all, expanded(root, target, fuel));
    }
    for part in list(fields, "allOf") {
        all = both(all, expanded(root, part, fuel));
    }
    for key in ["anyOf", "oneOf"] {
        let branches = list(fields, key);
        if !branches.is_empty() {
            let mut either = Vec::new();
            for branch in branches {
                either.extend(expanded(root, branch, fuel));
            }
            all = both(all, either);
        }
    }
    all.retain(|together| types_of(together) != Types::NONE);
    all
}

/// The product of two sets of alternatives; only the first set if the product would be too large.
fn both<'s>(one: Alternatives<'s>, other: Alternatives<'s>) -> Alternatives<'s> {
    if one.len() * other.len() > MAX_ALTERNATIVES {
        return one;
    }
    let with = |a: &Vec<&'s Map<String, Value>>| {
        let a = a.clone();
        let joined = move |b: &Vec<&'s Map<String, Value>>| [a.as_slice(), b].concat();
        other.iter().map(joined).collect::<Vec<_>>()
    };
    one.iter().flat_map(with).collect()
}

fn list<'s>(fields: &'s Map<String, Value>, key: &str) -> &'s [Value] {
    let list = fields.get(key).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

fn properties(fields: &Map<String, Value>) -> Option<&Map<String, Value>> {
    fields.get("properties").and_then(Value::as_object)
}

fn types_of(together: &[&Map<String, Value>]) -> Types {
    let types = together.iter().map(|fields| own_types(fields));
    types.fold(Types::ANY, Types::and)
}

fn own_types(fields: &Map<String, Value>) -> Types {
    let named = |name: &Value| name.as_str().map_or(Types::ANY, Types::named);
    let mut types = match fields.get("type") {
        Some(Value::Array(names)) => names.iter().map(named).fold(Types::NONE, Types::or),
        Some(name) => named(name),
        None => Types::ANY,
    };
    if let Some(value) = fields.get("const") {
        types = types.and(Types::of(value));
    }
    if let Some(Value::Array(values)) = fields.get("enum") {
        types = types.and(values.iter().map(Types::of).fold(Types::NONE, Types::or));
    }
    types
}

/// Schemas that apply to a field with this name; `None` if it cannot exist or cannot be relied upon.
fn field<'s>(
    together: &[&'s Map<String, Value>],
    name: &str,
    view: View,
) -> Option<Vec<&'s Value>> {
    let mut schemas = Vec::new();
    let (mut is_named, mut are_others_named) = (false, false);
    for fields in together {
        let here = properties(fields);
        are_others_named |= here.is_some_and(|properties| !properties.is_empty());
        if let Some(schema) = here.and_then(|properties| properties.get(name)) {
            schemas.push(schema);
            is_named = true;
            continue;
        }
        let may_be_other = ["patternProperties", "const", "enum"];
        if may_be_other.iter().any(|key| fields.contains_key(*key)) {
            is_named = true;
            continue;
        }
        match fields.get("additionalProperties") {
            Some(Value::Bool(false)) => return None,
            Some(schema) => {
                schemas.push(schema);
                is_named = true;
            }
            None => {}
        }
    }
    let is_possible = is_named || !are_others_named || view == View::Takes;
    is_possible.then_some(schemas)
}

/// Schemas that apply to the item with this index; `None` if it cannot exist.
fn item<'s>(together: &[&'s Map<String, Value>], at: usize) -> Option<Vec<&'s Value>> {
    let mut schemas = Vec::new();
    for fields in together {
        let most = fields.get("maxItems").and_then(Value::as_u64);
        if most.is_some_and(|most| at as u64 >= most) {
            return None;
        }
        let first = match fields.get("items") {
            // Form before draft 2020-12.
            Some(Value::Array(first)) => first.as_slice(),
            _ => list(fields, "prefixItems"),
        };
        match (first.get(at), fields.get("items")) {
            (Some(schema), _) => schemas.push(schema),
            (None, Some(Value::Bool(false))) => return None,
            (None, Some(schema @ Value::Object(_))) => schemas.push(schema),
            (None, _) => {}
        }
    }
    Some(schemas)
}

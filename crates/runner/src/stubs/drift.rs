//! Drifted records: fields renamed, dropped, added, or with another type.

use menace_model::calls::{Recipe, ValueShape};

use super::Stub;
use crate::random_stream::RandomStream;

/// Changes this share of the fields of each record among the arguments, and at least one. `None` when there is no record.
pub(super) fn drift(
    mut stub: Stub,
    shapes: &[ValueShape],
    share: f64,
    draw: usize,
    random: &mut RandomStream,
) -> Option<Stub> {
    let mut changed = 0;
    let arguments = stub.arguments.iter_mut().chain(stub.keywords.iter_mut().map(|(_, value)| value));
    for (index, argument) in arguments.enumerate() {
        changed += match (&mut *argument, shapes.get(index)) {
            (Recipe::New { arguments, keywords, .. }, Some(ValueShape::Object { record: true, .. })) => {
                drift_object(arguments, keywords, draw)
            }
            _ => drift_value(argument, share, draw, random),
        };
    }
    stub.drifted = changed;
    (changed > 0).then_some(stub)
}

/// Drifts a record object. It always has all of its fields, so only the type of one can change.
fn drift_object(arguments: &mut [Recipe], keywords: &mut [(String, Recipe)], draw: usize) -> u32 {
    let mut fields: Vec<&mut Recipe> =
        arguments.iter_mut().chain(keywords.iter_mut().map(|(_, value)| value)).collect();
    let index = draw % fields.len().max(1);
    let Some(field) = fields.get_mut(index) else { return 0 };
    **field = retyped(field);
    1
}

fn drift_value(value: &mut Recipe, share: f64, draw: usize, random: &mut RandomStream) -> u32 {
    match value {
        Recipe::Dict(_, pairs) if pairs.iter().any(|(key, _)| matches!(key, Recipe::Text(_))) => {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of the fields is at most their number"
            )]
            let count = ((pairs.len() as f64 * share).round() as u32).max(1);
            for number in 0..count {
                drift_field(pairs, draw + number as usize, random);
            }
            count
        }
        Recipe::Many(_, items) => items.iter_mut().map(|item| drift_value(item, share, draw, random)).sum(),
        _ => 0,
    }
}

fn drift_field(pairs: &mut Vec<(Recipe, Recipe)>, draw: usize, random: &mut RandomStream) {
    // Each field of a small record is dropped, renamed and retyped in turn; of a large one, random fields are.
    let index = if pairs.len() <= 4 { draw / 4 % pairs.len().max(1) } else { random.below(pairs.len()) };
    match (draw % 4, pairs.get_mut(index)) {
        (0, Some(_)) => {
            pairs.remove(index);
        }
        (1, Some((Recipe::Text(name), _))) => name.push_str("_v2"),
        (2, Some((_, value))) => *value = retyped(value),
        _ => pairs.push((Recipe::text("added_in_v2"), Recipe::Int(1))),
    }
}

/// The same value as an upstream would send it after a change of its format.
fn retyped(value: &Recipe) -> Recipe {
    match value {
        Recipe::Text(text) => Recipe::list([Recipe::text(text)]),
        Recipe::None => Recipe::text(""),
        value => Recipe::text(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_a_record_changes() {
        let record = Recipe::record([("price".to_owned(), Recipe::Int(3))]);
        let stub = Stub { arguments: vec![record.clone()], ..Stub::default() };
        let mut random = RandomStream::new(1, &[]);
        let drifted: Vec<Recipe> = (0..4)
            .map(|draw| drift(stub.clone(), &[], 0.05, draw, &mut random).unwrap().arguments[0].clone())
            .collect();
        assert!(drifted.iter().all(|changed| *changed != record), "{drifted:?}");
        assert_eq!(drifted[1], Recipe::record([("price_v2".to_owned(), Recipe::Int(3))]));
        assert_eq!(drifted[2], Recipe::record([("price".to_owned(), Recipe::text("3"))]));
    }

    #[test]
    fn more_fields_change_when_more_are_asked_for() {
        let fields = ('a'..='z').map(|name| (name.to_string(), Recipe::Int(3)));
        let stub = Stub { arguments: vec![Recipe::record(fields)], ..Stub::default() };
        let changed =
            |share| drift(stub.clone(), &[], share, 0, &mut RandomStream::new(1, &[])).unwrap().drifted;
        assert_eq!((changed(0.05), changed(0.2)), (1, 5));
    }

    #[test]
    fn without_a_record_nothing_drifts() {
        let stub = Stub { arguments: vec![Recipe::Int(1)], ..Stub::default() };
        assert_eq!(drift(stub, &[], 0.05, 0, &mut RandomStream::new(1, &[])), None);
    }
}

//! Wrong calls: too few or too many arguments, values of another type, missing fields.

use menace_model::calls::{Recipe, ValueShape};

use super::Stub;

/// Makes a correct call wrong. `None` when there is no way to do so.
pub(super) fn misuse(mut stub: Stub, shapes: &[ValueShape], draw: usize) -> Option<Stub> {
    let count = stub.arguments.len() + stub.keywords.len();
    match draw {
        0 if count > 0 => {
            if stub.arguments.pop().is_none() {
                stub.keywords.pop();
            }
        }
        0 | 1 => stub.keywords.push(("no_such_parameter".into(), Recipe::Int(1))),
        2 => stub.arguments.push(Recipe::Int(1)),
        // Each parameter in turn gets a wrong value, and each wrong value in turn.
        _ if count > 0 => {
            let index = (draw - 3) % count;
            let shape = shapes.get(index).unwrap_or(&ValueShape::Any);
            let wrong = wrong_for(shape, (draw - 3) / count)?;
            let positional = stub.arguments.len();
            match stub.arguments.get_mut(index) {
                Some(argument) => *argument = wrong,
                None => stub.keywords.get_mut(index - positional)?.1 = wrong,
            }
        }
        _ => return None,
    }
    stub.is_wrong = true;
    Some(stub)
}

/// A value that does not fit a shape. The first ones look most like values that fit.
fn wrong_for(shape: &ValueShape, draw: usize) -> Option<Recipe> {
    let mut candidates = vec![
        Recipe::None,
        Recipe::text("not what is expected"),
        Recipe::Int(7),
        Recipe::list([Recipe::None]),
        Recipe::record([("unexpected".to_owned(), Recipe::None)]),
        Recipe::Float(0.5),
    ];
    if matches!(shape, ValueShape::Int | ValueShape::Bool) {
        candidates.rotate_right(1);
    }
    let wrong: Vec<Recipe> = candidates.into_iter().filter(|value| !takes(shape, value)).collect();
    wrong.get(draw % wrong.len().max(1)).cloned()
}

/// Whether a value of this kind fits the shape, as far as the shape says.
fn takes(shape: &ValueShape, value: &Recipe) -> bool {
    match (shape, value) {
        (ValueShape::Any, _) => false,
        (ValueShape::Union { of }, value) => of.iter().any(|shape| takes(shape, value)),
        (ValueShape::None, Recipe::None) => true,
        (ValueShape::Str | ValueShape::Literal { .. }, Recipe::Text(_)) => true,
        (ValueShape::Int | ValueShape::Float | ValueShape::Complex | ValueShape::Bool, Recipe::Int(_)) => {
            true
        }
        (ValueShape::Float | ValueShape::Complex, Recipe::Float(_)) => true,
        (ValueShape::List { .. } | ValueShape::Iterator { .. }, Recipe::Many(..) | Recipe::Text(_)) => true,
        (ValueShape::Dict { .. } | ValueShape::TypedDict { .. }, Recipe::Dict(..)) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_misuse_differs_from_the_correct_call() {
        let right = Stub { arguments: vec![Recipe::Int(1)], ..Stub::default() };
        for draw in 0..24 {
            let wrong = misuse(right.clone(), &[ValueShape::Int], draw).unwrap();
            assert!(wrong.is_wrong);
            assert_ne!((&wrong.arguments, &wrong.keywords), (&right.arguments, &right.keywords), "{draw}");
            assert!(
                wrong.arguments.len() != 1
                    || !wrong.keywords.is_empty()
                    || !matches!(wrong.arguments[0], Recipe::Int(_))
            );
        }
    }
}

//! Smaller variants of a value, each with one part removed or reduced.

use menace_model::calls::Recipe;

use crate::stubs::Stub;

/// Variants of the arguments that are smaller in one place, the smallest first.
pub(crate) fn smaller_stubs(stub: &Stub) -> Vec<Stub> {
    let mut found = Vec::new();
    for index in 0..stub.keywords.len() {
        let mut without = stub.clone();
        without.keywords.remove(index);
        found.push(without);
    }
    for (index, argument) in stub.arguments.iter().enumerate() {
        found.extend(smaller(argument).into_iter().map(|value| {
            let mut changed = stub.clone();
            changed.arguments[index] = value;
            changed
        }));
    }
    for (index, (_, argument)) in stub.keywords.iter().enumerate() {
        found.extend(smaller(argument).into_iter().map(|value| {
            let mut changed = stub.clone();
            changed.keywords[index].1 = value;
            changed
        }));
    }
    if let Some(owner) = &stub.owner {
        found.extend(smaller(owner).into_iter().map(|value| Stub { owner: Some(value), ..stub.clone() }));
    }
    let size = stub_size(stub);
    found.retain(|candidate| stub_size(candidate) < size);
    found.sort_by_key(stub_size);
    found
}

/// Size of the arguments for a reader.
pub(crate) fn stub_size(stub: &Stub) -> u64 {
    let by_name: u64 = stub.keywords.iter().map(|(_, value)| 1 + size(value)).sum();
    let by_position: u64 = stub.arguments.iter().map(|value| 1 + size(value)).sum();
    by_name + by_position + stub.owner.as_ref().map_or(0, size)
}

/// Size of a value for a reader: characters, elements, digits.
pub(crate) fn size(recipe: &Recipe) -> u64 {
    match recipe {
        Recipe::None | Recipe::Bool(_) => 0,
        // 0 is smaller than 1, and every number than its negative.
        Recipe::Int(number) => {
            let magnitude = match u64::try_from(number.unsigned_abs()) {
                Ok(magnitude) if magnitude < 4096 => 2 * magnitude,
                _ => 8192 + u64::from(number.unsigned_abs().ilog2()),
            };
            magnitude + u64::from(*number < 0)
        }
        Recipe::Float(number) if !number.is_finite() => 200,
        Recipe::Float(number) if number.fract() != 0.0 => 100,
        Recipe::Float(number) => {
            [0.0, 1.0, 10.0, 1e3, 1e6, 1e9]
                .iter()
                .position(|bound| number.abs() <= *bound)
                .map_or(50, |magnitude| 2 * magnitude as u64)
                + u64::from(*number < 0.0)
        }
        Recipe::Text(text) => text.chars().map(|character| if character == 'a' { 2 } else { 3 }).sum(),
        Recipe::Escaped(text) => 4 * text.len() as u64,
        Recipe::Bytes(bytes) => bytes.iter().map(|byte| if *byte == 0 { 2 } else { 3 }).sum(),
        Recipe::Many(_, items) => items.iter().map(|item| 2 + size(item)).sum(),
        Recipe::Dict(_, pairs) => pairs.iter().map(|(key, value)| 2 + size(key) + size(value)).sum(),
        Recipe::Namespace(fields) => fields.iter().map(|(_, value)| 2 + size(value)).sum(),
        Recipe::New { arguments, keywords, .. } => {
            arguments.iter().map(|value| 2 + size(value)).sum::<u64>()
                + keywords.iter().map(|(_, value)| 3 + size(value)).sum::<u64>()
        }
        Recipe::Function(value) | Recipe::AsyncFunction(value) | Recipe::Awaitable(value) => 1 + size(value),
        Recipe::Repeated(value, count) | Recipe::Nested(value, count) => {
            count.saturating_mul(1 + size(value))
        }
        Recipe::Written(_, text) => text.len() as u64,
        Recipe::Seconds(_) | Recipe::Zone(_) | Recipe::Range(..) | Recipe::Member(..) | Recipe::Class(_) => 1,
        Recipe::Source(_, text) => text.len() as u64,
    }
}

/// Variants of a value that are smaller in one place.
fn smaller(recipe: &Recipe) -> Vec<Recipe> {
    match recipe {
        Recipe::Int(number) => smaller_numbers(*number).into_iter().map(Recipe::Int).collect(),
        Recipe::Float(number) => {
            let mut found = vec![Recipe::Float(0.0), Recipe::Float(1.0)];
            if number.is_finite() {
                found.extend([Recipe::Float(number.trunc()), Recipe::Float((number / 2.0).trunc())]);
                found.push(Recipe::Float(number.abs()));
            }
            found
        }
        Recipe::Text(text) => smaller_texts(text).into_iter().map(Recipe::Text).collect(),
        Recipe::Bytes(bytes) => smaller_lists(bytes, |_| Vec::new()).into_iter().map(Recipe::Bytes).collect(),
        Recipe::Many(kind, items) => {
            smaller_lists(items, smaller).into_iter().map(|items| Recipe::Many(*kind, items)).collect()
        }
        Recipe::Dict(class, pairs) => {
            let smaller_pair = |(key, value): &(Recipe, Recipe)| {
                let keys = smaller(key).into_iter().map(|key| (key, value.clone()));
                keys.chain(smaller(value).into_iter().map(|value| (key.clone(), value))).collect()
            };
            let lists = smaller_lists(pairs, smaller_pair);
            lists.into_iter().map(|pairs| Recipe::Dict(class.clone(), pairs)).collect()
        }
        Recipe::New { class, arguments, keywords } => {
            let mut found = Vec::new();
            for (index, argument) in arguments.iter().enumerate() {
                for value in smaller(argument) {
                    let mut arguments = arguments.clone();
                    arguments[index] = value;
                    found.push(Recipe::New { class: class.clone(), arguments, keywords: keywords.clone() });
                }
            }
            for index in 0..keywords.len() {
                let mut keywords = keywords.clone();
                keywords.remove(index);
                found.push(Recipe::New { class: class.clone(), arguments: arguments.clone(), keywords });
            }
            found
        }
        Recipe::Repeated(value, count) => {
            let mut found = vec![(**value).clone()];
            let counts = [count / 1000, count / 100, count / 10, count / 2, count.saturating_sub(1)];
            found.extend(
                counts
                    .into_iter()
                    .filter(|count| *count > 1)
                    .map(|count| Recipe::Repeated(value.clone(), count)),
            );
            found
        }
        Recipe::Nested(value, depth) => [depth / 10, depth / 2, depth.saturating_sub(1)]
            .into_iter()
            .map(|depth| Recipe::Nested(value.clone(), depth))
            .collect(),
        Recipe::Function(value) => {
            smaller(value).into_iter().map(|value| Recipe::Function(Box::new(value))).collect()
        }
        _ => Vec::new(),
    }
}

fn smaller_numbers(number: i128) -> Vec<i128> {
    let mut found = vec![0, 1, number.saturating_abs(), number / 2, number - number.signum()];
    // Failures are common just beyond a power of two.
    found.extend([7, 8, 15, 16, 31, 32, 53, 63, 64].map(|bits| 1_i128 << bits));
    found.retain(|candidate| *candidate != number);
    found
}

fn smaller_texts(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let plainer = |character: &char| if *character == 'a' { Vec::new() } else { vec!['a'] };
    smaller_lists(&characters, plainer)
        .into_iter()
        .map(|characters| characters.into_iter().collect())
        .collect()
}

/// The empty list, either half, all but one element, and each element reduced.
fn smaller_lists<T: Clone>(items: &[T], smaller: impl Fn(&T) -> Vec<T>) -> Vec<Vec<T>> {
    /// Number of elements of a long list that are tried individually.
    const MOST: usize = 24;
    let mut found = Vec::new();
    if items.is_empty() {
        return found;
    }
    let middle = items.len() / 2;
    found.extend([Vec::new(), items[..middle].to_vec(), items[middle..].to_vec()]);
    for index in 0..items.len().min(MOST) {
        let mut without = items.to_vec();
        without.remove(index);
        found.push(without);
        for candidate in smaller(&items[index]) {
            let mut changed = items.to_vec();
            changed[index] = candidate;
            found.push(changed);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes smaller variants as long as they still fail.
    fn shrunk(mut stub: Stub, fails: impl Fn(&Stub) -> bool) -> Stub {
        assert!(fails(&stub), "the initial input has to fail");
        while let Some(next) = smaller_stubs(&stub).into_iter().find(|candidate| fails(candidate)) {
            stub = next;
        }
        stub
    }

    fn of(argument: Recipe) -> Stub {
        Stub { arguments: vec![argument], ..Stub::default() }
    }

    #[test]
    fn numbers_become_the_smallest_that_fails() {
        let over_nine = |stub: &Stub| matches!(stub.arguments[0], Recipe::Int(number) if number > 9);
        assert_eq!(shrunk(of(Recipe::Int(8_231)), over_nine), of(Recipe::Int(10)));
        let negative = |stub: &Stub| matches!(stub.arguments[0], Recipe::Int(number) if number < 0);
        assert_eq!(shrunk(of(Recipe::Int(-500)), negative), of(Recipe::Int(-1)));
    }

    #[test]
    fn texts_and_lists_keep_only_what_matters() {
        let has_quote = |stub: &Stub| matches!(&stub.arguments[0], Recipe::Text(text) if text.contains('\''));
        assert_eq!(shrunk(of(Recipe::text("Robert'); DROP TABLE")), has_quote), of(Recipe::text("'")));
        let long = |stub: &Stub| matches!(&stub.arguments[0], Recipe::Many(_, items) if items.len() >= 2);
        let list = Recipe::list((0..40).map(Recipe::Int));
        assert_eq!(shrunk(of(list), long), of(Recipe::list([Recipe::Int(0), Recipe::Int(0)])));
    }

    #[test]
    fn a_key_that_matters_stays() {
        let record = Recipe::record([("a".to_owned(), Recipe::Int(5)), ("b".to_owned(), Recipe::Int(0))]);
        let has_b = |stub: &Stub| match &stub.arguments[0] {
            Recipe::Dict(_, pairs) => pairs.iter().any(|(key, _)| *key == Recipe::text("b")),
            _ => false,
        };
        assert_eq!(shrunk(of(record), has_b), of(Recipe::record([("b".to_owned(), Recipe::Int(0))])));
    }

    #[test]
    fn every_step_is_smaller_so_shrinking_terminates() {
        for recipe in
            [Recipe::Float(f64::NAN), Recipe::Float(3.5), Recipe::Repeated(Box::new(Recipe::text("x")), 100)]
        {
            let stub = of(recipe);
            assert!(smaller_stubs(&stub).iter().all(|candidate| stub_size(candidate) < stub_size(&stub)));
        }
    }
}

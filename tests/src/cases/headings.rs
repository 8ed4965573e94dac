//! Titles of the cases in a Markdown file: its second-level headings. Also used by `build.rs`.

/// The lines of a file that are not inside a fence, with their indexes.
pub(crate) fn lines_outside_fences(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_inside = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let is_fence = line.starts_with("```");
        is_inside ^= is_fence;
        !is_inside && !is_fence
    })
}

/// The titles, in order.
pub(crate) fn case_titles(text: &str) -> Vec<&str> {
    lines_outside_fences(text).filter_map(|(_, line)| line.strip_prefix("## ")).map(str::trim).collect()
}

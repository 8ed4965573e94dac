//! Bar charts as PNG.

use font8x8::UnicodeFonts;
use menace_tracker::history::SynergySummary;

const WIDTH: usize = 640;
const ROW: usize = 24;
/// Position of zero, and length of the longest bar, in pixels.
const MIDDLE: usize = 420;
const LONGEST: f64 = 140.0;
/// Width of a character in pixels.
const CHARACTER: usize = 8;

type PlotColour = [u8; 3];
const PAPER: PlotColour = [255, 255, 255];
const INK: PlotColour = [32, 32, 32];
const LINE: PlotColour = [136, 136, 136];
const GAIN: PlotColour = [39, 174, 96];
const LOSS: PlotColour = [192, 57, 43];

struct PlotCanvas {
    pixels: Vec<u8>,
    height: usize,
}

impl PlotCanvas {
    fn new(height: usize) -> Self {
        Self { pixels: PAPER.repeat(WIDTH * height), height }
    }

    fn fill(&mut self, (x, y): (usize, usize), (width, height): (usize, usize), colour: PlotColour) {
        for row in y..(y + height).min(self.height) {
            for column in x..(x + width).min(WIDTH) {
                let at = (row * WIDTH + column) * 3;
                self.pixels[at..at + 3].copy_from_slice(&colour);
            }
        }
    }

    fn write(&mut self, (x, y): (usize, usize), text: &str) {
        for (number, character) in text.chars().enumerate() {
            let Some(glyph) = font8x8::BASIC_FONTS.get(character) else { continue };
            for (row, bits) in glyph.iter().enumerate() {
                for column in (0..CHARACTER).filter(|column| bits >> column & 1 == 1) {
                    self.fill((x + number * CHARACTER + column, y + row), (1, 1), INK);
                }
            }
        }
    }
}

/// PNG with one bar per metric, with its name and value.
pub(super) fn png(rows: &[SynergySummary]) -> Result<Vec<u8>, png::EncodingError> {
    let most = rows.iter().map(|row| row.average.abs()).fold(f64::MIN_POSITIVE, f64::max);
    let mut canvas = PlotCanvas::new(rows.len() * ROW + 16);
    for (at, row) in rows.iter().enumerate() {
        let top = 8 + at * ROW;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the length is at most LONGEST"
        )]
        let length = (row.average.abs() / most * LONGEST).round() as usize;
        let (left, colour) = if row.average < 0.0 { (MIDDLE - length, LOSS) } else { (MIDDLE, GAIN) };
        canvas.write((8, top + 4), &row.metric);
        canvas.fill((left, top), (length, 16), colour);
        canvas.write((572, top + 4), &format!("{:+.3}", row.average));
    }
    let height = canvas.height;
    canvas.fill((MIDDLE, 4), (1, height - 8), LINE);
    let mut bytes = Vec::new();
    let size = |pixels: usize| u32::try_from(pixels).unwrap_or(u32::MAX);
    let mut encoder = png::Encoder::new(&mut bytes, size(WIDTH), size(height));
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&canvas.pixels)?;
    writer.finish()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positive_bars_are_right_and_negative_bars_left() {
        let row = |average| SynergySummary { metric: "synergy_roi".into(), last: average, average, count: 1 };
        let bytes = png(&[row(1.0), row(-0.5)]).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        let colour = |x: usize, y: usize| &pixels[(y * WIDTH + x) * 3..][..3];
        let (first, second) = (16, 16 + ROW);
        assert_eq!((colour(MIDDLE + 100, first), colour(MIDDLE - 20, first)), (&GAIN[..], &PAPER[..]));
        assert_eq!((colour(MIDDLE - 20, second), colour(MIDDLE - 100, second)), (&LOSS[..], &PAPER[..]));
    }
}

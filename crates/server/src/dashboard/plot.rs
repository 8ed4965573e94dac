//! Line plots over cycles, as SVG and PNG.

use std::fmt::Write as _;

use font8x8::UnicodeFonts;

const WIDTH: usize = 720;
const HEIGHT: usize = 320;
/// Margins for labels.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 32.0;
/// Width of a character in pixels.
const CHARACTER: usize = 8;

type RgbColour = [u8; 3];
const PAPER: RgbColour = [255, 255, 255];
const INK: RgbColour = [32, 32, 32];
const GRID: RgbColour = [221, 221, 221];

/// One line, with gaps where values are missing.
pub(super) struct PlotLine {
    pub(super) name: String,
    pub(super) values: Vec<Option<f64>>,
    pub(super) colour: RgbColour,
}

/// Lines over the same cycles.
pub(super) struct LinePlot {
    pub(super) title: String,
    pub(super) lines: Vec<PlotLine>,
}

impl LinePlot {
    /// Minimum and maximum, widened if they are equal.
    fn range(&self) -> (f64, f64) {
        let values = self.lines.iter().flat_map(|line| line.values.iter().flatten());
        let (least, most) =
            values.fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(*value), most.max(*value)));
        match most - least {
            apart if apart > 1e-9 => (least, most),
            _ if most < least => (0.0, 1.0),
            _ => (least - 0.5, most + 0.5),
        }
    }

    /// Coordinates of a value.
    fn coordinates(&self, at: usize, value: f64) -> (f64, f64) {
        let (least, most) = self.range();
        let cycles = self.lines.iter().map(|line| line.values.len()).max().unwrap_or(1).max(2) - 1;
        let x = LEFT + at as f64 / cycles as f64 * (WIDTH as f64 - LEFT - RIGHT);
        let y = TOP + (most - value) / (most - least) * (HEIGHT as f64 - TOP - BOTTOM);
        (x, y)
    }

    fn points(&self, line: &PlotLine) -> Vec<(usize, (f64, f64))> {
        let known = line.values.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?)));
        known.map(|(at, value)| (at, self.coordinates(at, value))).collect()
    }

    /// Values of the horizontal grid lines.
    fn marks(&self) -> Vec<f64> {
        let (least, most) = self.range();
        (0..=4).map(|step| least + (most - least) * f64::from(step) / 4.0).collect()
    }

    pub(super) fn svg(&self) -> String {
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
             font-size=\"12\" role=\"img\" aria-label=\"{0}\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
             <text x=\"{LEFT}\" y=\"20\">{0}</text>\n",
            escaped(&self.title)
        );
        for mark in self.marks() {
            let (_, y) = self.coordinates(0, mark);
            let _ = writeln!(
                text,
                "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{}\" y2=\"{y:.1}\" stroke=\"{}\"/><text x=\"8\" y=\"{:.1}\">{mark:.3}</text>",
                WIDTH as f64 - RIGHT,
                web(GRID),
                y + 4.0
            );
        }
        for (number, line) in self.lines.iter().enumerate() {
            let colour = web(line.colour);
            for pair in self.points(line).windows(2).filter(|pair| pair[1].0 == pair[0].0 + 1) {
                let ((_, from), (_, to)) = (pair[0], pair[1]);
                let _ = writeln!(
                    text,
                    "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                    from.0, from.1, to.0, to.1
                );
            }
            for (at, (x, y)) in self.points(line) {
                let value = line.values[at].unwrap_or(f64::NAN);
                let _ = writeln!(
                    text,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"><title>{} {}: {value:.4}</title></circle>",
                    escaped(&line.name),
                    at + 1
                );
            }
            let _ = writeln!(
                text,
                "<text x=\"{}\" y=\"20\" fill=\"{colour}\">{}</text>",
                WIDTH - 180 + number * 80,
                escaped(&line.name)
            );
        }
        text + "</svg>\n"
    }

    pub(super) fn png(&self) -> Result<Vec<u8>, png::EncodingError> {
        let mut canvas = PixelCanvas(PAPER.repeat(WIDTH * HEIGHT));
        canvas.write((LEFT, 12.0), &self.title, INK);
        for mark in self.marks() {
            let (_, y) = self.coordinates(0, mark);
            canvas.line((LEFT, y), (WIDTH as f64 - RIGHT, y), GRID, 0);
            canvas.write((8.0, y - 4.0), &format!("{mark:.3}"), INK);
        }
        for (number, line) in self.lines.iter().enumerate() {
            let points = self.points(line);
            for pair in points.windows(2).filter(|pair| pair[1].0 == pair[0].0 + 1) {
                canvas.line(pair[0].1, pair[1].1, line.colour, 1);
            }
            for (_, point) in points {
                canvas.line(point, point, line.colour, 2);
            }
            canvas.write(((WIDTH - 180 + number * 80) as f64, 12.0), &line.name, line.colour);
        }
        canvas.encoded()
    }
}

fn web([red, green, blue]: RgbColour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// RGB pixels, row by row.
struct PixelCanvas(Vec<u8>);

impl PixelCanvas {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "points outside the canvas are skipped first"
    )]
    fn dot(&mut self, x: f64, y: f64, colour: RgbColour) {
        let is_inside = x >= 0.0 && y >= 0.0 && x < WIDTH as f64 && y < HEIGHT as f64;
        if is_inside {
            let at = (y as usize * WIDTH + x as usize) * 3;
            self.0[at..at + 3].copy_from_slice(&colour);
        }
    }

    /// Draws a line that extends `wider` pixels to each side.
    fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: RgbColour, wider: i32) {
        let steps = (to.0 - from.0).abs().max((to.1 - from.1).abs()).ceil().max(1.0);
        let mut step = 0.0;
        while step <= steps {
            let share = step / steps;
            let (x, y) = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
            for right in -wider..=wider {
                for down in -wider..=wider {
                    self.dot(x + f64::from(right), y + f64::from(down), colour);
                }
            }
            step += 1.0;
        }
    }

    fn write(&mut self, (x, y): (f64, f64), text: &str, colour: RgbColour) {
        for (number, character) in text.chars().enumerate() {
            let Some(glyph) = font8x8::BASIC_FONTS.get(character) else { continue };
            for (row, bits) in glyph.iter().enumerate() {
                for column in (0..CHARACTER).filter(|column| bits >> column & 1 == 1) {
                    self.dot(x + (number * CHARACTER + column) as f64, y + row as f64, colour);
                }
            }
        }
    }

    fn encoded(&self) -> Result<Vec<u8>, png::EncodingError> {
        let mut bytes = Vec::new();
        let size = |pixels: usize| u32::try_from(pixels).unwrap_or(u32::MAX);
        let mut encoder = png::Encoder::new(&mut bytes, size(WIDTH), size(HEIGHT));
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.0)?;
        writer.finish()?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(values: Vec<Option<f64>>) -> LinePlot {
        let line = PlotLine { name: "a<b".into(), values, colour: [200, 0, 0] };
        LinePlot { title: "roi & \"more\"".into(), lines: vec![line] }
    }

    #[test]
    fn gaps_are_not_drawn_and_names_are_escaped() {
        let svg = plot(vec![Some(0.1), Some(0.5), None, Some(0.4)]).svg();
        assert_eq!(svg.matches("stroke-width").count(), 1);
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(svg.contains("a&lt;b") && svg.contains("roi &amp; &quot;more&quot;"), "{svg}");
    }

    #[test]
    fn lines_are_drawn_in_their_colour() {
        let plot = plot(vec![Some(0.0), Some(1.0)]);
        let bytes = plot.png().unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        let count = pixels.chunks(3).filter(|pixel| *pixel == [200, 0, 0]).count();
        assert!(count > 1_000, "{count}");
        // A single value or a constant line can be drawn, too.
        for values in [vec![Some(0.3)], vec![Some(0.3), Some(0.3)], vec![]] {
            assert!(
                LinePlot {
                    title: String::new(),
                    lines: vec![PlotLine { name: String::new(), values, colour: INK }]
                }
                .png()
                .is_ok()
            );
        }
    }
}

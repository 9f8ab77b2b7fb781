//! A screen: cells in memory, which Lua draws on and Rust reads. Computers and monitors have one each.

/// Lines that scrolled away and are still kept for [`Screen::transcript`].
const KEPT_LINES: usize = 2000;

/// Standard colours, as 0xRRGGBB, from white (1) to black (32768).
const PALETTE: [u32; 16] = [
    0xF0F0F0, 0xF2B233, 0xE57FD8, 0x99B2F2, 0xDEDE6C, 0x7FCC19, 0xF2B2CC, 0x4C4C4C, 0x999999,
    0x4C99B2, 0xB266E5, 0x3366CC, 0x7F664C, 0x57A64E, 0xCC4C4C, 0x111111,
];

/// The cells, the cursor and the current colours (0 to 15).
pub(crate) struct Screen {
    width: usize,
    height: usize,
    /// Characters, then text colours, then background colours: `width * height` bytes each, line after line.
    planes: [Vec<u8>; 3],
    gone: std::collections::VecDeque<String>,
    keep_gone: bool,
    /// From 1; may lie outside of the screen.
    pub(crate) cursor: (i64, i64),
    pub(crate) blink: bool,
    pub(crate) fg: u8,
    pub(crate) bg: u8,
    pub(crate) palette: [u32; 16],
}

impl Screen {
    /// An empty screen. `keep_gone` remembers lines that scroll away, for [`Screen::transcript`].
    pub(crate) fn new((width, height): (usize, usize), keep_gone: bool) -> Screen {
        let mut screen = Screen {
            width,
            height,
            planes: Default::default(),
            gone: Default::default(),
            keep_gone,
            cursor: (1, 1),
            blink: false,
            fg: 0,
            bg: 15,
            palette: PALETTE,
        };
        screen.clear();
        screen
    }

    /// Columns and lines.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// The standard value of colour `index`.
    pub(crate) fn native_colour(index: usize) -> u32 {
        PALETTE[index & 15]
    }

    /// As after a start: empty, white on black, cursor in the corner.
    pub(crate) fn reset(&mut self) {
        let gone = std::mem::take(&mut self.gone);
        *self = Screen {
            gone,
            ..Screen::new(self.size(), self.keep_gone)
        };
    }

    /// Another size: what fits of the old cells stays.
    pub(crate) fn resize(&mut self, (width, height): (usize, usize)) {
        let mut resized = Screen::new((width, height), self.keep_gone);
        (resized.cursor, resized.blink) = (self.cursor, self.blink);
        (resized.fg, resized.bg, resized.palette) = (self.fg, self.bg, self.palette);
        let columns = width.min(self.width);
        for y in 0..height.min(self.height) {
            for (new, old) in resized.planes.iter_mut().zip(&self.planes) {
                let (to, from) = (y * width, y * self.width);
                new[to..to + columns].copy_from_slice(&old[from..from + columns]);
            }
        }
        resized.gone = std::mem::take(&mut self.gone);
        *self = resized;
    }

    /// Empties all cells; the cursor stays.
    pub(crate) fn clear(&mut self) {
        let cells = self.width * self.height;
        for (plane, fill) in self.planes.iter_mut().zip([b' ', self.fg, self.bg]) {
            plane.clear();
            plane.resize(cells, fill);
        }
    }

    /// Empties the cursor's line.
    pub(crate) fn clear_line(&mut self) {
        if let Some(y) = self.line() {
            self.blank(y);
        }
    }

    /// Writes bytes at the cursor; what lies outside of the screen is lost.
    pub(crate) fn write(&mut self, text: &[u8]) {
        let (fg, bg) = (self.fg, self.bg);
        self.put(text, |_| (fg, bg));
    }

    /// Writes bytes with a colour digit (`0` to `f`) for each; the lengths must be equal.
    pub(crate) fn blit(&mut self, text: &[u8], fg: &[u8], bg: &[u8]) {
        self.put(text, |i| (hex(fg[i], 0), hex(bg[i], 15)));
    }

    /// Moves all lines up by `n` (down if negative).
    pub(crate) fn scroll(&mut self, n: i64) {
        let count = n.unsigned_abs().min(self.height as u64) as usize;
        if n > 0 {
            for y in 0..count {
                self.keep(y);
            }
        }
        let moved = count * self.width;
        for plane in &mut self.planes {
            if n > 0 {
                plane.rotate_left(moved);
            } else {
                plane.rotate_right(moved);
            }
        }
        let fresh = if n > 0 {
            self.height - count..self.height
        } else {
            0..count
        };
        fresh.for_each(|y| self.blank(y));
    }

    /// The lines, without trailing spaces; each byte is shown as the Latin-1 character of its number.
    pub(crate) fn text(&self) -> Vec<String> {
        (0..self.height).map(|y| self.shown(y)).collect()
    }

    /// All that was shown: kept lines that scrolled away, then the screen, without empty lines at the end.
    pub(crate) fn transcript(&self) -> String {
        let mut lines: Vec<String> = self.gone.iter().cloned().chain(self.text()).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines.join("\n")
    }

    fn put(&mut self, text: &[u8], colour: impl Fn(usize) -> (u8, u8)) {
        let start = self.cursor.0;
        if let Some(y) = self.line() {
            let row = y * self.width;
            for (i, &byte) in text.iter().enumerate() {
                let x = start + i as i64;
                if (1..=self.width as i64).contains(&x) {
                    let cell = row + (x - 1) as usize;
                    let (fg, bg) = colour(i);
                    self.planes[0][cell] = if byte < 32 { b' ' } else { byte };
                    (self.planes[1][cell], self.planes[2][cell]) = (fg, bg);
                }
            }
        }
        self.cursor.0 += text.len() as i64;
    }

    /// The cursor's line, from 0, if it is on the screen.
    fn line(&self) -> Option<usize> {
        let y = usize::try_from(self.cursor.1 - 1).ok()?;
        (y < self.height).then_some(y)
    }

    fn blank(&mut self, y: usize) {
        let cells = y * self.width..(y + 1) * self.width;
        for (plane, fill) in self.planes.iter_mut().zip([b' ', self.fg, self.bg]) {
            plane[cells.clone()].fill(fill);
        }
    }

    fn keep(&mut self, y: usize) {
        if self.keep_gone {
            if self.gone.len() == KEPT_LINES {
                self.gone.pop_front();
            }
            let line = self.shown(y);
            self.gone.push_back(line);
        }
    }

    fn shown(&self, y: usize) -> String {
        let cells = &self.planes[0][y * self.width..(y + 1) * self.width];
        let text: String = cells.iter().map(|&b| char::from(b)).collect();
        text.trim_end().to_owned()
    }
}

fn hex(digit: u8, otherwise: u8) -> u8 {
    char::from(digit)
        .to_digit(16)
        .map_or(otherwise, |d| d as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_beyond_the_edge_is_lost_but_moves_the_cursor() {
        let mut screen = Screen::new((51, 19), false);
        screen.cursor = (50, 1);
        screen.write(b"abcd");
        assert_eq!(screen.text()[0].trim_start(), "ab");
        assert_eq!(screen.cursor, (54, 1));
    }

    #[test]
    fn lines_that_scroll_away_stay_in_the_transcript() {
        let mut screen = Screen::new((51, 19), true);
        screen.write(b"first");
        screen.scroll(1);
        screen.cursor = (1, 1);
        screen.write(b"second");
        assert_eq!(screen.transcript(), "first\nsecond");
    }

    #[test]
    fn a_new_size_keeps_what_fits() {
        let mut screen = Screen::new((5, 2), false);
        screen.write(b"abcde");
        screen.resize((3, 3));
        assert_eq!(screen.text(), ["abc", "", ""]);
        screen.cursor = (1, 1);
        screen.scroll(-1);
        assert_eq!(screen.text(), ["", "abc", ""]);
    }
}

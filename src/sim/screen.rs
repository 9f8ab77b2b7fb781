//! A computer's screen: 51 × 19 cells in memory, which Lua draws on and Rust reads.

/// Width of an ordinary computer's screen, in characters.
pub(crate) const WIDTH: usize = 51;
/// Height of an ordinary computer's screen, in lines.
pub(crate) const HEIGHT: usize = 19;
/// Lines that scrolled away and are still kept for [`Screen::transcript`].
const KEPT_LINES: usize = 2000;

/// Standard colours, as 0xRRGGBB, from white (1) to black (32768).
const PALETTE: [u32; 16] = [
    0xF0F0F0, 0xF2B233, 0xE57FD8, 0x99B2F2, 0xDEDE6C, 0x7FCC19, 0xF2B2CC, 0x4C4C4C, 0x999999,
    0x4C99B2, 0xB266E5, 0x3366CC, 0x7F664C, 0x57A64E, 0xCC4C4C, 0x111111,
];

#[derive(Clone)]
struct Line {
    text: [u8; WIDTH],
    fg: [u8; WIDTH],
    bg: [u8; WIDTH],
}

/// The cells, the cursor and the current colours (0 to 15).
pub(crate) struct Screen {
    lines: Vec<Line>,
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
    pub(crate) fn new(keep_gone: bool) -> Screen {
        let mut screen = Screen {
            lines: Vec::new(),
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

    /// The standard value of colour `index`.
    pub(crate) fn native_colour(index: usize) -> u32 {
        PALETTE[index & 15]
    }

    /// As after a start: empty, white on black, cursor in the corner.
    pub(crate) fn reset(&mut self) {
        let gone = std::mem::take(&mut self.gone);
        *self = Screen {
            gone,
            ..Screen::new(self.keep_gone)
        };
    }

    /// Empties all cells; the cursor stays.
    pub(crate) fn clear(&mut self) {
        self.lines = vec![self.blank(); HEIGHT];
    }

    /// Empties the cursor's line.
    pub(crate) fn clear_line(&mut self) {
        let blank = self.blank();
        if let Some(line) = self.line_mut() {
            *line = blank;
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
        let blank = self.blank();
        for _ in 0..n.unsigned_abs().min(HEIGHT as u64) {
            if n > 0 {
                let line = self.lines.remove(0);
                self.keep(&line);
                self.lines.push(blank.clone());
            } else {
                self.lines.pop();
                self.lines.insert(0, blank.clone());
            }
        }
    }

    /// The 19 lines, without trailing spaces; each byte is shown as the Latin-1 character of its number.
    pub(crate) fn text(&self) -> Vec<String> {
        self.lines.iter().map(shown).collect()
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
        if let Some(line) = self.line_mut() {
            for (i, &byte) in text.iter().enumerate() {
                let x = start + i as i64;
                if (1..=WIDTH as i64).contains(&x) {
                    let x = (x - 1) as usize;
                    line.text[x] = if byte < 32 { b' ' } else { byte };
                    (line.fg[x], line.bg[x]) = colour(i);
                }
            }
        }
        self.cursor.0 += text.len() as i64;
    }

    fn line_mut(&mut self) -> Option<&mut Line> {
        usize::try_from(self.cursor.1 - 1)
            .ok()
            .and_then(|y| self.lines.get_mut(y))
    }

    fn blank(&self) -> Line {
        Line {
            text: [b' '; WIDTH],
            fg: [self.fg; WIDTH],
            bg: [self.bg; WIDTH],
        }
    }

    fn keep(&mut self, line: &Line) {
        if self.keep_gone {
            if self.gone.len() == KEPT_LINES {
                self.gone.pop_front();
            }
            self.gone.push_back(shown(line));
        }
    }
}

fn shown(line: &Line) -> String {
    let text: String = line.text.iter().map(|&b| char::from(b)).collect();
    text.trim_end().to_owned()
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
        let mut screen = Screen::new(false);
        screen.cursor = (50, 1);
        screen.write(b"abcd");
        assert_eq!(screen.text()[0].trim_start(), "ab");
        assert_eq!(screen.cursor, (54, 1));
    }

    #[test]
    fn lines_that_scroll_away_stay_in_the_transcript() {
        let mut screen = Screen::new(true);
        screen.write(b"first");
        screen.scroll(1);
        screen.cursor = (1, 1);
        screen.write(b"second");
        assert_eq!(screen.transcript(), "first\nsecond");
    }
}

//! A monitor: a screen whose size follows from its blocks and its text scale.

use crate::sim::screen::Screen;

/// Border and margin of a monitor, in blocks.
const FRAME: f64 = 2.0 * (2.0 / 16.0 + 0.5 / 16.0);
/// Width and height of a character at scale 1, in blocks.
const CELL: (f64, f64) = (6.0 / 64.0, 9.0 / 64.0);

/// A monitor of some blocks.
pub(crate) struct Monitor {
    pub(crate) screen: Screen,
    blocks: (u32, u32),
    /// In halves: 1 is a scale of 0.5, 10 one of 5.
    halves: u32,
}

impl Monitor {
    /// A monitor at scale 1; at least one block each way.
    pub(crate) fn new(width: u32, height: u32) -> Monitor {
        let blocks = (width.clamp(1, 8), height.clamp(1, 6));
        Monitor {
            screen: Screen::new(cells(blocks, 2), false),
            blocks,
            halves: 2,
        }
    }

    pub(crate) fn scale(&self) -> f64 {
        f64::from(self.halves) / 2.0
    }

    /// Sets the scale and empties the screen; false if it is not from 0.5 to 5.
    pub(crate) fn set_scale(&mut self, scale: f64) -> bool {
        let halves = (scale * 2.0).floor();
        if !(1.0..=10.0).contains(&halves) {
            return false;
        }
        if halves as u32 != self.halves {
            self.halves = halves as u32;
            self.screen.resize(cells(self.blocks, self.halves));
        }
        true
    }
}

fn cells(blocks: (u32, u32), halves: u32) -> (usize, usize) {
    let scale = f64::from(halves) / 2.0;
    let count = |blocks: u32, cell: f64| {
        ((f64::from(blocks) - FRAME) / (scale * cell))
            .round()
            .max(1.0)
    };
    (
        count(blocks.0, CELL.0) as usize,
        count(blocks.1, CELL.1) as usize,
    )
}

#[cfg(test)]
mod tests {
    use super::Monitor;

    #[test]
    fn sizes_are_those_of_the_game() {
        let mut monitor = Monitor::new(1, 1);
        assert_eq!(monitor.screen.size(), (7, 5));
        assert!(monitor.set_scale(0.5) && !monitor.set_scale(6.0) && !monitor.set_scale(f64::NAN));
        assert_eq!(monitor.screen.size(), (15, 10));
        assert_eq!(Monitor::new(3, 2).screen.size(), (29, 12));
        assert_eq!(Monitor::new(8, 6).screen.size(), (82, 40));
    }
}

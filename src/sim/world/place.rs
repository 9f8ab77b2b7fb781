//! Places and directions in the block world.

/// A block's place; `y` is the height.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// East is greater.
    pub x: i64,
    /// Up is greater; the ground ends at -1.
    pub y: i64,
    /// South is greater.
    pub z: i64,
}

/// Where a turtle looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Facing {
    /// Towards smaller `z`.
    #[default]
    North,
    /// Towards greater `x`.
    East,
    /// Towards greater `z`.
    South,
    /// Towards smaller `x`.
    West,
}

/// A direction as a turtle's commands name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Forward,
    Back,
    Up,
    Down,
}

impl Facing {
    pub(crate) fn turned(self, left: bool) -> Facing {
        use Facing::{East, North, South, West};
        match (self, left) {
            (North, true) | (South, false) => West,
            (North, false) | (South, true) => East,
            (East, true) | (West, false) => North,
            (East, false) | (West, true) => South,
        }
    }
}

impl Place {
    /// The neighbour in a direction.
    pub(crate) fn step(self, facing: Facing, way: Way) -> Place {
        let ahead = match way {
            Way::Up => {
                return Place {
                    y: self.y + 1,
                    ..self
                };
            }
            Way::Down => {
                return Place {
                    y: self.y - 1,
                    ..self
                };
            }
            Way::Forward => 1,
            Way::Back => -1,
        };
        let (dx, dz) = match facing {
            Facing::North => (0, -1),
            Facing::East => (1, 0),
            Facing::South => (0, 1),
            Facing::West => (-1, 0),
        };
        Place {
            x: self.x + dx * ahead,
            z: self.z + dz * ahead,
            ..self
        }
    }
}

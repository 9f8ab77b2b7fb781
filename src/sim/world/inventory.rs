//! Slots with items: of a turtle, of a chest.

use super::item::{STACK, Stack, stack_limit};

/// A row of slots, from 0 on here and from 1 on in Lua.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inventory {
    slots: Vec<Option<Stack>>,
}

impl Inventory {
    pub(crate) fn new(slots: usize) -> Inventory {
        Inventory {
            slots: vec![None; slots],
        }
    }

    pub(crate) fn size(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn get(&self, slot: usize) -> Option<&Stack> {
        self.slots.get(slot)?.as_ref()
    }

    /// Puts a stack into a slot, whatever was there.
    pub(crate) fn set(&mut self, slot: usize, stack: Option<Stack>) {
        if let Some(place) = self.slots.get_mut(slot) {
            *place = stack.filter(|s| s.count > 0);
        }
    }

    /// The slots that hold something.
    pub(crate) fn filled(&self) -> impl Iterator<Item = (usize, &Stack)> {
        let numbered = self.slots.iter().enumerate();
        numbered.filter_map(|(i, slot)| slot.as_ref().map(|stack| (i, stack)))
    }

    /// Items that still fit into a slot: of what is there, or of anything.
    pub(crate) fn space(&self, slot: usize) -> u32 {
        self.get(slot)
            .map_or(STACK, |s| s.limit() - s.count.min(s.limit()))
    }

    /// Takes up to `count` items out of a slot.
    pub(crate) fn take(&mut self, slot: usize, count: u32) -> Option<Stack> {
        let stack = self.slots.get_mut(slot)?.as_mut()?;
        let taken = Stack::new(stack.name.clone(), count.min(stack.count));
        stack.count -= taken.count;
        if stack.count == 0 {
            self.slots[slot] = None;
        }
        (taken.count > 0).then_some(taken)
    }

    /// Puts items into one slot; returns how many went in.
    pub(crate) fn put(&mut self, slot: usize, name: &str, count: u32) -> u32 {
        let Some(place) = self.slots.get_mut(slot) else {
            return 0;
        };
        match place {
            Some(there) if there.name != name => 0,
            Some(there) => {
                let fits = count.min(there.limit().saturating_sub(there.count));
                there.count += fits;
                fits
            }
            None => {
                let fits = count.min(stack_limit(name));
                *place = (fits > 0).then(|| Stack::new(name, fits));
                fits
            }
        }
    }

    /// Puts items where they fit, from slot `start` on and around; returns how many went in.
    pub(crate) fn store(&mut self, start: usize, name: &str, count: u32) -> u32 {
        let size = self.size();
        let order = |i: usize| (start + i) % size.max(1);
        let mut left = count;
        // Stacks that are begun are filled first.
        for begun in [true, false] {
            for slot in (0..size).map(order) {
                if left > 0 && self.get(slot).is_some() == begun {
                    left -= self.put(slot, name, left);
                }
            }
        }
        count - left
    }

    /// Takes up to `count` items of the first kind there is.
    pub(crate) fn take_first(&mut self, count: u32) -> Option<Stack> {
        let slot = self.filled().next()?.0;
        self.take(slot, count)
    }
}

/// Moves up to `count` items from a slot of one inventory into a slot of another, or wherever they fit.
pub(crate) fn transfer(
    from: &mut Inventory,
    slot: usize,
    to: &mut Inventory,
    to_slot: Option<usize>,
    count: u32,
) -> u32 {
    let Some(stack) = from.take(slot, count) else {
        return 0;
    };
    let moved = match to_slot {
        Some(to_slot) => to.put(to_slot, &stack.name, stack.count),
        None => to.store(0, &stack.name, stack.count),
    };
    from.put(slot, &stack.name, stack.count - moved);
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_fill_begun_stacks_first_and_what_does_not_fit_stays() {
        let mut chest = Inventory::new(3);
        chest.set(2, Some(Stack::new("minecraft:stone", 60)));
        assert_eq!(chest.store(0, "minecraft:stone", 70), 70);
        assert_eq!(chest.get(2).unwrap().count, 64);
        assert_eq!(chest.get(0).unwrap().count, 64);
        assert_eq!(chest.get(1).unwrap().count, 2);
        assert_eq!(chest.store(0, "minecraft:dirt", 5), 0);
        let mut small = Inventory::new(1);
        assert_eq!(transfer(&mut chest, 0, &mut small, Some(0), 100), 64);
        assert_eq!(transfer(&mut chest, 2, &mut small, None, 10), 0);
        assert_eq!(chest.get(2).unwrap().count, 64);
        assert_eq!(small.space(0), 0);
    }

    #[test]
    fn tools_do_not_stack() {
        let mut chest = Inventory::new(2);
        assert_eq!(chest.store(0, "minecraft:diamond_pickaxe", 3), 2);
    }
}

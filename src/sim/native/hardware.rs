//! Peripherals, redstone and the turtle's body.

use std::sync::Arc;

use mlua::{LuaString, Table, Value};

use super::Natives;
use crate::sim::computer::Computer;
use crate::sim::event::Arg;
use crate::sim::hardware::{ChestCall, Part, SIDES, detailed, locked};
use crate::sim::world::{Command, Way};

/// What has this name: attached, or a chest that stands beside a turtle.
fn part(c: &Computer, name: &str) -> Option<Part> {
    c.hardware()
        .get(name)
        .or_else(|| c.chest_beside(name).map(Part::Chest))
}

pub(super) fn add(natives: &mut Natives<'_>) -> mlua::Result<()> {
    natives.add_lua("p_names", |lua, c, ()| {
        let mut names = c.hardware().names();
        for side in SIDES {
            if !names.iter().any(|name| name == side) && c.chest_beside(side).is_some() {
                names.push(side.to_owned());
            }
        }
        lua.create_sequence_from(names)
    })?;
    natives.add_lua("p_about", |lua, c, name: LuaString| {
        let Some(part) = part(c, &name.to_string_lossy()) else {
            return Ok((None, None));
        };
        let list = |words: &[&str]| lua.create_sequence_from(words.iter().copied());
        Ok((Some(list(part.types())?), Some(list(part.methods())?)))
    })?;
    natives.add("chest_call", chest_call)?;
    natives.add("m_scale", |c, name: LuaString| {
        monitor(c, &name, |m| m.scale())
    })?;
    natives.add("m_set_scale", |c, (name, scale): (LuaString, f64)| {
        let set = monitor(c, &name, |m| m.set_scale(scale));
        if set == Some(true) {
            let name = name.to_string_lossy();
            c.push(
                c.session(),
                crate::sim::event::Event::world("monitor_resize", [Arg::from(name.as_str())]),
            );
        }
        set
    })?;
    add_redstone(natives)?;
    add_turtle(natives)
}

fn monitor<R>(
    c: &Computer,
    name: &LuaString,
    what: impl FnOnce(&mut crate::sim::hardware::Monitor) -> R,
) -> Option<R> {
    match part(c, &name.to_string_lossy())? {
        Part::Monitor(monitor) => Some(what(&mut locked(&monitor))),
        Part::Chest(_) => None,
    }
}

/// Queues a method of a chest: the task's number, or nil and a text.
fn chest_call(
    c: &Arc<Computer>,
    (name, method, asked): (LuaString, LuaString, Table),
) -> (Option<u64>, Option<String>) {
    let Some(Part::Chest(chest)) = part(c, &name.to_string_lossy()) else {
        return (None, Some("No peripheral attached".into()));
    };
    let number = |key: &str| {
        asked
            .raw_get::<Option<f64>>(key)
            .ok()
            .flatten()
            .map(|n| n as i64)
    };
    let other_name = asked
        .raw_get::<Option<LuaString>>("other")
        .ok()
        .flatten()
        .map_or(String::new(), |name| name.to_string_lossy());
    let other = part(c, &other_name).map(|part| match part {
        Part::Chest(chest) => Some(chest),
        Part::Monitor(_) => None,
    });
    let call = ChestCall {
        method: method.to_string_lossy(),
        slot: number("slot").unwrap_or(0),
        limit: number("limit"),
        to_slot: number("to_slot"),
        other,
        other_name,
    };
    match c.core().world.task(c, move || call.run(&chest)) {
        Some(id) => (Some(id), None),
        None => (None, Some("Task limit exceeded".into())),
    }
}

fn add_redstone(natives: &mut Natives<'_>) -> mlua::Result<()> {
    natives.add("rs_get", |c, side: LuaString| {
        let read = c.hardware().side(&side.to_string_lossy(), |s| *s);
        read.map_or((None, None, None, None), |s| {
            (
                Some(s.input),
                Some(s.output),
                Some(s.bundled_input),
                Some(s.bundled_output),
            )
        })
    })?;
    natives.add("rs_set", |c, (side, strength): (LuaString, u8)| {
        c.hardware()
            .side(&side.to_string_lossy(), |s| s.output = strength.min(15));
    })?;
    natives.add("rs_set_bundled", |c, (side, set): (LuaString, f64)| {
        c.hardware().side(&side.to_string_lossy(), |s| {
            s.bundled_output = set as i64 as u16
        });
    })
}

fn add_turtle(natives: &mut Natives<'_>) -> mlua::Result<()> {
    natives.add(
        "turtle_command",
        |c, (name, way, a, b): (LuaString, Option<LuaString>, Option<f64>, Option<f64>)| {
            let way = way.map(|w| w.to_string_lossy());
            let (a, b) = (a.map(|n| n as u32), b.map(|n| n as u32));
            match command(&name.to_string_lossy(), way.as_deref(), a, b) {
                Some(command) => match c.core().world.command(c, command) {
                    Ok(number) => (Some(number), None),
                    Err(text) => (None, Some(text)),
                },
                None => (None, Some("Unknown command")),
            }
        },
    )?;
    natives.add("turtle_state", |c, ()| {
        let state = |t: &mut crate::sim::world::Turtle| (t.selected + 1, t.fuel, t.fuel_limit);
        c.core()
            .world
            .with_turtle(c.id(), state)
            .unwrap_or_default()
    })?;
    natives.add("turtle_slot", |c, slot: usize| {
        let at = slot.saturating_sub(1);
        let read = |t: &mut crate::sim::world::Turtle| {
            let stack = t.inventory.get(at).map(|s| (s.name.clone(), s.count));
            (stack, t.inventory.space(at))
        };
        let (stack, space) = c.core().world.with_turtle(c.id(), read).unwrap_or_default();
        let (name, count) = stack.unzip();
        (name, count.unwrap_or(0), space)
    })?;
    natives.add("turtle_detail", |c, slot: usize| {
        let weak = Arc::downgrade(c);
        c.core().world.task(c, move || {
            let found = weak.upgrade().and_then(|c| {
                let read = |t: &mut crate::sim::world::Turtle| {
                    t.inventory.get(slot.saturating_sub(1)).map(detailed)
                };
                c.core().world.with_turtle(c.id(), read).flatten()
            });
            Ok(vec![found.unwrap_or(Arg::Nil)])
        })
    })?;
    natives.add_lua("features", |lua, c, ()| {
        let (version, table) = (c.config().cc_version, lua.create_table()?);
        table.raw_set("version", version.to_string())?;
        table.raw_set("raw_text", version.has_raw_text())?;
        table.raw_set("websocket_options", version.has_websocket_options())?;
        table.raw_set("unicode_strings", version.has_unicode_strings())?;
        table.raw_set("parse_empty_array", version.has_parse_empty_array())?;
        table.raw_set("table_move", version.has_table_move())?;
        table.raw_set("http", c.config().http_enabled)?;
        table.raw_set("advanced", c.config().advanced)?;
        let kind = format!("{:?}", c.config().kind).to_lowercase();
        table.raw_set("kind", kind)?;
        Ok(Value::Table(table))
    })
}

/// The command that a word means. Slots and counts were checked by the bios; slots count from 1 on there.
fn command(name: &str, way: Option<&str>, a: Option<u32>, b: Option<u32>) -> Option<Command> {
    let way = match way {
        Some("up") => Way::Up,
        Some("down") => Way::Down,
        Some("back") => Way::Back,
        _ => Way::Forward,
    };
    let slot = || a.map(|n| (n as usize).saturating_sub(1));
    let side = a.map(|n| n as usize);
    Some(match name {
        "move" => Command::Move(way),
        "left" => Command::Turn { left: true },
        "right" => Command::Turn { left: false },
        "dig" => Command::Dig { way, side },
        "attack" => Command::Attack { way, side },
        "place" => Command::Place(way),
        "drop" => Command::Drop(way, a?),
        "suck" => Command::Suck(way, a?),
        "detect" => Command::Detect(way),
        "compare" => Command::Compare(way),
        "inspect" => Command::Inspect(way),
        "select" => Command::Select(slot()?),
        "compareTo" => Command::CompareTo(slot()?),
        "transferTo" => Command::TransferTo(slot()?, b?),
        "refuel" => Command::Refuel(a?),
        "equip" => Command::Equip(side?),
        _ => return None,
    })
}

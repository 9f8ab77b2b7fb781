//! Time, events, power and identity.

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

use mlua::{LuaString, MultiValue, Value};

use super::Natives;
use crate::sim::clock::{TimerKind, ticks};
use crate::sim::computer::Wish;
use crate::sim::dialect::translate;
use crate::sim::event::{Event, copy_values, json_value};
use crate::sim::text::latin1_to_utf8;

pub(super) fn add(natives: &mut Natives<'_>) -> mlua::Result<()> {
    // Returns the text as plain Lua 5.2, or nil, a line and what is wrong in it.
    natives.add_lua("translate", |lua, c, source: LuaString| {
        let old = !c.config().cc_version.has_raw_text();
        match translate(&source.as_bytes(), old) {
            Ok(Cow::Borrowed(_)) => Ok((Some(source.clone()), None, None)),
            Ok(Cow::Owned(fresh)) => Ok((Some(lua.create_string(fresh)?), None, None)),
            Err(refused) => Ok((None, Some(refused.line), Some(refused.message))),
        }
    })?;
    natives.add_lua("latin1_to_utf8", |lua, _, text: LuaString| {
        lua.create_string(latin1_to_utf8(&text.as_bytes()))
    })?;
    natives.add("check", |c, ()| c.limits().check() as i32)?;
    natives.add("clock_ticks", |c, ()| c.ticks_since_boot())?;
    natives.add("fleet_ticks", |c, ()| c.core().clock.now())?;
    natives.add("epoch_ms", |_, ()| {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_millis() as u64)
    })?;
    natives.add("start_timer", |c, (seconds, alarm): (f64, bool)| {
        c.start_timer(
            ticks(seconds),
            if alarm {
                TimerKind::Alarm
            } else {
                TimerKind::Timer
            },
        )
    })?;
    natives.add("cancel_timer", |c, id: f64| c.cancel_timer(id as u32))?;
    natives.add_lua("queue", |lua, c, values: MultiValue| {
        let copy = copy_values(lua, values)?;
        c.push(c.session(), Event::Lua(copy));
        Ok(())
    })?;
    natives.add("shutdown", |c, ()| c.wish(Wish::Off))?;
    natives.add("reboot", |c, ()| c.wish(Wish::Reboot))?;
    natives.add("id", |c, ()| c.id())?;
    natives.add("label", |c, ()| c.label())?;
    natives.add("set_label", |c, label: Option<LuaString>| {
        c.set_label(label.map(|l| l.to_string_lossy()));
    })?;
    natives.add_lua("program", |lua, c, ()| match &c.config().program {
        Some(words) => json_value(lua, &serde_json::Value::from(words.clone())),
        None => Ok(Value::Nil),
    })?;
    natives.add("program_done", |c, ok: bool| c.set_program_result(ok))
}

//! Screens: the computer's own, and those of its monitors by name. Colours are indexes from 0 to 15 here.

use mlua::LuaString;

use super::Natives;
use crate::sim::computer::Computer;
use crate::sim::screen::Screen;

/// A screen: nil for the computer's own, or the name of a monitor. One that is gone does nothing.
type Which = Option<LuaString>;

fn on<R: Default>(c: &Computer, which: &Which, what: impl FnOnce(&mut Screen) -> R) -> R {
    match which {
        None => what(&mut c.screen()),
        Some(name) => {
            let name = name.to_string_lossy();
            c.hardware().on_monitor(&name, what).unwrap_or_default()
        }
    }
}

pub(super) fn add(natives: &mut Natives<'_>) -> mlua::Result<()> {
    natives.add("t_write", |c, (s, text): (Which, LuaString)| {
        on(c, &s, |screen| screen.write(&text.as_bytes()));
    })?;
    natives.add(
        "t_blit",
        |c, (s, text, fg, bg): (Which, LuaString, LuaString, LuaString)| {
            on(c, &s, |screen| {
                screen.blit(&text.as_bytes(), &fg.as_bytes(), &bg.as_bytes())
            });
        },
    )?;
    natives.add("t_clear", |c, s: Which| on(c, &s, Screen::clear))?;
    natives.add("t_clear_line", |c, s: Which| on(c, &s, Screen::clear_line))?;
    natives.add("t_cursor", |c, s: Which| on(c, &s, |screen| screen.cursor))?;
    natives.add("t_set_cursor", |c, (s, x, y): (Which, f64, f64)| {
        on(c, &s, |screen| {
            screen.cursor = (x.floor() as i64, y.floor() as i64)
        });
    })?;
    natives.add("t_blink", |c, s: Which| on(c, &s, |screen| screen.blink))?;
    natives.add("t_set_blink", |c, (s, blink): (Which, bool)| {
        on(c, &s, |screen| screen.blink = blink);
    })?;
    natives.add("t_size", |c, s: Which| on(c, &s, |screen| screen.size()))?;
    natives.add("t_scroll", |c, (s, n): (Which, f64)| {
        on(c, &s, |screen| screen.scroll(n as i64))
    })?;
    natives.add("t_colours", |c, s: Which| {
        on(c, &s, |screen| (screen.fg, screen.bg))
    })?;
    natives.add("t_set_fg", |c, (s, index): (Which, u8)| {
        on(c, &s, |screen| screen.fg = index & 15)
    })?;
    natives.add("t_set_bg", |c, (s, index): (Which, u8)| {
        on(c, &s, |screen| screen.bg = index & 15)
    })?;
    natives.add("t_palette", |c, (s, index): (Which, usize)| {
        on(c, &s, |screen| screen.palette[index & 15])
    })?;
    natives.add(
        "t_set_palette",
        |c, (s, index, rgb): (Which, usize, u32)| {
            on(c, &s, |screen| screen.palette[index & 15] = rgb);
        },
    )?;
    natives.add("t_native_colour", |_, index: usize| {
        Screen::native_colour(index)
    })
}

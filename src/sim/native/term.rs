//! The screen. Colours are indexes from 0 to 15 here.

use mlua::LuaString;

use super::Natives;
use crate::sim::screen::{HEIGHT, Screen, WIDTH};

pub(super) fn add(natives: &mut Natives<'_>) -> mlua::Result<()> {
    natives.add("t_write", |c, text: LuaString| {
        c.screen().write(&text.as_bytes())
    })?;
    natives.add(
        "t_blit",
        |c, (text, fg, bg): (LuaString, LuaString, LuaString)| {
            c.screen()
                .blit(&text.as_bytes(), &fg.as_bytes(), &bg.as_bytes());
        },
    )?;
    natives.add("t_clear", |c, ()| c.screen().clear())?;
    natives.add("t_clear_line", |c, ()| c.screen().clear_line())?;
    natives.add("t_cursor", |c, ()| c.screen().cursor)?;
    natives.add("t_set_cursor", |c, (x, y): (f64, f64)| {
        c.screen().cursor = (x.floor() as i64, y.floor() as i64);
    })?;
    natives.add("t_blink", |c, ()| c.screen().blink)?;
    natives.add("t_set_blink", |c, blink: bool| c.screen().blink = blink)?;
    natives.add("t_size", |_, ()| (WIDTH, HEIGHT))?;
    natives.add("t_scroll", |c, n: f64| c.screen().scroll(n as i64))?;
    natives.add("t_colours", |c, ()| {
        let screen = c.screen();
        (screen.fg, screen.bg)
    })?;
    natives.add("t_set_fg", |c, index: u8| c.screen().fg = index & 15)?;
    natives.add("t_set_bg", |c, index: u8| c.screen().bg = index & 15)?;
    natives.add("t_palette", |c, index: usize| {
        c.screen().palette[index & 15]
    })?;
    natives.add("t_set_palette", |c, (index, rgb): (usize, u32)| {
        c.screen().palette[index & 15] = rgb
    })?;
    natives.add("t_native_colour", |_, index: usize| {
        Screen::native_colour(index)
    })
}

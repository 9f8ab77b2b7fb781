//! Files.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mlua::{AnyUserData, Lua, LuaString, Value, Variadic};

use super::{Natives, answer};
use crate::sim::disk::{CcPath, FileHandle, OpenMode};

/// An open file as Lua holds it; `None` once it is closed.
pub(super) type SharedHandle = Arc<Mutex<Option<FileHandle>>>;

/// Wraps a handle for Lua.
pub(super) fn userdata(lua: &Lua, handle: FileHandle) -> mlua::Result<AnyUserData> {
    let shared: SharedHandle = Arc::new(Mutex::new(Some(handle)));
    lua.create_any_userdata(shared)
}

fn path(raw: &LuaString) -> CcPath {
    CcPath::parse(&raw.as_bytes(), false)
}

pub(super) fn add(natives: &mut Natives<'_>) -> mlua::Result<()> {
    natives.add_lua("fs_combine", |lua, _, parts: Variadic<LuaString>| {
        let joined: Vec<Vec<u8>> = parts.iter().map(|p| p.as_bytes().to_vec()).collect();
        lua.create_string(CcPath::parse(&joined.join(&b'/'), true).to_bytes())
    })?;
    natives.add_lua("fs_list", |lua, c, raw: LuaString| {
        match c.disk().list(&path(&raw)) {
            Ok(names) => {
                let names: Vec<Value> = names
                    .into_iter()
                    .map(|n| lua.create_string(n).map(Value::String))
                    .collect::<mlua::Result<_>>()?;
                Ok((Some(lua.create_sequence_from(names)?), None))
            }
            Err(error) => Ok((None, Some(error.to_string()))),
        }
    })?;
    natives.add_lua("fs_attributes", |lua, c, raw: LuaString| {
        match c.disk().attributes(&path(&raw)) {
            Ok(None) => Ok((None, None)),
            Ok(Some(a)) => {
                let table = lua.create_table()?;
                table.raw_set("size", a.size)?;
                table.raw_set("isDir", a.is_dir)?;
                table.raw_set("isReadOnly", a.read_only)?;
                table.raw_set("created", a.created)?;
                table.raw_set("modified", a.modified)?;
                table.raw_set("modification", a.modified)?;
                Ok((Some(table), None))
            }
            Err(error) => Ok((None, Some(error.to_string()))),
        }
    })?;
    natives.add("fs_make_dir", |c, raw: LuaString| {
        answer(c.disk().make_dir(&path(&raw)).map(|()| true))
    })?;
    natives.add("fs_delete", |c, raw: LuaString| {
        answer(c.disk().delete(&path(&raw)).map(|()| true))
    })?;
    natives.add("fs_move", |c, (from, to): (LuaString, LuaString)| {
        answer(c.disk().rename(&path(&from), &path(&to)).map(|()| true))
    })?;
    natives.add("fs_copy", |c, (from, to): (LuaString, LuaString)| {
        answer(c.disk().copy(&path(&from), &path(&to)).map(|()| true))
    })?;
    natives.add("fs_free", |c, ()| c.disk().free())?;
    natives.add("fs_capacity", |c, ()| c.disk().capacity())?;
    natives.add_lua("fs_open", |lua, c, (raw, mode): (LuaString, LuaString)| {
        let Some((mode, binary)) = OpenMode::parse(&mode.as_bytes()) else {
            return Ok((None, Some("Unsupported mode".to_owned()), false));
        };
        let old = !c.config().cc_version.has_raw_text();
        if old && matches!(mode, OpenMode::Update { .. }) {
            return Ok((None, Some("Unsupported mode".to_owned()), false));
        }
        match c.disk().open_file(&path(&raw), mode, old && !binary) {
            Ok(handle) => Ok((Some(userdata(lua, handle)?), None, binary)),
            Err(error) => Ok((None, Some(error.to_string()), binary)),
        }
    })?;
    add_handle(natives)
}

/// Functions on an open file; each returns nil and a text if it is closed or the disk refuses.
fn add_handle(natives: &mut Natives<'_>) -> mlua::Result<()> {
    natives.add_lua("h_read", |lua, _, (file, count): (AnyUserData, f64)| {
        with(lua, &file, |f| f.read(count.max(0.0) as usize))
    })?;
    natives.add_lua("h_line", |lua, _, file: AnyUserData| {
        with(lua, &file, FileHandle::read_line)
    })?;
    natives.add_lua("h_all", |lua, _, file: AnyUserData| {
        with(lua, &file, |f| f.read_all().map(Some))
    })?;
    natives.add_lua(
        "h_write",
        |lua, _, (file, bytes): (AnyUserData, LuaString)| {
            with(lua, &file, |f| f.write(&bytes.as_bytes()).map(|()| None))
        },
    )?;
    natives.add_lua(
        "h_seek",
        |_, _, (file, whence, offset): (AnyUserData, LuaString, f64)| {
            let shared = file.borrow::<SharedHandle>()?;
            let mut guard = open(&shared);
            let place = guard
                .as_mut()
                .map(|f| f.seek(&whence.as_bytes(), offset as i64));
            Ok(place.and_then(Result::ok).flatten())
        },
    )?;
    natives.add_lua("h_close", |_, _, file: AnyUserData| {
        let handle = open(&*file.borrow::<SharedHandle>()?).take();
        Ok(handle.is_some())
    })
}

fn open(shared: &SharedHandle) -> MutexGuard<'_, Option<FileHandle>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs an operation: (bytes or nil, error text or nil).
fn with(
    lua: &Lua,
    file: &AnyUserData,
    operation: impl FnOnce(&mut FileHandle) -> io::Result<Option<Vec<u8>>>,
) -> mlua::Result<(Option<LuaString>, Option<&'static str>)> {
    let shared = file.borrow::<SharedHandle>()?;
    let mut guard = open(&shared);
    let Some(handle) = guard.as_mut() else {
        return Ok((None, Some("attempt to use a closed file")));
    };
    match operation(handle) {
        Ok(Some(bytes)) => Ok((Some(lua.create_string(bytes)?), None)),
        Ok(None) => Ok((None, None)),
        Err(error) if error.kind() == io::ErrorKind::StorageFull => {
            Ok((None, Some("Out of space")))
        }
        Err(_) => Ok((None, Some("Access denied"))),
    }
}

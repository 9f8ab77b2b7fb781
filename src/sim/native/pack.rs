//! `string.pack`, `string.unpack` and `string.packsize` of Lua 5.3, which the game has. Numbers are doubles, as there.

use mlua::{LuaString, MultiValue, Value};

use super::Natives;

/// Largest integer in bytes.
const MAX_INT: usize = 16;
/// Largest result, in bytes.
const MAX_SIZE: usize = 64 << 20;

/// One option of a format, with the state that counts for it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Item {
    Int {
        size: usize,
        signed: bool,
    },
    Float,
    Double,
    /// Fixed size: `c[n]`.
    Chars(usize),
    /// A length of so many bytes in front: `s[n]`.
    Counted(usize),
    Zero,
    Byte,
    /// `X`: padding as for the next option.
    Align,
}

impl Item {
    fn size(self) -> usize {
        match self {
            Item::Int { size, .. } => size,
            Item::Float => 4,
            Item::Double => 8,
            Item::Chars(n) => n,
            Item::Byte => 1,
            Item::Counted(_) | Item::Zero | Item::Align => 0,
        }
    }

    /// What it is aligned to, if anything.
    fn alignment(self) -> usize {
        match self {
            Item::Int { size, .. } | Item::Counted(size) => size,
            Item::Float => 4,
            Item::Double => 8,
            _ => 1,
        }
    }
}

struct Format<'a> {
    text: &'a [u8],
    at: usize,
    little: bool,
    most: usize,
}

type Packed<T> = Result<T, String>;

impl<'a> Format<'a> {
    fn new(text: &'a [u8]) -> Format<'a> {
        Format {
            text,
            at: 0,
            little: true,
            most: 1,
        }
    }

    /// The next option and the padding before it at position `offset`.
    fn next(&mut self, offset: usize) -> Packed<Option<(Item, usize)>> {
        let Some(item) = self.item()? else {
            return Ok(None);
        };
        let aligned = if item == Item::Align {
            match self.item()? {
                Some(next) if next.alignment() > 1 || matches!(next, Item::Int { .. }) => {
                    next.alignment()
                }
                _ => return Err("invalid next option for option 'X'".into()),
            }
        } else {
            item.alignment()
        };
        let aligned = aligned.min(self.most);
        if aligned <= 1 {
            return Ok(Some((item, 0)));
        }
        if !aligned.is_power_of_two() {
            return Err("format asks for alignment not power of 2".into());
        }
        Ok(Some((item, (aligned - offset % aligned) % aligned)))
    }

    fn item(&mut self) -> Packed<Option<Item>> {
        while let Some(&option) = self.text.get(self.at) {
            self.at += 1;
            let int = |size, signed| Item::Int { size, signed };
            let item = match option {
                b'b' | b'B' => int(1, option == b'b'),
                b'h' | b'H' => int(2, option == b'h'),
                b'i' | b'I' => int(self.int_size(4)?, option == b'i'),
                b'l' | b'L' | b'j' | b'J' => int(8, option.is_ascii_lowercase()),
                b'T' => int(8, false),
                b'f' => Item::Float,
                b'd' | b'n' => Item::Double,
                b's' => Item::Counted(self.int_size(8)?),
                b'c' => Item::Chars(self.number()?.ok_or("missing size for format option 'c'")?),
                b'z' => Item::Zero,
                b'x' => Item::Byte,
                b'X' => Item::Align,
                b'<' | b'=' => {
                    self.little = true;
                    continue;
                }
                b'>' => {
                    self.little = false;
                    continue;
                }
                b'!' => {
                    self.most = self.int_size(8)?;
                    continue;
                }
                b' ' => continue,
                other => return Err(format!("invalid format option '{}'", char::from(other))),
            };
            return Ok(Some(item));
        }
        Ok(None)
    }

    fn number(&mut self) -> Packed<Option<usize>> {
        let mut found = None;
        while let Some(digit) = self.text.get(self.at).filter(|b| b.is_ascii_digit()) {
            let next = found.unwrap_or(0usize).checked_mul(10);
            let next = next.and_then(|n| n.checked_add(usize::from(digit - b'0')));
            found = Some(
                next.filter(|n| *n <= MAX_SIZE)
                    .ok_or("format result too large")?,
            );
            self.at += 1;
        }
        Ok(found)
    }

    fn int_size(&mut self, default: usize) -> Packed<usize> {
        let size = self.number()?.unwrap_or(default);
        if (1..=MAX_INT).contains(&size) {
            Ok(size)
        } else {
            Err(format!(
                "integral size ({size}) out of limits [1,{MAX_INT}]"
            ))
        }
    }
}

fn put_int(out: &mut Vec<u8>, value: i128, size: usize, little: bool) {
    let bytes = value.to_le_bytes();
    if little {
        out.extend_from_slice(&bytes[..size]);
    } else {
        out.extend(bytes[..size].iter().rev());
    }
}

fn get_int(bytes: &[u8], signed: bool, little: bool) -> i128 {
    let mut value: u128 = 0;
    for i in 0..bytes.len() {
        let byte = if little {
            bytes[bytes.len() - 1 - i]
        } else {
            bytes[i]
        };
        value = (value << 8) | u128::from(byte);
    }
    let unused = 128 - 8 * bytes.len() as u32;
    if signed {
        ((value << unused) as i128) >> unused
    } else {
        value as i128
    }
}

fn pack(format: &[u8], values: &[Value]) -> Packed<Vec<u8>> {
    let (mut out, mut used, mut format) = (Vec::new(), 0, Format::new(format));
    while let Some((item, padding)) = format.next(out.len())? {
        out.resize(out.len() + padding, 0);
        if matches!(item, Item::Byte | Item::Align) {
            out.resize(out.len() + item.size(), 0);
            continue;
        }
        used += 1;
        let value = values.get(used - 1).unwrap_or(&Value::Nil);
        put(&mut out, item, value, format.little)
            .map_err(|problem| format!("bad argument #{} ({problem})", used + 1))?;
        if out.len() > MAX_SIZE {
            return Err("format result too large".into());
        }
    }
    Ok(out)
}

fn put(out: &mut Vec<u8>, item: Item, value: &Value, little: bool) -> Packed<()> {
    match item {
        Item::Int { size, signed } => {
            let value = number(value)?.floor();
            let bits = 8 * size as i32;
            let (low, high) = if signed {
                (-(2f64.powi(bits - 1)), 2f64.powi(bits - 1))
            } else {
                (0.0, 2f64.powi(bits))
            };
            if size < 8 && !(low..high).contains(&value) {
                let what = if signed {
                    "integer overflow"
                } else {
                    "unsigned overflow"
                };
                return Err(what.into());
            }
            put_int(out, value as i128, size, little);
        }
        Item::Float => {
            let bits = (number(value)? as f32).to_bits();
            put_int(out, i128::from(bits), 4, little);
        }
        Item::Double => put_int(out, i128::from(number(value)?.to_bits()), 8, little),
        Item::Chars(size) => {
            let text = text(value)?;
            if text.as_bytes().len() > size {
                return Err("string longer than given size".into());
            }
            let end = out.len() + size;
            out.extend_from_slice(&text.as_bytes());
            out.resize(end, 0);
        }
        Item::Counted(size) => {
            let text = text(value)?;
            let length = text.as_bytes().len();
            if size < 8 && length >= 1 << (8 * size) {
                return Err("string length does not fit in given size".into());
            }
            put_int(out, length as i128, size, little);
            out.extend_from_slice(&text.as_bytes());
        }
        Item::Zero => {
            let text = text(value)?;
            if text.as_bytes().contains(&0) {
                return Err("string contains zeros".into());
            }
            out.extend_from_slice(&text.as_bytes());
            out.push(0);
        }
        Item::Byte | Item::Align => {}
    }
    Ok(())
}

fn number(value: &Value) -> Packed<f64> {
    match value {
        Value::Number(n) => Ok(*n),
        Value::Integer(n) => Ok(*n as f64),
        other => Err(format!("number expected, got {}", other.type_name())),
    }
}

fn text(value: &Value) -> Packed<LuaString> {
    match value {
        Value::String(text) => Ok(text.clone()),
        other => Err(format!("string expected, got {}", other.type_name())),
    }
}

/// What was read: numbers and texts, and the position after them, from 0.
enum Read {
    Number(f64),
    Text(Vec<u8>),
}

fn unpack(format: &[u8], data: &[u8], start: usize) -> Packed<(Vec<Read>, usize)> {
    let (mut at, mut found, mut format) = (start, Vec::new(), Format::new(format));
    while let Some((item, padding)) = format.next(at)? {
        at += padding;
        let mut take = |size: usize| {
            let piece = at.checked_add(size).and_then(|end| data.get(at..end));
            at += size;
            piece.ok_or_else(|| "bad argument #2 (data string too short)".to_owned())
        };
        match item {
            Item::Int { size, signed } => {
                let value = get_int(take(size)?, signed, format.little);
                found.push(Read::Number(value as f64));
            }
            Item::Float => {
                let bits = get_int(take(4)?, false, format.little) as u32;
                found.push(Read::Number(f64::from(f32::from_bits(bits))));
            }
            Item::Double => {
                let bits = get_int(take(8)?, false, format.little) as u64;
                found.push(Read::Number(f64::from_bits(bits)));
            }
            Item::Chars(size) => found.push(Read::Text(take(size)?.to_vec())),
            Item::Counted(size) => {
                let length = get_int(take(size)?, false, format.little);
                let length = usize::try_from(length)
                    .map_err(|_| "bad argument #2 (data string too short)")?;
                found.push(Read::Text(take(length)?.to_vec()));
            }
            Item::Zero => {
                let rest = data.get(at..).unwrap_or_default();
                let end = rest.iter().position(|&b| b == 0);
                let end = end.ok_or("bad argument #2 (unfinished string for format 'z')")?;
                found.push(Read::Text(rest[..end].to_vec()));
                at += end + 1;
            }
            Item::Byte => drop(take(1)?),
            Item::Align => {}
        }
    }
    Ok((found, at))
}

fn size_of(format: &[u8]) -> Packed<usize> {
    let (mut size, mut format) = (0, Format::new(format));
    while let Some((item, padding)) = format.next(size)? {
        if matches!(item, Item::Counted(_) | Item::Zero) {
            return Err("bad argument #1 (variable-length format)".into());
        }
        size += padding + item.size();
        if size > MAX_SIZE {
            return Err("bad argument #1 (format result too large)".into());
        }
    }
    Ok(size)
}

pub(super) fn add(natives: &mut Natives<'_>) -> mlua::Result<()> {
    natives.add_lua(
        "pack",
        |lua, _, (format, values): (LuaString, MultiValue)| {
            let values: Vec<Value> = values.into_iter().collect();
            match pack(&format.as_bytes(), &values) {
                Ok(bytes) => Ok((Some(lua.create_string(bytes)?), None)),
                Err(problem) => Ok((None, Some(problem))),
            }
        },
    )?;
    natives.add_lua(
        "unpack",
        |lua, _, (format, data, start): (LuaString, LuaString, f64)| {
            // The first value is the error, if there is one.
            let read = unpack(
                &format.as_bytes(),
                &data.as_bytes(),
                start.max(0.0) as usize,
            );
            let (found, after) = match read {
                Ok(read) => read,
                Err(problem) => return lua.pack_multi(problem),
            };
            let mut values = vec![Value::Nil];
            for each in found {
                values.push(match each {
                    Read::Number(n) => Value::Number(n),
                    Read::Text(text) => Value::String(lua.create_string(text)?),
                });
            }
            values.push(Value::Number((after + 1) as f64));
            Ok(MultiValue::from_vec(values))
        },
    )?;
    natives.add("packsize", |_, format: LuaString| {
        super::answer(size_of(&format.as_bytes()))
    })
}

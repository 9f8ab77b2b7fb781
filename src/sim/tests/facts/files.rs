//! Section 8: the file system.

use super::{Fact, Shown, by_test, fact};

pub(super) fn facts() -> Vec<Fact> {
    vec![
        fact(
            "8.1",
            "`\\` is `/`; `.`, `..`, `...` and empty parts collapse; forbidden characters are removed without a word; names are trimmed and cut to 255.",
            Shown::Lua(
                r##"
            assert(fs.combine("\\a//./b/.../c/../d/") == "a/b/d" and fs.combine("a/", "../b", "./c") == "b/c")
            fs.open('we ird:?*<>|"name', "w").close()
            assert(fs.list("/")[1] == "rom" or fs.exists("we irdname"))
            assert(fs.exists("we irdname") and fs.exists(" we irdname "))
            fs.open(("x"):rep(400), "w").close()
            assert(fs.exists(("x"):rep(255)))
            "##,
            ),
        ),
        fact(
            "8.2",
            "Going above the root is the error `/../../x: Invalid Path`.",
            Shown::Lua(
                r##"
            local ok, err = pcall(fs.list, "../../x")
            assert(not ok and err:find("/../../x: Invalid Path", 1, true), err)
            "##,
            ),
        ),
        fact(
            "8.3",
            "Names are case sensitive on a host where files are, and may hold any byte from 128 on.",
            Shown::Lua(
                r##"
            fs.open("Name", "w").close()
            assert(not fs.exists("name"))
            fs.open("caf\195\169", "w").close()
            local found = false
            for _, name in ipairs(fs.list("/")) do found = found or name == "caf\195\169" end
            assert(found)
            "##,
            ),
        ),
        fact(
            "8.4",
            "`/rom` is read-only; drives are `hdd` and `rom`, and nil for a path that does not exist.",
            Shown::Lua(
                r##"
            local file, err = fs.open("/rom/x", "w")
            assert(file == nil and err == "/rom/x: Access denied", err)
            local ok, problem = pcall(fs.delete, "/rom/startup.lua")
            assert(not ok and problem:find("Access denied", 1, true))
            assert(fs.getDrive("/") == "hdd" and fs.getDrive("/rom/apis") == "rom" and fs.getDrive("/none") == nil)
            assert(fs.isReadOnly("rom") and not fs.isReadOnly("x") and fs.getFreeSpace("/rom") == 0)
            "##,
            ),
        ),
        fact(
            "8.5",
            "`fs.open` returns nil and `/path: reason` for what the disk refuses, and raises for an unknown mode.",
            by_test!(files::errors_have_computercrafts_texts),
        ),
        fact(
            "8.6",
            "Deleting what is not there is no error; opening for writing makes the folders above.",
            Shown::Lua(
                r##"
            fs.delete("none/at/all")
            fs.open("a/b/c", "w").close()
            assert(fs.isDir("a/b") and fs.getSize("a/b/c") == 0)
            "##,
            ),
        ),
        fact(
            "8.7",
            "Handles read, write and seek as in the game; a closed one raises, also on a second `close`.",
            by_test!(files::handles_read_and_write_as_in_the_game),
        ),
        fact(
            "8.8",
            "From 1.109 on text and binary modes read the same bytes.",
            Shown::Lua(
                r##"
            local f = fs.open("x", "w")
            f.write("\195\169\233\r\n")
            f.close()
            assert(fs.getSize("x") == 5)
            for _, mode in ipairs({ "r", "rb" }) do
              local f = fs.open("x", mode)
              assert(f.readAll() == "\195\169\233\r\n")
              f.close()
            end
            "##,
            ),
        ),
        fact(
            "8.9",
            "Before 1.109 a text file holds the UTF-8 of what Lua took for Latin-1.",
            Shown::On(
                "1.108.4",
                r##"
            local f = fs.open("x", "w")
            f.write("\195\169\233")
            f.close()
            assert(fs.getSize("x") == 6)
            f = fs.open("x", "rb")
            assert(f.readAll() == "\195\131\194\169\195\169")
            f.close()
            f = fs.open("x", "r")
            assert(f.readAll() == "\195\169\233")
            f.close()
            f = fs.open("y", "wb")
            f.write("\226\130\172|\255")
            f.close()
            f = fs.open("y", "r")
            local got = f.readAll()
            assert(got == "?|?", got)
            "##,
            ),
        ),
        fact(
            "8.10",
            "`r+` and `w+` are unknown modes before 1.109.",
            Shown::On(
                "1.108.4",
                r##"
            local ok, err = pcall(fs.open, "x", "w+")
            assert(not ok and err:find("Unsupported mode", 1, true), err)
            "##,
            ),
        ),
        fact(
            "8.11",
            "Capacity is 1,000,000 bytes, and every file and folder counts 500 at least.",
            Shown::Lua(
                r##"
            assert(fs.getCapacity("/") == 1000000)
            local free = fs.getFreeSpace("/")
            fs.open("small", "w").close()
            fs.makeDir("dir")
            assert(free - fs.getFreeSpace("/") == 1000)
            local f = fs.open("big", "w")
            f.write(("x"):rep(700))
            assert(free - fs.getFreeSpace("/") == 1700)
            "##,
            ),
        ),
        fact(
            "8.12",
            "A full disk raises `Out of space` from `write`, `/x: Out of space` from `makeDir` and `copy`, and gives nil and a message from `open`; what was written before stays.",
            Shown::Lua(
                r##"
            local f = fs.open("big", "w")
            f.write(("x"):rep(fs.getFreeSpace("/") + 400))
            local ok, err = pcall(f.write, ("y"):rep(1000))
            assert(not ok and err:find("Out of space$"), err)
            f.close()
            local size = fs.getSize("big")
            ok, err = pcall(fs.makeDir, "x")
            assert(not ok and err:find("/x: Out of space$"), err)
            ok, err = pcall(fs.copy, "test.lua", "x")
            assert(not ok and err:find("/x: Out of space$"), err)
            local file, problem = fs.open("x", "w")
            assert(file == nil and problem == "/x: Out of space", problem)
            assert(fs.getSize("big") == size and size > 990000)
            fs.delete("big")
            fs.makeDir("x")
            "##,
            ),
        ),
        fact(
            "8.13",
            "The number of small files is limited by the same rule.",
            by_test!(files::every_file_counts_500_bytes_and_a_full_disk_refuses),
        ),
        fact(
            "8.14",
            "`getSize` is right while a file is being written; reading and deleting it then work.",
            Shown::Lua(
                r##"
            local f = fs.open("x", "w")
            f.write("12345")
            assert(fs.getSize("x") == 5)
            local r = fs.open("x", "r")
            assert(r.readAll() == "12345")
            fs.delete("x")
            assert(not fs.exists("x"))
            "##,
            ),
        ),
        fact(
            "8.15",
            "`fs.attributes` has size, isDir, isReadOnly, created, modified and modification.",
            Shown::Lua(
                r##"
            local a = fs.attributes("test.lua")
            assert(a.size > 0 and a.isDir == false and a.isReadOnly == false)
            assert(a.modified > 1.6e12 and a.modification == a.modified and a.created > 1.6e12)
            assert(fs.attributes("rom").isReadOnly and fs.attributes("rom").isDir)
            "##,
            ),
        ),
        fact(
            "8.16",
            "`readAll` of an empty file is empty, also a second time; at the end `readLine` returns nothing.",
            Shown::Lua(
                r##"
            fs.open("x", "w").close()
            local f = fs.open("x", "r")
            assert(f.readAll() == "" and f.readAll() == "" and select("#", f.readLine()) == 0)
            "##,
            ),
        ),
        fact(
            "8.17",
            "No path leads out of the computer's folder.",
            by_test!(files::nothing_outside_of_the_folder_can_be_reached),
        ),
        fact(
            "8.18",
            "`string.dump` raises, and binary chunks cannot be loaded (since 1.109).",
            Shown::Lua(
                r##"
            local ok, err = pcall(string.dump, function() end)
            assert(not ok and err:find("unable to dump given function", 1, true), err)
            assert(load("\27Lua") == nil)
            "##,
            ),
        ),
        fact(
            "8.19",
            "Before 1.109 functions can be dumped and loaded again.",
            Shown::Not(
                "the host's binary chunks are not safe to load, so `string.dump` raises in every version",
            ),
        ),
        fact(
            "8.20",
            "Disks are mounted at `/disk`, `/disk2` and so on.",
            Shown::Not("there are no disk drives"),
        ),
        fact(
            "8.21",
            "Handles write what is no text as `tostring` gives it: a call with a colon writes the handle, without an error.",
            Shown::Lua(
                r##"
            local f = fs.open("odd", "w")
            f.write(nil)
            f.write(true)
            f.writeLine({})
            f:write("text")
            f:close()
            f = fs.open("odd", "r")
            assert(f.readLine():find("^niltruetable: %x+"))
            assert(f.readLine():find("^table: %x+"))
            f.close()
            f = fs.open("bytes", "wb")
            f.write(65)
            f.write(false)
            f.close()
            f = fs.open("bytes", "r")
            assert(f.readAll() == "Afalse")
            "##,
            ),
        ),
        fact(
            "8.22",
            "Before 1.109 a binary handle writes texts and numbers alone.",
            Shown::On(
                "1.108.4",
                r##"
            local f = fs.open("bytes", "wb")
            local ok, err = pcall(f.write, false)
            assert(not ok and err:find("string or number expected, got boolean", 1, true), err)
            f.close()
            "##,
            ),
        ),
    ]
}

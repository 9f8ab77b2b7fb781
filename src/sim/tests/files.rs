//! The disk: what programs may do with files, and what they may not.

use super::{config, holds, run_on};
use crate::sim::program::run_config_to_end;

#[test]
pub(super) fn errors_have_computercrafts_texts() {
    holds(
        r##"
        local function fails(fn, text, ...)
          local ok, err = pcall(fn, ...)
          assert(not ok and err:find(text, 1, true), tostring(err))
        end
        local function refuses(text, path, mode)
          local file, err = fs.open(path, mode)
          assert(file == nil and err == text, err)
        end
        refuses("/none: No such file", "none", "r")
        refuses("/rom: Not a file", "rom", "r")
        refuses("/rom/x: Access denied", "/rom/x", "w")
        fails(fs.open, "Unsupported mode", "x", "z")
        fails(fs.makeDir, "/rom/x: Access denied", "rom/x")
        fails(fs.list, "/none: No such file", "none")
        fails(fs.list, "/../../x: Invalid Path", "../../x")
        fails(fs.getSize, "/none: No such file", "none")
        fs.open("a", "w").close()
        fails(fs.makeDir, "/a: File exists", "a")
        fails(fs.copy, "/a: File exists", "a", "a")
        fails(fs.move, "File exists", "a", "a")
        fails(fs.move, "No such file", "none", "b")
        fs.delete("none")
        fails(fs.open, "bad argument #1", nil, "r")
        "##,
    );
}

#[test]
pub(super) fn handles_read_and_write_as_in_the_game() {
    holds(
        r##"
        local file = fs.open("deep/er/file", "w")
        file.write("one\r\ntwo\n")
        file.writeLine(3)
        assert(fs.getSize("deep/er/file") == 11)
        file.close()
        assert(not pcall(file.close) and not pcall(file.write, "x"))
        file = fs.open("deep/er/file", "r")
        assert(file.readLine() == "one" and file.readLine(true) == "two\n" and file.readLine() == "3")
        assert(select("#", file.readLine()) == 0 and file.readAll() == "" and file.readAll() == "")
        assert(file.seek("set", 0) == 0 and file.read() == "o" and file.read(2) == "ne")
        file.close()
        file = fs.open("deep/er/file", "rb")
        assert(file.read() == 111 and file.read(2) == "ne")
        file.close()
        file = fs.open("deep/er/file", "a")
        file.write("\233\0end")
        file.close()
        file = fs.open("deep/er/file", "r+")
        file.seek("end", -3)
        file.write("END")
        file.seek("set", 11)
        assert(file.readAll() == "\233\0END")
        file.close()
        local found = fs.find("deep/*/f?le")
        assert(#found == 1 and found[1] == "deep/er/file")
        assert(fs.attributes("deep").isDir and fs.isDir("deep") and not fs.isDir("none"))
        assert(fs.combine("a/", "../b", "./c") == "b/c" and fs.getDir("a/b") == "a" and fs.getName("a/b") == "b")
        assert(fs.getDrive("/rom") == "rom" and fs.getDrive("/") == "hdd" and fs.isReadOnly("rom/apis"))
        "##,
    );
}

#[test]
pub(super) fn io_reads_lines_but_no_numbers() {
    holds(
        r##"
        local file = assert(io.open("x", "w"))
        file:write("12 ab\n", "second\n")
        file:close()
        local lines = {}
        for line in io.lines("x") do lines[#lines + 1] = line end
        assert(#lines == 2 and lines[2] == "second")
        file = io.open("x")
        assert(file:read("n") == nil and file:read("*l") == "12 ab" and file:read("a") == "second\n")
        assert(file:read("l") == nil and io.type(file) == "file")
        file:close()
        assert(io.type(file) == "closed file" and select(2, io.open("none")) == "/none: No such file")
        io.write("to the screen\n")
        "##,
    );
}

#[test]
pub(super) fn every_file_counts_500_bytes_and_a_full_disk_refuses() {
    let dir = tempfile::tempdir().unwrap();
    let source = r##"
        assert(fs.getCapacity("/") == 5000)
        local free = fs.getFreeSpace("/")
        fs.open("small", "w").close()
        assert(free - fs.getFreeSpace("/") == 500)
        local file = fs.open("big", "w")
        local ok, err = pcall(file.write, ("x"):rep(6000))
        assert(not ok and err:find("Out of space"), err)
        file.write("fits")
        file.close()
        for i = 1, 20 do
          local opened, problem = fs.open("f" .. i, "w")
          if not opened then
            assert(problem == "/f" .. i .. ": Out of space", problem)
            assert(not pcall(fs.makeDir, "dir"))
            fs.delete("f1")
            assert(fs.getFreeSpace("/") >= 500)
            return
          end
          opened.close()
        end
        error("the disk was never full")
    "##;
    let mut config = config(dir.path(), source);
    config.disk_capacity = 5000;
    let result = run_config_to_end(config, super::LIMIT).unwrap();
    assert!(result.ok, "{}", result.output);
}

#[cfg(unix)]
#[test]
pub(super) fn nothing_outside_of_the_folder_can_be_reached() {
    let dir = tempfile::tempdir().unwrap();
    let disk = dir.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    std::fs::write(dir.path().join("secret"), "outside").unwrap();
    std::os::unix::fs::symlink(dir.path(), disk.join("link")).unwrap();
    std::os::unix::fs::symlink(dir.path().join("secret"), disk.join("file")).unwrap();
    let result = run_on(
        &disk,
        r##"
        for _, path in ipairs({ "../secret", "/../secret", "a/../../secret", "link/secret", "file", "link/../../secret",
          "..\\secret", ".. /secret", "/rom/../../secret" }) do
          local ok, file = pcall(fs.open, path, "r")
          assert(not ok or file == nil, path)
          local ok2, wrote = pcall(fs.open, path, "w")
          assert(not ok2 or wrote == nil, path)
          assert(not fs.exists(path), path)
          pcall(fs.delete, path)
        end
        pcall(fs.copy, "link", "copied")
        pcall(fs.move, "link", "moved")
        assert(not fs.exists("copied/secret") and not fs.exists("moved/secret"))
        "##,
    );
    assert!(result.ok, "{}", result.output);
    assert_eq!(
        std::fs::read_to_string(dir.path().join("secret")).unwrap(),
        "outside"
    );
}

#[test]
pub(super) fn at_most_128_files_are_open() {
    holds(
        r##"
        local open = {}
        for i = 1, 200 do
          local file, err = fs.open("rom/startup.lua", "r")
          if not file then
            assert(#open == 128 and err == "Too many files already open", #open .. err)
            break
          end
          open[i] = file
        end
        open[1].close()
        assert(fs.open("rom/startup.lua", "r"))
        "##,
    );
}

#[test]
pub(super) fn settings_survive_in_their_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = config(
        dir.path(),
        "settings.set('b', { 1, 'x' }) settings.save() assert(settings.get('a') == 5)",
    );
    first.settings = vec![("a".into(), 5.into())];
    let result = run_config_to_end(first, super::LIMIT).unwrap();
    assert!(result.ok, "{}", result.output);
    let result = run_on(
        dir.path(),
        "assert(settings.get('a') == 5 and settings.get('b')[2] == 'x')",
    );
    assert!(result.ok, "{}", result.output);
}

local check = require("check")
local patch = require("ccfleet.patch")

local specs = {}

local TEN = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"

local function diff(...) return table.concat({ ... }, "\n") .. "\n" end

specs["patch: a diff with heads, context, removed and added lines"] = function()
    local changed, report = patch.apply_diff(TEN, diff("--- a/x", "+++ b/x", "@@ -2,3 +2,4 @@ here", " two", "-three", "+3",
        "+3.5", " four", "@@ -9,2 +10,1 @@", " nine", "-ten"))
    check.same(changed, "one\ntwo\n3\n3.5\nfour\nfive\nsix\nseven\neight\nnine\n")
    check.same({ report.added, report.removed }, { 2, 2 })
    check.same(report.hunks, { { line = 2, moved_by = 0 }, { line = 10, moved_by = 0 } })
end

specs["patch: a hunk whose lines have moved is found, the next ones with it"] = function()
    local changed, report = patch.apply_diff("new\nnew\n" .. TEN, diff("@@ -2,1 +2,1 @@", "-two", "+2", "@@ -8 +8 @@",
        "-eight", "+8"))
    check.same(changed, "new\nnew\none\n2\nthree\nfour\nfive\nsix\nseven\n8\nnine\nten\n")
    check.same({ report.hunks[1].moved_by, report.hunks[2].moved_by }, { 2, 0 })
end

specs["patch: other content is never taken for the right one, and the error shows it"] = function()
    local changed, err = patch.apply_diff(TEN, diff("@@ -1,1 +1,1 @@", "-one", "+1", "@@ -4,3 +4,3 @@", " four", "-five ",
        "+5", " six"))
    check.same(changed, nil)
    check.contains(err, "hunk 2 does not fit; nothing was changed")
    check.contains(err, "5: five")
end

specs["patch: the nearest of several places is taken, two equally near ones are refused"] = function()
    local text = "x\na\nb\nc\nx\nd\nx\n"
    check.same(patch.apply_diff(text, diff("@@ -4 +4 @@", "-x", "+y")), "x\na\nb\nc\ny\nd\nx\n")
    local changed, err = patch.apply_diff(text, diff("@@ -6 +6 @@", "-x", "+y"))
    check.same(changed, nil)
    check.contains(err, "more than one place")
end

specs["patch: without line numbers the place must be the only one"] = function()
    check.same(patch.apply_diff("a\nb\n", diff("@@ @@", "-b", "+c")), "a\nc\n")
    check.contains(select(2, patch.apply_diff("b\nb\n", diff("@@", "-b", "+c"))), "more than one place")
end

specs["patch: adding at the start, in the middle and to an empty file"] = function()
    check.same(patch.apply_diff("b\n", diff("@@ -0,0 +1 @@", "+a")), "a\nb\n")
    check.same(patch.apply_diff("a\nc\n", diff("@@ -1,0 +2 @@", "+b")), "a\nb\nc\n")
    check.same(patch.apply_diff("", diff("@@ -0,0 +1,2 @@", "+a", "+b")), "a\nb\n")
end

specs["patch: removed Lua comments are no head of another file"] = function()
    check.same(patch.apply_diff("-- one\nx\n", diff("@@ -1,2 +1,2 @@", "--- one", "+++ two", " x")), "++ two\nx\n")
    check.contains(select(2, patch.apply_diff("a\n", diff("@@ -1 +1 @@", "-a", "+b", "--- c", "+++ c", "@@ -1 +1 @@"))),
        "more than one file")
end

specs["patch: line ends stay what they are"] = function()
    check.same(patch.apply_diff("a\r\nb\r\n", diff("@@ -2 +2 @@", "-b", "+c")), "a\r\nc\r\n")
    check.same(patch.apply_diff("a\nb", diff("@@ -2 +2 @@", "-b", "+c")), "a\nc")
    check.same(patch.apply_diff("a\nb", diff("@@ -2 +2 @@", "-b", "\\ No newline at end of file", "+c")), "a\nc\n")
    check.same(patch.apply_diff("a\nb\n", diff("@@ -2 +2 @@", "-b", "+c", "\\ No newline at end of file")), "a\nc")
end

specs["patch: what is no diff is refused with the line"] = function()
    check.contains(select(2, patch.apply_diff("a\n", "hello")), "no hunk")
    check.contains(select(2, patch.apply_diff("a\n", diff("@@ -1 +1 @@", "*a"))), "line 2 of the diff")
    check.contains(select(2, patch.apply_diff("a\n", diff("+a"))), "outside of any hunk")
end

specs["patch: edits replace exactly one place, or all on demand"] = function()
    local changed, report = patch.apply_edits(TEN, {
        { search = "two\nthree", replace = "2\n3\n3.5" }, { search = "e", replace = "E", all = true },
    })
    check.same(changed, "onE\n2\n3\n3.5\nfour\nfivE\nsix\nsEvEn\nEight\nninE\ntEn\n")
    check.same(report.hunks[1], { line = 2, count = 1 })
    check.same(report.hunks[2].count, 7)
end

specs["patch: the second edit sees the first, and one that does not fit undoes all"] = function()
    check.same(patch.apply_edits("a", { { search = "a", replace = "%1b" }, { search = "b", replace = "c" } }), "%1c")
    local changed, err = patch.apply_edits(TEN, { { search = "one", replace = "1" }, { search = "sevn", replace = "7" } })
    check.same(changed, nil)
    check.contains(err, "edit 2")
    check.contains(select(2, patch.apply_edits(TEN, { { search = "five\nSix", replace = "" } })), "5: five")
    -- Where no line is there as it is searched for, the one with its words.
    local program = "for i = 1, 5 do\n    print(i\nend\n"
    check.contains(select(2, patch.apply_edits(program, { { search = "print(i)", replace = "x" } })), "2:     print(i\n")
    check.contains(select(2, patch.apply_edits("a\na\n", { { search = "a", replace = "b" } })), "2 times (lines 1, 2")
    check.contains(select(2, patch.apply_edits("a", { { search = "", replace = "b" } })), "empty")
    local same = { { search = "one", replace = "1" }, { search = "two", replace = "two" } }
    check.contains(select(2, patch.apply_edits(TEN, same)), "edit 2: replace is the same text as search")
end

return specs

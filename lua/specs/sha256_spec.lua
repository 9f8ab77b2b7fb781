local check = require("check")
local sha256 = require("ccfleet.sha256")

local specs = {}

specs["sha256: the published vectors and the lengths around a block"] = function()
    local vectors = {
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
        { ("a"):rep(55), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318" },
        { ("a"):rep(56), "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a" },
        { ("a"):rep(64), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb" },
        { ("a"):rep(1000), "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3" },
    }
    for _, vector in ipairs(vectors) do check.same(sha256.hex(vector[1]), vector[2], #vector[1] .. " bytes") end
end

specs["sha256: every byte value counts as it is"] = function()
    local bytes = {}
    for i = 0, 255 do bytes[i + 1] = string.char(i) end
    check.same(sha256.hex(table.concat(bytes)),
        "40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880")
end

specs["sha256: the short form names the kind of hash"] = function()
    check.same(sha256.short("abc"), "sha256:ba7816bf8f01cfea")
end

specs["sha256: 128 KiB are done before the computer calls it too long"] = function()
    check.same(sha256.hex(("a"):rep(131072)),
        "b44ffb72fcc259676bd80495fef1b44b808ca8f1ffe1b1706a4d7911b0e31f11")
end

return specs

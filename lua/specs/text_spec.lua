local check = require("check")
local text = require("ccfleet.text")

local specs = {}

specs["text: cuts never split a UTF-8 sequence"] = function()
    local s = ("\240\159\152\128"):rep(10)
    for limit = 0, 40 do
        check.same(text.to_utf8(text.head(s, limit)), text.head(s, limit), "head " .. limit)
        check.same(text.to_utf8(text.tail(s, limit)), text.tail(s, limit), "tail " .. limit)
        check.truthy(#text.head(s, limit) <= limit and #text.tail(s, limit) <= limit, "length")
    end
end

specs["text: a long text keeps its head and tail"] = function()
    local cut, was_cut = text.cut_middle(("a"):rep(500) .. ("b"):rep(500), 100)
    check.truthy(was_cut and #cut <= 100)
    check.truthy(cut:find("^a+\n%.%.%. 900 bytes cut %.%.%.\nb+$"))
    check.same(text.cut_middle("short", 100), "short")
end

specs["text: the checksum is Adler-32"] = function()
    check.same(text.checksum("Wikipedia"), "11e60398")
    check.same({ text.checksum(""), text.checksum("a"), text.checksum("abc") }, { "00000001", "00620062", "024d0127" })
    check.same({ text.checksum("abcd"), text.checksum("abcde") }, { "03d8018b", "05c801f0" })
    -- Over one step, at every remainder.
    local sums = { "68a50df3", "77970ef2", "87880ff1", "987810f0" }
    for i = 1, 4 do check.same(text.checksum(("\255"):rep(65534 + i)), sums[i]) end
end

specs["text: addresses are percent-encoded"] = function()
    check.same(text.percent_encode("a b/c:%\195\169"), "a%20b%2Fc%3A%25%C3%A9")
end

specs["text: the checksum is right at every length around its steps"] = function()
    local cycle = {}
    for i = 0, 255 do cycle[i + 1] = string.char(i * 7 % 256) end
    local long = table.concat(cycle):rep(800)
    for length, checksum in pairs({
        [1] = "00010001",
        [7] = "018f0094",
        [8] = "025400c5",
        [9] = "035100fd",
        [15] = "0f5f02e0",
        [16] = "12a80349",
        [4099] = "0b6ff87f",
        [65535] = "47ac8679",
        [65536] = "cf1e8772",
        [65537] = "569f8772",
        [200003] = "41dd2ec1",
    }) do
        check.same(text.checksum(long:sub(1, length)), checksum, length .. " bytes")
    end
end

specs["text: a long piece of a longer string is handled as fast as a string of its own"] = function()
    local piece = (("\195\169\233"):rep(40000) .. "x"):sub(2)
    check.same(#text.to_utf8(piece), #piece + 40001)
    check.same(#text.checksum(piece), 8)
end

return specs

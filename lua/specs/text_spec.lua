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
end

specs["text: addresses are percent-encoded"] = function()
    check.same(text.percent_encode("a b/c:%\195\169"), "a%20b%2Fc%3A%25%C3%A9")
end

return specs

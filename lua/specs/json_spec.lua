local check = require("check")
local json = require("ccfleet.json")

local specs = {}

specs["json: an empty table is an object, a marked one an array"] = function()
    check.same(json.encode({}), "{}")
    check.same(json.encode(json.array()), "[]")
    check.same(json.encode(textutils.empty_json_array), "[]")
end

specs["json: a decoded empty array stays an array and can be written to"] = function()
    local value = json.decode('{"list":[],"map":{}}')
    check.same(json.encode(value), '{"list":[],"map":{}}')
    table.insert(value.list, 1)
    check.same(json.encode(value.list), "[1]")
end

specs["json: keys are sorted and number keys of a mixed table become names"] = function()
    check.same(json.encode({ 1, 2, a = 3 }), '{"1":1,"2":2,"a":3}')
end

specs["json: a list with a hole keeps its places"] = function()
    check.same(json.encode({ 1, nil, 3 }), "[1,null,3]")
    check.same(json.encode({ [1000000] = 1 }), '{"1000000":1}')
end

specs["json: UTF-8 goes out raw, other bytes as Latin-1"] = function()
    check.same(json.encode("h\195\169 \240\159\152\128"), '"h\195\169 \240\159\152\128"')
    check.same(json.encode("h\233"), '"h\195\169"')
    -- An encoded surrogate is not UTF-8: each of its bytes counts for itself.
    check.same(json.encode("\237\160\189"), '"\195\173\194\160\194\189"')
end

specs["json: control bytes and quotes are escaped"] = function()
    check.same(json.encode('a"\\\n\0\1'), '"a\\"\\\\\\n\\u0000\\u0001"')
end

specs["json: numbers keep their value and never become inf or nan"] = function()
    check.same(json.encode(2 ^ 53 - 1), "9007199254740991")
    check.same(json.encode(1700000000123), "1700000000123")
    check.same(json.decode(json.encode(0.1 + 0.2)), 0.1 + 0.2)
    check.same(json.encode({ 1 / 0, 0 / 0, 0.5 }), "[null,null,0.5]")
end

specs["json: what JSON cannot say becomes a placeholder"] = function()
    local cycle = {}
    cycle.me = cycle
    check.same(json.encode({ f = print }), '{"f":"<function>"}')
    check.same(json.encode(cycle), '{"me":"<cycle>"}')
    local shared = { 1 }
    check.same(json.encode({ shared, shared }), "[[1],[1]]")
    local deep = {}
    for _ = 1, 500 do deep = { deep } end
    check.contains(json.encode(deep), "<too deep>")
end

specs["json: escapes decode, surrogate pairs to one character"] = function()
    check.same(json.decode('"\\u00e9\\ud83d\\ude00\\n\\/"'), "\195\169\240\159\152\128\n/")
    check.same(json.decode('"\\ud83d!"'), "\239\191\189!")
end

specs["json: a string ends at the first quote that no backslash hides, whatever escapes are in it"] = function()
    local texts = {
        '"', "\\", '\\"', '"\\', "\\\\", '\\\\"', "\n\\", 'a"b\\"c\\\\', "\1\\", "\1\"", "\\\"\31\\\\", "\\u0041", "\\n",
    }
    for _, one in ipairs(texts) do
        for _, other in ipairs(texts) do
            check.same(json.decode(json.encode({ one .. other, other })), { one .. other, other })
        end
    end
    check.same(json.decode('"a\\\\\\u00e9\\\"\\/\\\\"'), 'a\\\195\169"/\\')
    for _, broken in ipairs({ '"\\', '"\\"', '"\\\\\\"', '"\\\\\\x"', '"\\u12"', '"\\n\\q"' }) do
        check.contains(select(2, json.decode(broken)), "malformed JSON at byte", broken)
    end
end

specs["json: all kinds of values decode"] = function()
    local value = json.decode(' { "a" : [ 1 , -2.5e3 , true , false , null , "x" ] , "b" : null } ')
    check.same(value.a[2], -2500)
    check.same(value.a[4], false)
    check.same(value.a[6], "x")
    check.same(value.b, nil)
end

specs["json: broken text is reported with its place"] = function()
    for _, text in ipairs({ "", "{", "[1,]", '{"a":1,}', '"x', "tru", "1 2", "{a:1}", '"\\x"', "nan", "--1" }) do
        local value, err = json.decode(text)
        check.same(value, nil, text)
        check.contains(err, "malformed JSON at byte")
    end
    check.contains(select(2, json.decode(("["):rep(1000))), "nested too deeply")
end

specs["json: a whole frame is read and written before the computer calls it too long"] = function()
    local text = "[" .. ('{"name":"x\195\169","n":1.5,"l":[]},'):rep(3900) .. "0]"
    check.truthy(#text > 110000 and #text < 131072, "size")
    check.same(json.encode(json.decode(text)), (text:gsub('{"name":"x\195\169","n":1.5,"l":%[%]}',
        '{"l":[],"n":1.5,"name":"x\195\169"}')))
end

specs["json: minus zero is zero"] = function()
    check.same(json.encode(-0 * 1), "0")
    check.same(json.encode({ -(5 - 5) }), "[0]")
end

return specs

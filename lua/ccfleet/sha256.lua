--- SHA-256 (FIPS 180-4) in plain Lua.
--
-- Nothing here waits. 100 KB take the best part of a second on the mod's own Lua machine.
--
-- @module[kind=internal] ccfleet.sha256

local band, bnot, bxor, rrotate, rshift = bit32.band, bit32.bnot, bit32.bxor, bit32.rrotate, bit32.rshift

local sha256 = {}

local BLOCK_BYTES = 64
local WORD = 2 ^ 32

-- The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
local ROUND = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}

local function start_state()
    return {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
    }
end

-- The 64 words of the block at `position`, in `words` (one table for all blocks: making one each is what costs).
local function schedule(s, position, words)
    for i = 1, 16 do
        local a, b, c, d = s:byte(position + 4 * i - 4, position + 4 * i - 1)
        words[i] = a * 16777216 + b * 65536 + c * 256 + d
    end
    for i = 17, 64 do
        local early, late = words[i - 15], words[i - 2]
        local s0 = bxor(rrotate(early, 7), rrotate(early, 18), rshift(early, 3))
        local s1 = bxor(rrotate(late, 17), rrotate(late, 19), rshift(late, 10))
        words[i] = (words[i - 16] + s0 + words[i - 7] + s1) % WORD
    end
end

local function compress(state, words)
    local a, b, c, d, e, f, g, h =
        state[1], state[2], state[3], state[4], state[5], state[6], state[7], state[8]
    for i = 1, 64 do
        local s1 = bxor(rrotate(e, 6), rrotate(e, 11), rrotate(e, 25))
        local choice = bxor(band(e, f), band(bnot(e), g))
        local first = h + s1 + choice + ROUND[i] + words[i]
        local s0 = bxor(rrotate(a, 2), rrotate(a, 13), rrotate(a, 22))
        local majority = bxor(band(a, b), band(a, c), band(b, c))
        h, g, f, e, d, c, b, a = g, f, e, (d + first) % WORD, c, b, a, (first + s0 + majority) % WORD
    end
    state[1], state[2] = (state[1] + a) % WORD, (state[2] + b) % WORD
    state[3], state[4] = (state[3] + c) % WORD, (state[4] + d) % WORD
    state[5], state[6] = (state[5] + e) % WORD, (state[6] + f) % WORD
    state[7], state[8] = (state[7] + g) % WORD, (state[8] + h) % WORD
end

-- The length in bits as eight bytes, high byte first.
local function length_bytes(bytes)
    local out, rest = {}, bytes * 8
    for i = 8, 1, -1 do
        out[i] = string.char(rest % 256)
        rest = math.floor(rest / 256)
    end
    return table.concat(out)
end

--- The hash of a string.
--
-- @tparam string s Any bytes.
-- @treturn string 64 lower-case hex digits.
function sha256.hex(s)
    -- A piece of another string would be copied for every byte by CraftOS-PC (see @{ccfleet.text.flat}).
    s = table.concat({ s })
    local state, words = start_state(), {}
    local whole = #s - #s % BLOCK_BYTES
    for position = 1, whole, BLOCK_BYTES do
        schedule(s, position, words)
        compress(state, words)
    end
    local rest = s:sub(whole + 1) .. "\128"
    rest = rest .. ("\0"):rep((BLOCK_BYTES - 8 - #rest) % BLOCK_BYTES) .. length_bytes(#s)
    for position = 1, #rest, BLOCK_BYTES do
        schedule(rest, position, words)
        compress(state, words)
    end
    local digits = {}
    for i = 1, 8 do digits[i] = ("%04x%04x"):format(math.floor(state[i] / 65536), state[i] % 65536) end
    return table.concat(digits)
end

--- A short name for content: the first 16 hex digits of its hash.
--
-- @tparam string s Any bytes.
-- @treturn string `sha256:` and 16 hex digits.
function sha256.short(s)
    return "sha256:" .. sha256.hex(s):sub(1, 16)
end

return sha256

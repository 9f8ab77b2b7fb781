//! Items, stacks of them, and the few facts of the game that turtles need about blocks.

/// Items that fit into one slot.
pub(crate) const STACK: u32 = 64;

/// Some items of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stack {
    pub(crate) name: String,
    pub(crate) count: u32,
}

impl Stack {
    pub(crate) fn new(name: impl Into<String>, count: u32) -> Stack {
        Stack {
            name: name.into(),
            count,
        }
    }

    /// How many of this kind fit into one slot.
    pub(crate) fn limit(&self) -> u32 {
        stack_limit(&self.name)
    }
}

/// How many items of a kind fit into one slot.
pub(crate) fn stack_limit(name: &str) -> u32 {
    const SINGLE: [&str; 7] = [
        "_pickaxe", "_axe", "_shovel", "_hoe", "_sword", "_bucket", "_boots",
    ];
    if SINGLE.iter().any(|end| name.ends_with(end)) {
        1
    } else {
        STACK
    }
}

/// Moves that one item of the kind is good for; `None` if it does not burn.
pub(crate) fn fuel_value(name: &str) -> Option<u32> {
    let plain = name.strip_prefix("minecraft:")?;
    Some(match plain {
        "coal" | "charcoal" => 80,
        "coal_block" => 800,
        "lava_bucket" => 1000,
        "blaze_rod" => 120,
        "stick" => 5,
        _ if plain.ends_with("_log") || plain.ends_with("_planks") => 15,
        _ => return None,
    })
}

/// What is left of an item that burned.
pub(crate) fn after_burning(name: &str) -> Option<&'static str> {
    (name == "minecraft:lava_bucket").then_some("minecraft:bucket")
}

/// What a block leaves behind when it is dug.
pub(crate) fn drop_of(block: &str) -> String {
    let dropped = match block {
        "minecraft:stone" => "minecraft:cobblestone",
        "minecraft:grass_block" => "minecraft:dirt",
        "minecraft:coal_ore" => "minecraft:coal",
        "minecraft:diamond_ore" => "minecraft:diamond",
        "minecraft:iron_ore" => "minecraft:raw_iron",
        other => other,
    };
    dropped.to_owned()
}

/// True if a turtle can put the item into the world as a block.
pub(crate) fn is_block(name: &str) -> bool {
    const NO_BLOCKS: [&str; 9] = [
        "coal",
        "charcoal",
        "diamond",
        "raw_iron",
        "iron_ingot",
        "stick",
        "blaze_rod",
        "redstone",
        "bucket",
    ];
    let plain = name.strip_prefix("minecraft:").unwrap_or(name);
    stack_limit(name) == STACK && !NO_BLOCKS.contains(&plain)
}

/// True for blocks that hold items.
pub(crate) fn is_chest(block: &str) -> bool {
    matches!(block, "minecraft:chest" | "minecraft:barrel")
}

/// What stands at a height before anybody changed it: grass at -1, dirt below it, stone with some ores, bedrock.
pub(crate) fn natural(x: i64, y: i64, z: i64) -> Option<&'static str> {
    match y {
        0.. => None,
        -1 => Some("minecraft:grass_block"),
        -3..-1 => Some("minecraft:dirt"),
        ..-63 => Some("minecraft:bedrock"),
        _ => {
            // Any even mixture will do; the same place always holds the same block.
            let mut n = (x as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
                ^ (y as u64).wrapping_mul(0xC2B2_AE3D_27D4_EB4F)
                ^ (z as u64).wrapping_mul(0x1656_67B1_9E37_79F9);
            n ^= n >> 29;
            Some(match n % 256 {
                0..12 => "minecraft:coal_ore",
                12..18 => "minecraft:iron_ore",
                18 => "minecraft:diamond_ore",
                _ => "minecraft:stone",
            })
        }
    }
}

/// Names of what a turtle may hold as a tool.
pub(crate) fn is_tool(name: &str) -> bool {
    const TOOLS: [&str; 5] = ["pickaxe", "axe", "shovel", "hoe", "sword"];
    TOOLS
        .iter()
        .any(|tool| name == format!("minecraft:diamond_{tool}"))
}

/// Whether the tool breaks the block: a pickaxe everything, the others what they are made for.
pub(crate) fn breaks(tool: &str, block: &str) -> bool {
    let plain = block.strip_prefix("minecraft:").unwrap_or(block);
    let soft = matches!(plain, "dirt" | "grass_block" | "sand" | "gravel");
    let wood = plain.ends_with("_log") || plain.ends_with("_planks") || plain == "chest";
    match tool.strip_prefix("minecraft:diamond_").unwrap_or_default() {
        "pickaxe" => true,
        "shovel" => soft,
        "axe" => wood,
        "hoe" => soft || plain.ends_with("_leaves"),
        "sword" => plain.ends_with("_leaves"),
        _ => false,
    }
}

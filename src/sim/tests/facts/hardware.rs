//! Section 11: peripherals, redstone, turtles.

use super::{Fact, Shown, by_test, fact};
use crate::sim::{Attached, ComputerConfig, Device, Facing, Kind, Place, SimFleet};

fn attached(config: &mut ComputerConfig) {
    let item = |slot, name: &str, count| (slot, format!("minecraft:{name}"), count);
    let chest = Device::Chest(vec![item(1, "dirt", 60), item(3, "stone", 5)]);
    config.attached = vec![
        Attached {
            name: "top".into(),
            device: chest,
        },
        Attached {
            name: format!("minecraft:chest_{}", config.id),
            device: Device::Chest(vec![]),
        },
        Attached {
            name: "left".into(),
            device: Device::Monitor {
                width: 3,
                height: 2,
            },
        },
    ];
}

/// A turtle far from all others, so that facts do not meet in the world.
fn turtle(config: &mut ComputerConfig) {
    config.kind = Kind::Turtle;
    let place = Place {
        x: i64::from(config.id) * 100,
        y: 0,
        z: 0,
    };
    config.turtle.place = Some((place, Facing::North));
    let item = |slot, name: &str, count| (slot, format!("minecraft:{name}"), count);
    config.turtle.items = vec![
        item(1, "coal", 10),
        item(2, "cobblestone", 3),
        item(3, "chest", 1),
        item(4, "diamond_axe", 1),
    ];
}

fn empty_turtle(config: &mut ComputerConfig) {
    turtle(config);
    config.turtle.items.clear();
    config.turtle.fuel = 0;
    config.advanced = false;
}

pub(super) fn facts() -> Vec<Fact> {
    vec![
        fact(
            "11.1",
            "`peripheral` finds devices by side or by network name, knows their types and methods, and wraps them.",
            Shown::With(
                attached,
                r##"
            assert(peripheral.isPresent("top") and not peripheral.isPresent("bottom") and peripheral.wrap("bottom") == nil)
            local kind, second = peripheral.getType("top")
            assert(kind == "minecraft:chest" and second == "inventory")
            assert(peripheral.hasType("top", "inventory") and peripheral.hasType("top", "monitor") == false)
            assert(peripheral.hasType("bottom", "x") == nil and #peripheral.getNames() == 3)
            local chests, monitor = { peripheral.find("inventory") }, peripheral.find("monitor")
            assert(#chests == 2 and peripheral.getName(monitor) == "left" and peripheral.getType(monitor) == "monitor")
            local ok, err = pcall(peripheral.call, "top", "none")
            assert(not ok and err:find("No such method none", 1, true), err)
            assert(peripheral.call("bottom", "size") == nil)
            "##,
            ),
        ),
        fact(
            "11.2",
            "An inventory has size, list, getItemDetail, getItemLimit, pushItems and pullItems.",
            Shown::With(
                attached,
                r##"
            local top, wired = peripheral.wrap("top"), peripheral.find("inventory", function(name) return name ~= "top" end)
            local name = peripheral.getName(wired)
            local list = top.list()
            assert(top.size() == 27 and list[1].name == "minecraft:dirt" and list[1].count == 60 and list[2] == nil and list[3].count == 5)
            local detail = top.getItemDetail(1)
            assert(detail.displayName == "Dirt" and detail.maxCount == 64 and top.getItemDetail(2) == nil)
            assert(top.pushItems(name, 1, 20) == 20 and wired.list()[1].count == 20)
            assert(top.pullItems(name, 1, 100, 7) == 20 and top.list()[7].count == 20)
            assert(top.pushItems("top", 3, 2, 9) == 2 and top.list()[9].count == 2 and top.list()[3].count == 3)
            local function raises(text, ...)
              local ok, err = pcall(...)
              assert(not ok and err:find(text, 1, true), tostring(err))
            end
            raises("Target 'nowhere' does not exist", top.pushItems, "nowhere", 1)
            raises("Target 'left' is not an inventory", top.pushItems, "left", 1)
            raises("From slot out of range (between 1 and 27)", top.pushItems, name, 28)
            raises("Slot out of range (between 1 and 27)", top.getItemDetail, 0)
            "##,
            ),
        ),
        fact(
            "11.3",
            "A method of a block waits for the next tick (`task_complete`) and drops other events meanwhile.",
            Shown::With(
                attached,
                r##"
            sleep(0)
            local from = os.clock()
            os.queueEvent("mine")
            for i = 1, 3 do peripheral.call("top", "size") end
            assert(os.clock() - from >= 0.1 - 1e-6)
            os.queueEvent("end")
            assert(os.pullEvent() == "end")
            "##,
            ),
        ),
        fact(
            "11.4",
            "A monitor is a terminal whose size follows from its blocks and its text scale.",
            Shown::With(
                attached,
                r##"
            local monitor = peripheral.wrap("left")
            local w, h = monitor.getSize()
            assert(w == 29 and h == 12 and monitor.getTextScale() == 1 and monitor.isColour())
            monitor.setTextScale(0.5)
            w, h = monitor.getSize()
            assert(w == 57 and h == 24, w .. "x" .. h)
            assert(os.pullEvent("monitor_resize"))
            assert(not pcall(monitor.setTextScale, 9))
            local old = term.redirect(monitor)
            print("hello")
            term.redirect(old)
            local _, y = monitor.getCursorPos()
            assert(y == 2)
            "##,
            ),
        ),
        fact(
            "11.5",
            "Attaching, detaching, touching a monitor and redstone come as events.",
            by_test!(facts::hardware::the_world_comes_as_events),
        ),
        fact(
            "11.6",
            "`redstone.getSides()` lists bottom, top, back, front, right, left; outputs are remembered and end when the computer stops.",
            Shown::Lua(
                r##"
            assert(table.concat(rs.getSides(), " ") == "bottom top back front right left" and rs == redstone)
            redstone.setOutput("top", true)
            redstone.setAnalogueOutput("left", 7)
            assert(redstone.getOutput("top") and redstone.getAnalogOutput("left") == 7 and not redstone.getInput("back"))
            assert(not pcall(redstone.setOutput, "nowhere", true) and not pcall(redstone.setAnalogOutput, "top", 16))
            redstone.setBundledOutput("top", colors.combine(colors.red, colors.blue))
            assert(colors.test(redstone.getBundledOutput("top"), colors.red) and redstone.testBundledInput("top", 0))
            "##,
            ),
        ),
        fact(
            "11.7",
            "`turtle` exists on turtles only.",
            Shown::Lua("assert(turtle == nil and pocket == nil)"),
        ),
        fact(
            "11.8",
            "An action returns true, or false and a reason; movement costs fuel.",
            Shown::With(
                empty_turtle,
                r##"
            local function fails(text, fn, ...)
              local ok, err = fn(...)
              assert(ok == false and err == text, tostring(err))
            end
            assert(turtle.getFuelLevel() == 0 and turtle.getFuelLimit() == 20000)
            fails("Out of fuel", turtle.forward)
            fails("Movement obstructed", turtle.down)
            fails("No items to combust", turtle.refuel)
            fails("No items to place", turtle.place)
            fails("No items to drop", turtle.drop)
            fails("No items to take", turtle.suck)
            fails("Nothing to dig here", turtle.dig)
            fails("No block to inspect", turtle.inspect)
            fails("Nothing to attack here", turtle.attack)
            assert(turtle.detect() == false and turtle.detectDown() == true and turtle.turnRight() == true)
            "##,
            ),
        ),
        fact(
            "11.9",
            "Turtles refuel, dig, place, inspect, compare and keep 16 slots.",
            Shown::With(
                turtle,
                r##"
            assert(turtle.getFuelLimit() == 100000)
            local fuel = turtle.getFuelLevel()
            assert(turtle.refuel(2) and turtle.getFuelLevel() == fuel + 160 and turtle.getItemCount() == 8)
            local ok, below = turtle.inspectDown()
            assert(ok and below.name == "minecraft:grass_block" and type(below.state) == "table")
            assert(turtle.digDown() and turtle.down() and turtle.getFuelLevel() == fuel + 159)
            assert(turtle.getItemDetail(5).name == "minecraft:dirt" and turtle.getItemSpace(5) == 63)
            assert(turtle.up() and turtle.select(2) and turtle.getSelectedSlot() == 2 and turtle.place())
            assert(turtle.compare() and turtle.detect() and turtle.getItemCount() == 2)
            assert(turtle.transferTo(16, 1) and turtle.getItemCount(16) == 1 and turtle.compareTo(16) and not turtle.compareTo(1))
            local ok, err = turtle.forward()
            assert(ok == false and err == "Movement obstructed")
            assert(turtle.dig() and turtle.getItemCount(2) == 2 and turtle.forward() and turtle.back())
            assert(turtle.getItemDetail(1, true).displayName == "Coal" and turtle.getItemDetail(9) == nil)
            assert(not pcall(turtle.select, 17) and not pcall(turtle.drop, 65) and not pcall(turtle.refuel, -1))
            "##,
            ),
        ),
        fact(
            "11.10",
            "A turtle fills and empties a chest before it, which is a peripheral at its front too.",
            Shown::With(
                turtle,
                r##"
            assert(turtle.select(3) and turtle.place() and turtle.select(2) and turtle.drop(2))
            assert(peripheral.getType("front") == "minecraft:chest" and peripheral.call("front", "list")[1].count == 2)
            assert(turtle.suck(1) and turtle.getItemCount(2) == 2)
            assert(turtle.select(1) and turtle.dropUp(4) and turtle.suckUp() and turtle.getItemCount(1) == 10)
            assert(turtle.select(4) and turtle.dig() and turtle.getItemDetail(5).name == "minecraft:chest")
            assert(not peripheral.isPresent("front"))
            "##,
            ),
        ),
        fact(
            "11.11",
            "Tools are swapped with `equipLeft` and `equipRight`; without a fitting one there is no digging.",
            Shown::With(
                turtle,
                r##"
            turtle.select(4)
            assert(turtle.equipLeft() and turtle.getItemDetail(4).name == "minecraft:diamond_pickaxe")
            local ok, err = turtle.digDown()
            assert(ok == false and err == "Cannot break block with this tool", err)
            turtle.select(2)
            ok, err = turtle.equipRight()
            assert(ok == false and err == "Not a valid upgrade", err)
            "##,
            ),
        ),
        fact(
            "11.12",
            "The answer comes at once, but the next action waits until 8 ticks of animation are over.",
            Shown::With(
                turtle,
                r##"
            turtle.turnLeft()
            local from = os.clock()
            for i = 1, 2 do turtle.turnRight() end
            assert(os.clock() - from >= 0.8 - 1e-6, os.clock() - from)
            "##,
            ),
        ),
        fact(
            "11.13",
            "16 actions may wait behind the next; one more is `Too many ongoing turtle commands`.",
            Shown::With(
                turtle,
                r##"
            local results = {}
            turtle.turnLeft() -- its animation keeps the others waiting
            for i = 1, 60 do
              local co = coroutine.create(function() results[i] = table.pack(turtle.turnLeft()) end)
              coroutine.resume(co)
            end
            -- More than 17 are taken if ticks pass meanwhile.
            assert(results[17] == nil and results[60][1] == false and results[60][2] == "Too many ongoing turtle commands")
            "##,
            ),
        ),
        fact(
            "11.14",
            "`turtle.craft` works with a crafting table.",
            Shown::Not(
                "there are no recipes; `turtle.craft` is nil, as on a turtle without that upgrade",
            ),
        ),
        fact(
            "11.15",
            "Modems have channels, rednet sends over them, GPS locates.",
            Shown::Not("there are no modems: `rednet` opens nothing, `gps.locate` returns nil"),
        ),
        fact(
            "11.16",
            "A turtle in the world is an obstacle to others.",
            by_test!(facts::hardware::two_turtles_share_one_world),
        ),
        fact(
            "11.17",
            "Fuel can be unlimited by configuration.",
            Shown::Not("fuel is always counted"),
        ),
    ]
}

#[tokio::test]
pub(in crate::sim::tests) async fn two_turtles_share_one_world() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let turtle = |id: u32, z: i64, facing, source: &str| {
        let mut config = crate::sim::tests::config(dirs[id as usize].path(), source);
        config.id = id;
        config.kind = Kind::Turtle;
        config.turtle.place = Some((Place { x: 0, y: 0, z }, facing));
        config
    };
    let fleet = SimFleet::start(vec![
        turtle(0, 0, Facing::South, "local ok, err = turtle.forward() print(ok, err) local _, b = turtle.inspect() print(b.name)"),
        turtle(1, 1, Facing::North, "sleep(9)"),
    ])
    .unwrap();
    let first = fleet.computer(0).unwrap();
    let limit = crate::sim::tests::LIMIT;
    first
        .wait_for_text("false Movement obstructed", limit)
        .await
        .unwrap();
    first
        .wait_for_text("computercraft:turtle_advanced", limit)
        .await
        .unwrap();
    assert_eq!(
        first.turtle(),
        Some((Place { x: 0, y: 0, z: 0 }, Facing::South, 1000))
    );
    first.set_block(Place { x: 5, y: 5, z: 5 }, "minecraft:stone");
    assert_eq!(
        first.block(Place { x: 5, y: 5, z: 5 }).as_deref(),
        Some("minecraft:stone")
    );
    fleet.shutdown().await;
}

#[tokio::test]
pub(in crate::sim::tests) async fn the_world_comes_as_events() {
    let bench = crate::sim::tests::Bench::start(
        r##"
        print("ready")
        local event, name = os.pullEvent()
        assert(event == "peripheral" and name == "monitor_0")
        peripheral.call("monitor_0", "write", "on it")
        print("written")
        local event, name, x, y = os.pullEvent()
        assert(event == "monitor_touch" and name == "monitor_0" and x == 2 and y == 3)
        assert(os.pullEvent() == "redstone" and redstone.getAnalogInput("back") == 9)
        redstone.setOutput("top", true)
        assert(os.pullEvent() == "peripheral_detach" and not peripheral.isPresent("monitor_0"))
        "##,
    );
    let computer = bench.computer();
    let limit = crate::sim::tests::LIMIT;
    computer.wait_for_text("ready", limit).await.unwrap();
    computer.attach(&Attached {
        name: "monitor_0".into(),
        device: Device::Monitor {
            width: 1,
            height: 1,
        },
    });
    computer.wait_for_text("written", limit).await.unwrap();
    assert_eq!(computer.monitor_lines("monitor_0").unwrap()[0], "on it");
    computer.touch_monitor("monitor_0", 2, 3);
    computer.set_redstone_input("back", 9);
    computer
        .wait_until(limit, "the output", |c| c.redstone_output("top") == 15)
        .await
        .unwrap();
    computer.detach("monitor_0");
    bench.finish().await;
}

#[test]
pub(in crate::sim::tests) fn a_task_too_many_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let config = ComputerConfig {
        turned_on: false,
        ..ComputerConfig::new(1, dir.path())
    };
    let fleet = SimFleet::start(vec![config]).unwrap();
    let computer = fleet.computer(1).unwrap();
    // A world of its own: nothing ticks it.
    let world = crate::sim::world::World::default();
    for _ in 0..5000 {
        assert!(world.task(computer, || Ok(vec![])).is_some());
    }
    assert!(world.task(computer, || Ok(vec![])).is_none());
    world.tick();
    assert!(world.task(computer, || Ok(vec![])).is_some());
}

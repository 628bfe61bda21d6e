//! Mail, by command.

mod read;
mod sent;

use crate::agents::Shop;

/// Opens a shop with an agent that is stopped and stays so.
fn shop() -> Shop {
    let shop = Shop::new();
    shop.add("worker", "worker");
    shop.told(&["agent", "stop", "--no-wait", "worker"]);
    shop
}

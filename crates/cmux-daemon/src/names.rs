//! New ids, from the clock and the dice.

use cmux_core::id::NewIds;
use cmux_drivers::clock;
use ulid::Ulid;

/// Names new things by the wall clock and the machine's source of chance.
#[derive(Debug, Default)]
pub(crate) struct Names;

impl NewIds for Names {
    fn ulid(&mut self) -> Ulid {
        let millis = u64::try_from(clock::wall().0).unwrap_or(0);
        Ulid::from_parts(millis, chance())
    }
}

/// Returns a number that nobody can foresee.
fn chance() -> u128 {
    let mut bytes = [0; 16];
    // Without chance, the address of a fresh allocation and the clock still tell two ids apart.
    if getrandom::fill(&mut bytes).is_err() {
        let place = std::ptr::from_ref(&bytes).addr() as u128;
        return place << 64 | clock::read().since_boot.as_nanos();
    }
    u128::from_be_bytes(bytes)
}

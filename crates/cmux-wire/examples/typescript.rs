//! Prints the shapes as TypeScript. Run by `cargo xtask types`.

#![expect(clippy::print_stdout, reason = "that is all it does")]

fn main() {
    print!("{}", cmux_wire::typescript::module());
}

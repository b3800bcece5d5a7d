//! The command line of gapless.

fn main() -> std::process::ExitCode {
    gapless::cli::main()
}

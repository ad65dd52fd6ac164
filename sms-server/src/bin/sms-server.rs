//! The binary of the reference server: reads the settings, then serves or runs a command.

use std::process::ExitCode;

use sms_server::cli::Cli;
use sms_server::mistakes::Unread;
use sms_server::{command, logging, run};
use tokio::signal::unix::{SignalKind, signal};

/// The system's allocator took a fifth of the time of a request.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let names: Vec<String> =
        std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    let Cli { settings, command } = match Cli::read(std::env::args_os().collect(), &names) {
        Ok(cli) => cli,
        Err(Unread::Clap(error)) => error.exit(),
        Err(Unread::Settings(mistakes)) => return fail(&mistakes),
    };
    logging::start(&settings.log, settings.log_format);
    let flags = settings.flags.clone();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("sms-server: the runtime could not be started: {error}");
            return ExitCode::FAILURE;
        }
    };
    let result = runtime.block_on(async {
        if let Some(command) = command {
            return command::run(command, &settings).await.map_err(|error| error.to_string());
        }
        let stop = stop_signal().map_err(|error| format!("cannot listen for signals: {error}"))?;
        run(settings, stop).await.map_err(|error| error.to_string())
    });
    // Tasks that still run must not delay the exit.
    runtime.shutdown_background();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => fail(&flags.named_in(&message)),
    }
}

/// Says why the program ends.
fn fail(why: &impl ToString) -> ExitCode {
    for (n, line) in why.to_string().lines().enumerate() {
        let program = if n == 0 { "sms-server: " } else { "" };
        eprintln!("{program}{}", sms_core::text::shown(line));
    }
    ExitCode::FAILURE
}

/// Resolves on SIGTERM or SIGINT. It listens from the call on, not from the first poll, because a
/// signal during startup must stop the server in order too.
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

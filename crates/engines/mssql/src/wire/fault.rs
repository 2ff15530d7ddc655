//! What the driver's errors are among ours.

use mssql_tds::error::Error as DriverError;
use plimsoll_engine::foreign::masked;

use super::{Fault, ServerError, bulk};

/// What a fault of the driver's is; its words are searched for secrets before anything of them is cut.
pub(super) fn fault(error: DriverError) -> Fault {
    match meaning(error) {
        Fault::Tls(why) => Fault::Tls(masked(&why)),
        Fault::Closed(why) => Fault::Closed(masked(&why)),
        Fault::Driver(why) => Fault::Driver(masked(&why)),
        fault => fault,
    }
}

fn meaning(error: DriverError) -> Fault {
    match error {
        DriverError::SqlServerError { diagnostics } if diagnostics.has_errors() => {
            let server_errors = diagnostics.errors.into_iter().map(|error| ServerError {
                number: error.number,
                state: error.state,
                class: error.class,
                line: error.line_number.and_then(|line| u32::try_from(line).ok()).filter(|line| *line > 0),
                message: masked(&error.message),
            });
            Fault::Server(server_errors.collect())
        }
        DriverError::TlsError(source) | DriverError::TlsHandshakeError { source, .. } => Fault::Tls(source.to_string()),
        DriverError::CertificateNotFound { .. }
        | DriverError::InvalidCertificateFormat { .. }
        | DriverError::CertificateExpired
        | DriverError::CertificateMismatch
        | DriverError::CertificateFileIoError { .. }
        | DriverError::NoServerCertificate => Fault::Tls(error.to_string()),
        DriverError::Io(source) => Fault::Closed(source.to_string()),
        DriverError::ConnectionClosed(why) | DriverError::ConnectionError(why) => Fault::Closed(why),
        DriverError::TimeoutError(_) | DriverError::BulkCopyError(_) => Fault::TimedOut,
        DriverError::OperationCancelledError(_) => Fault::Cancelled,
        DriverError::UsageError(why) if why == bulk::STOPPED => Fault::Cancelled,
        other => Fault::Driver(other.to_string()),
    }
}
